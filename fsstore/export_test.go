package fsstore

import (
	"slices"

	"mend/change"
	"mend/internal/stage"
)

// Names for the tests in package fsstore_test, which cannot be in this package: they use package tree, which imports it.
const (
	MendDir          = stage.Dir
	KeptDir          = stage.Kept
	WhyFolderMissing = whyFolderMissing
)

func Hash(data []byte) string { return hash(data) }

func LatePrefix(dir, staged string) string { return keptPrefix("late", dir+"/"+staged) }

func StagedName(i int, o change.Op) string { return stagedName(i, o) }

// Exchange makes only one step of a Commit: it exchanges a part with its staged file.
func (s *Store) Exchange(st change.Staged, part string) error {
	tx, err := s.resume(st)
	if err != nil {
		return err
	}
	defer tx.close()
	op := tx.ops[slices.IndexFunc(tx.ops, func(op fileOp) bool { return op.Ref.Part == part })]
	d, err := tx.parent(op)
	if err != nil {
		return err
	}
	defer d.Close()
	return tx.rename(d, op, *op.Op)
}
