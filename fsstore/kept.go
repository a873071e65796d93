package fsstore

import (
	"fmt"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/safedir"
	"mend/internal/stage"
)

// keepStaged moves a staged file with another program's content to the kept files, and
// returns its path there.
func (tx *transaction) keepStaged(op fileOp) (string, error) {
	return tx.keepFile(tx.stageDir, op.staged, tx.keptPrefix(op), func() error { return tx.stepItem("keep", op) })
}

// keepFile moves a file to the kept files, which mend never deletes, under a name that
// begins with prefix. It calls step first.
func (tx *transaction) keepFile(from *safedir.Dir, name, prefix string, step func() error) (string, error) {
	tx.kept = nil
	return tx.own.Keep(from, name, prefix, keptSuffix, step)
}

// keepWritten durably moves the staged files that another program wrote into to the kept files, and returns their
// paths. written has a value for each op.
func (tx *transaction) keepWritten(written []bool) (paths []string, err error) {
	for i, op := range tx.ops {
		if !written[i] {
			continue
		}
		p, err := tx.keepStaged(op)
		if err != nil {
			return paths, err
		}
		paths = append(paths, p)
	}
	if len(paths) == 0 {
		return nil, nil
	}
	return paths, tx.barrier(nil)
}

// noteKept reports files that were kept after the outcome was written to the journal.
func (tx *transaction) noteKept(paths []string) {
	for _, p := range paths {
		tx.note(fmt.Sprintf("another program wrote into a file that was just replaced; its bytes are in %s/%s", tx.id.Root, p))
	}
}

// latePrefix returns the name prefix of a file kept after another process decided the change.
func latePrefix(dir, staged string) string {
	return fmt.Sprintf("late.%.12s.", hash([]byte(dir+"/"+staged)))
}

// keptPrefix returns the name prefix of the kept files of op. It contains the id of the record, for people, and a hash
// of the staged file, for keptPaths.
func (tx *transaction) keptPrefix(op fileOp) string {
	name := op.Ref.ID()
	if op.Ref.Kind == change.KindFile { // its path may be too long, or contain a slash
		name = change.KindFile.String()
	}
	return fmt.Sprintf("%s.%.12s.", name, hash([]byte(tx.stagePath+"/"+op.staged)))
}

// keptPaths returns the paths below the root of all kept files of the change. The result is the same after a Settle
// that was interrupted and repeated.
func (tx *transaction) keptPaths() (paths []string) {
	for _, op := range tx.ops {
		for _, name := range tx.keptNames()[tx.keptPrefix(op)] {
			paths = append(paths, stage.Kept+"/"+name)
		}
	}
	return paths
}

func (tx *transaction) hasKept(op fileOp) bool {
	return len(tx.keptNames()[tx.keptPrefix(op)]) > 0
}

// keptNames returns the names of all kept files, by prefix; none if they cannot be listed. The list is cached until a
// file is added.
func (tx *transaction) keptNames() map[string][]string {
	if tx.kept != nil {
		return tx.kept
	}
	tx.kept = map[string][]string{}
	d, err := tx.root.Sub(stage.Kept)
	if err != nil {
		return tx.kept
	}
	defer d.Close()
	names, err := d.Names()
	if err != nil {
		return tx.kept
	}
	slices.Sort(names)
	for _, name := range names {
		number := strings.LastIndexByte(strings.TrimSuffix(name, keptSuffix), '.')
		tx.kept[name[:number+1]] = append(tx.kept[name[:number+1]], name)
	}
	return tx.kept
}

const keptSuffix = ".json"
