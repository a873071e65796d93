package fsstore

import (
	"fmt"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/safedir"
	"mend/internal/stage"
)

// keepStaged moves a staged file with another program's content to the kept files.
func (tx *transaction) keepStaged(op fileOp) error {
	_, err := tx.keepFile(tx.stageDir, op.staged, tx.keptPrefixOf(op), fmt.Sprintf("keep %v %s", op.Ref.Kind, op.Ref))
	return err
}

// keepFile moves a file to the kept files, which mend never deletes, under a name that begins with prefix. It returns
// the path there.
func (tx *transaction) keepFile(from *safedir.Dir, name, prefix, step string) (string, error) {
	tx.kept = nil
	return tx.own.Keep(from, name, prefix, keptSuffix, func() error { return tx.step(step) })
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

func (tx *transaction) hasKept(op fileOp) bool {
	return len(tx.keptNames()[tx.keptPrefixOf(op)]) > 0
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
