package linestore

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"

	"mend/change"
	"mend/internal/safedir"
	"mend/internal/stage"
)

// Discard removes the files that Prepare and Settle staged for st. With the zero Staged it removes the files of all
// changes of this owner; all of them must be decided.
//
// A staged file to which another program appended lines that the transcript lacks is moved to the
// kept files, and reported by the Note of the options.
func (s *Store) Discard(_ context.Context, st change.Staged) (err error) {
	defer stage.Describe(&err, "removing staged files")
	if s.opt.Owner == "" {
		return nil
	}
	if st.Dir != "" {
		if err := stage.Check(st, s.id, isStage); err != nil {
			return err
		}
	}
	tx, err := s.begin(st.Ops)
	if err != nil {
		return err
	}
	defer tx.close()
	if st.Dir == "" {
		return tx.own.Clean(nil, isStage, tx.removeStage)
	}
	return tx.removeStage(st.Dir)
}

// isStage reports whether a staging folder has that name.
func isStage(name string) bool {
	_, err := strconv.Atoi(name)
	return err == nil || strings.HasPrefix(name, appendPrefix)
}

// removeStage removes the files of a staging folder, and then its empty folders.
func (tx *transaction) removeStage(p string) error { return tx.own.Empty(p, tx.removeStaged) }

// removeStaged removes one staged file. Files with other names stay.
func (tx *transaction) removeStaged(d *safedir.Dir, name string) error {
	if base, ok := strings.CutSuffix(name, stage.Unfinished); ok {
		if _, ok := parseCopyName(base); ok {
			return tx.own.Remove(d, name)
		}
		return nil
	}
	c, ok := parseCopyName(name)
	if !ok {
		return nil
	}
	e, err := d.Read(name, change.MaxText)
	if err != nil {
		return err
	}
	v, tail := c.classify(e.Data)
	if v == otherVersion || len(tail) > 0 && !tx.targetHas(tail) {
		return tx.keep(d, name)
	}
	return tx.own.Remove(d, name)
}

// targetHas reports whether the transcript contains the lines that were appended to a staged file.
func (tx *transaction) targetHas(tail []byte) bool {
	if tx.dir == nil || len(tx.ops) == 0 {
		return false
	}
	e, err := tx.readTarget()
	return err == nil && contains(e.Data, tail)
}

// keep moves a staged file to the kept files.
func (tx *transaction) keep(d *safedir.Dir, name string) error {
	prefix := path.Base(d.Path) + "-" + name[:min(len(name), 40)] + "."
	at, err := tx.own.Keep(d, name, prefix, ".jsonl", func() error { return tx.opt.Step("keep " + name) })
	if err == nil {
		err = tx.sync(nil, d.Path, stage.Kept, stage.Dir, ".")
		tx.opt.Note(fmt.Sprintf("another program wrote to a transcript while it was replaced; what it wrote is in %s below %s", at, tx.id.Root))
	}
	return err
}
