package linestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"mend/change"
	"mend/internal/safedir"
)

// Discard removes what Prepare and Settle staged for st. With the zero Staged it removes what
// is left of all changes of this owner; all of them must be decided.
//
// A staged file to which another program has appended what the transcript does not have is
// moved to the kept files, and reported by the Note of the options.
func (s *Store) Discard(_ context.Context, st change.Staged) error {
	err := s.discard(st)
	if err != nil {
		return fmt.Errorf("removing staged files: %w", err)
	}
	return nil
}

func (s *Store) discard(st change.Staged) error {
	if safedir.CanWrite() != nil || s.opt.Owner == "" {
		return nil
	}
	if st.Dir != "" {
		if err := s.checkStage(st); err != nil {
			return err
		}
	}
	tx := &transaction{Store: s}
	var err error
	if st.Dir != "" {
		tx, err = s.begin(st.Ops)
	}
	if st.Dir == "" {
		tx.root, err = s.OpenRoot()
	}
	if err != nil {
		return err
	}
	defer tx.close()
	if st.Dir == "" {
		return tx.cleanOwner(nil)
	}
	return tx.removeStage(st.Dir)
}

// checkStage refuses a staged change of another store or with another kind of folder.
func (s *Store) checkStage(st change.Staged) error {
	if !st.Store.Same(s.id) {
		return fmt.Errorf("the change is one of the store %s", st.Store.Root)
	}
	names := strings.Split(st.Dir, "/")
	if len(names) != 3 || names[0] != mendDir || change.ValidateID(names[1]) != nil || !isStage(names[2]) {
		return fmt.Errorf("%q is no staging folder", st.Dir)
	}
	return nil
}

func isStage(name string) bool {
	_, err := strconv.Atoi(name)
	_, _, ok := parseAppendName(name)
	return err == nil || ok
}

// cleanOwner removes what crashes left of earlier changes of this owner, except in the folders
// of those that are undecided.
func (tx *transaction) cleanOwner(undecided []string) error {
	p := mendDir + "/" + tx.opt.Owner
	owner, err := tx.root.Sub(p)
	if errors.Is(err, fs.ErrNotExist) {
		return tx.removeEmpty(mendDir) // a crash may have come between the two folders
	}
	if err != nil {
		return err
	}
	defer owner.Close()
	names, err := owner.Names(nil)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range slices.Clone(names) {
		if isStage(name) && !slices.Contains(undecided, p+"/"+name) {
			err = errors.Join(err, tx.removeStage(p+"/"+name))
		}
	}
	return errors.Join(err, tx.removeEmpty(p))
}

// removeStage removes the files of a staging folder, and then the folders that are empty.
func (tx *transaction) removeStage(p string) error {
	d, err := tx.root.Sub(p)
	if errors.Is(err, fs.ErrNotExist) {
		return tx.removeEmpty(path.Dir(p))
	}
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Names(nil)
	if err != nil {
		return err
	}
	for _, name := range slices.Clone(names) {
		err = errors.Join(err, tx.removeStaged(d, name))
	}
	return errors.Join(err, tx.removeEmpty(p))
}

// removeStaged removes one staged file. Files with other names stay.
func (tx *transaction) removeStaged(d *safedir.Dir, name string) error {
	if base, ok := strings.CutSuffix(name, unfinished); ok {
		if _, ok := parseCopyName(base); ok {
			return tx.remove(d, name)
		}
		return nil
	}
	c, ok := parseCopyName(name)
	if !ok {
		return nil
	}
	e, err := d.Read(nil, name, change.MaxText)
	if err != nil {
		return err
	}
	v, tail := c.classify(e.Data)
	if v == otherVersion || len(tail) > 0 && !tx.targetHas(tail) {
		return tx.keep(d, name)
	}
	return tx.remove(d, name)
}

// targetHas reports whether the transcript contains what was appended to a staged file.
func (tx *transaction) targetHas(tail []byte) bool {
	if tx.dir == nil {
		return false
	}
	e, err := tx.readTarget()
	return err == nil && contains(e.Data, tail)
}

// keep moves a staged file to the kept files.
func (tx *transaction) keep(d *safedir.Dir, name string) error {
	kept, err := tx.makeOwnDirs(keptDir)
	if err != nil {
		return err
	}
	defer kept.Close()
	if err := tx.step("keep " + name); err != nil {
		return err
	}
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s.%d.jsonl", path.Base(d.Path)+"-"+name[:min(len(name), 40)], n)
		err := d.Move(name, kept, to)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			tx.note(fmt.Sprintf("another program wrote to a transcript while it was replaced; what it wrote is in %s/%s below %s", keptDir, to, tx.id.Root))
		}
		return err
	}
}

// removeEmpty removes our folder at p and those above it, as far as they are empty.
func (tx *transaction) removeEmpty(p string) error {
	return safedir.RemoveEmpty(tx.root, p, tx.removeDir)
}

// removeDir removes a folder if it is empty, and reports whether it no longer exists.
func (tx *transaction) removeDir(parent *safedir.Dir, name string) (gone bool, err error) {
	d, err := parent.Sub(name)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	names, err := d.Names(nil)
	d.Close()
	if err != nil || len(names) > 0 {
		return false, err
	}
	if err := tx.step("rmdir " + path.Join(parent.Path, name)); err != nil {
		return false, err
	}
	return true, parent.Rmdir(name)
}
