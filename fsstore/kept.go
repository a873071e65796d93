package fsstore

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"mend/internal/safedir"
	"mend/session"
)

// keepStaged moves a slot that holds another program's bytes to where nothing of ours
// ever deletes it, and returns its path there.
func (tx *transaction) keepStaged(op fileOp) (string, error) {
	return tx.keepFile(tx.stageDir, op.staged, tx.keptPrefix(op), func() error { return tx.stepItem("keep", op) })
}

// keepFile moves a file to where nothing of ours ever deletes it, under a name that
// begins with prefix. It calls step first.
func (tx *transaction) keepFile(from *safedir.Dir, name, prefix string, step func() error) (string, error) {
	kept, err := tx.makeOwnDirs(keptDir)
	if err != nil {
		return "", err
	}
	defer kept.Close()
	tx.keptAny = true
	for n := 1; ; n++ {
		if err := step(); err != nil {
			return "", err
		}
		to := fmt.Sprintf("%s%d%s", prefix, n, ".json")
		if err := from.Move(name, kept, to); !errors.Is(err, fs.ErrExist) {
			return keptDir + "/" + to, err
		}
	}
}

// keepWritten keeps the slots of those items into which another program wrote, and
// returns their paths when that is durable.
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

// noteKept reports what was kept after the outcome was in the journal.
func (tx *transaction) noteKept(paths []string) {
	for _, p := range paths {
		tx.note(fmt.Sprintf("another program wrote into a file that was just replaced; its bytes are in %s/%s", tx.id.Root, p))
	}
}

// latePrefix begins the names of what is kept of a slot of a change that was decided
// by another process.
func latePrefix(dir, slot string) string {
	return fmt.Sprintf("late.%.12s.", hash([]byte(dir+"/"+slot)))
}

// keptPrefix begins the names of what is kept of an item's slot. It tells the
// record, for people, and the slot, for keptAll.
func (tx *transaction) keptPrefix(op fileOp) string {
	name := op.Ref.ID()
	if op.Ref.Kind == session.KindFile { // it may be too long, or hold a slash
		name = session.KindFile.String()
	}
	return fmt.Sprintf("%s.%.12s.", name, hash([]byte(tx.stagePath+"/"+op.staged)))
}

// keptPaths lists, below the root, what was ever kept of the items. A Settle that
// was cut and called again lists the same.
func (tx *transaction) keptPaths() []string {
	names := tx.keptNames()
	if len(names) == 0 {
		return nil
	}
	var kept []string
	for _, op := range tx.ops {
		prefix := tx.keptPrefix(op)
		for _, name := range names {
			if strings.HasPrefix(name, prefix) {
				kept = append(kept, keptDir+"/"+name)
			}
		}
	}
	return kept
}

func (tx *transaction) hasKept(op fileOp) bool {
	return slices.ContainsFunc(tx.keptNames(), func(name string) bool { return strings.HasPrefix(name, tx.keptPrefix(op)) })
}

// keptNames lists all that is kept; nothing where that cannot be told, since it
// is for people.
func (tx *transaction) keptNames() []string {
	d, err := tx.root.Sub(keptDir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, err := d.Names(nil)
	if err != nil {
		return nil
	}
	slices.Sort(names)
	return names
}
