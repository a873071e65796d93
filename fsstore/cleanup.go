package fsstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/atomicfile"
	"mend/internal/safedir"
	"mend/internal/stage"
)

// cleanUp removes the leftovers of earlier changes of this owner, except the folders of undecided changes.
func (tx *transaction) cleanUp(undecided []string) error {
	return tx.own.Clean(undecided, isNumber, tx.cleanStage)
}

// cleanStage removes mend's own files from a staging folder that no change needs, and then the folder if it is empty.
// It moves a staged file that another program wrote into to the kept files.
func (tx *transaction) cleanStage(p string) error {
	return tx.own.Empty(p, func(d *safedir.Dir, name string) error {
		ours, written, err := tx.classify(d, name)
		switch {
		case err != nil:
			tx.opt.Note(fmt.Sprintf("it is unknown whether another program wrote into a file that was just replaced: %v; the file is not removed", err))
			return err
		case ours:
			return tx.own.Remove(d, name)
		case !written:
			return nil
		}
		at, err := tx.keepFile(d, name, keptPrefix("late", p+"/"+name), p+"/"+name)
		if err != nil {
			return err
		}
		tx.opt.Note(fmt.Sprintf("another program wrote into a file that was just replaced; its bytes are in %s/%s", tx.id.Root, at))
		return tx.own.Sync(new(atomicfile.Barrier), p, stage.Kept, stage.Dir, ".")
	})
}

// classify examines a name in a staging folder. ours is true if the file never took part in an
// exchange or has the content that its name promises; written is true if another program wrote into
// the file. Both may be false.
func (tx *transaction) classify(d *safedir.Dir, name string) (ours, written bool, err error) {
	stem, restaged := strings.CutSuffix(name, stage.Unfinished)
	hashes, isSlot := stagedHashes(stem)
	if strings.HasSuffix(d.Path, stage.Unfinished) || restaged {
		return isSlot, false, nil
	}
	if !isSlot {
		return false, false, nil
	}
	e, err := d.Read(name, change.MaxText)
	if err != nil || !e.IsFile() {
		return e.IsDir(), false, err
	}
	ours = !e.TooLarge && slices.Contains(hashes, hash(e.Data))
	return ours, !ours, nil
}

// Discard removes the files that Prepare left: the staged files that hold a Pre or a Post of st,
// and then the empty folders. With the zero Staged it removes the staged files of all changes of
// this owner; all of them must be decided.
//
// It reads each staged file just before it removes it. It moves a file that another program wrote into, through an
// earlier descriptor, to the kept files, and reports it to Note. A file that cannot be read stays in place.
func (s *Store) Discard(_ context.Context, st change.Staged) (err error) {
	defer stage.Describe(&err, "removing staged files")
	if st.Dir == "" && s.opt.Owner == "" {
		return nil
	}
	if st.Dir != "" {
		if err := stage.Check(st, s.id, isNumber); err != nil {
			return err
		}
	}
	tx, err := s.begin(nil)
	if err != nil {
		return err
	}
	defer tx.close()
	if st.Dir == "" {
		return tx.cleanUp(nil)
	}
	return errors.Join(tx.cleanStage(st.Dir), tx.cleanStage(st.Dir+again))
}

// keepStaged moves a staged file with another program's content to the kept files.
func (tx *transaction) keepStaged(op fileOp) error {
	_, err := tx.keepFile(tx.stageDir, op.staged, tx.keptPrefixOf(op), op.what())
	return err
}

// keepFile moves a file to the kept files, which mend never deletes, under a name that begins with prefix. It returns
// the path there.
func (tx *transaction) keepFile(from *safedir.Dir, name, prefix, what string) (string, error) {
	tx.kept = nil
	return tx.own.Keep(from, name, prefix, keptSuffix, what)
}

// keptPrefix returns the name prefix of a kept file: a name, for people, and a hash of its path in the staging folder.
func keptPrefix(name, staged string) string {
	return fmt.Sprintf("%s.%.12s.", name, hash([]byte(staged)))
}

// keptPrefixOf returns the name prefix of the kept files of op, with the id of the record.
func (tx *transaction) keptPrefixOf(op fileOp) string {
	name := op.Ref.ID()
	if op.Ref.Kind == change.KindFile { // its path may be too long, or contain a slash
		name = change.KindFile.String()
	}
	return keptPrefix(name, tx.stagePath+"/"+op.staged)
}

// keptPaths returns the paths below the root of all kept files of the change. The result is the same after a Settle
// that was interrupted and repeated.
func (tx *transaction) keptPaths() (paths []string) {
	for _, op := range tx.ops {
		for _, name := range tx.keptNames()[tx.keptPrefixOf(op)] {
			paths = append(paths, stage.Kept+"/"+name)
		}
	}
	return paths
}

// keptNames returns the names of all kept files that can be listed, by prefix. The list is cached until a file is added.
func (tx *transaction) keptNames() map[string][]string {
	if tx.kept != nil {
		return tx.kept
	}
	tx.kept = map[string][]string{}
	names, _ := tx.root.NamesAt(stage.Kept)
	for _, name := range names {
		number := strings.LastIndexByte(strings.TrimSuffix(name, keptSuffix), '.')
		tx.kept[name[:number+1]] = append(tx.kept[name[:number+1]], name)
	}
	return tx.kept
}

const keptSuffix = ".json"

// ListAbandoned returns the paths below the root of the staging folders of all journals except owner.
// Each belongs to a change that another process of mend is making, or to an interrupted change that
// only a lost journal records.
func (s *Store) ListAbandoned(owner string) ([]string, error) {
	root, err := safedir.OpenRoot(s.id.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	owners, err := namesAt(root, stage.Dir)
	var found []string
	for _, name := range owners {
		at := stage.Dir + "/" + name
		if name == owner || at == stage.Kept {
			continue
		}
		staged, lerr := namesAt(root, at)
		err = errors.Join(err, lerr)
		for _, n := range staged {
			found = append(found, at+"/"+n)
		}
	}
	if err != nil {
		return found, fmt.Errorf("looking for staged files: %w", err)
	}
	return found, nil
}

// namesAt is [safedir.Dir.NamesAt] with no names if p is not a folder.
func namesAt(root *safedir.Dir, p string) ([]string, error) {
	names, err := root.NamesAt(p)
	if safedir.IsMissing(err) {
		err = nil
	}
	return names, err
}
