package fsstore

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mend/internal/ownfile"
	"mend/internal/safedir"
)

// makeOwnDirs opens the folder at p, which consists of our own folders, and makes those
// that are missing.
func (tx *transaction) makeOwnDirs(p string) (*safedir.Dir, error) {
	at, err := tx.root.Sub(".")
	for name := range strings.SplitSeq(p, "/") {
		if err != nil {
			return nil, err
		}
		_, err = tx.makeOwnDir(at, name)
		var next *safedir.Dir
		if err == nil {
			next, err = at.Sub(name)
		}
		at.Close()
		at = next
	}
	return at, err
}

// makeOwnDir makes one of our own folders, which only its owner may enter, for the owner
// of the store. It reports whether the folder was missing. It refuses a folder that other
// users can write to: they could change staged files.
func (tx *transaction) makeOwnDir(d *safedir.Dir, name string) (made bool, err error) {
	home, err := tx.root.Stat(".")
	if err != nil {
		return false, err
	}
	if e, err := d.Stat(name); err != nil || e.Exists {
		if err == nil && e.IsDir() {
			err = ownfile.CheckOwner(filepath.Join(tx.id.Root, d.Path, name), e.Mode, e.Owner.UID, home.Owner.UID, os.Geteuid())
		}
		return false, err
	}
	if err := tx.step("mkdir " + path.Join(d.Path, name)); err != nil {
		return false, err
	}
	if err := d.Mkdir(name); errors.Is(err, fs.ErrExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	sub, err := d.Sub(name)
	if err != nil {
		return true, err
	}
	defer sub.Close()
	if os.Geteuid() == 0 {
		if err := sub.File().Chown(home.Owner.UID, home.Owner.GID); err != nil {
			return true, err
		}
	}
	return true, sub.File().Chmod(0o700)
}

// cleanUp removes what a crash left of earlier changes of this owner, except in the folders of
// those that are undecided.
func (tx *transaction) cleanUp(undecided []string) error {
	owner, err := tx.root.Sub(mendDir + "/" + tx.opt.Owner)
	if errors.Is(err, fs.ErrNotExist) {
		return tx.removeEmptyDirs(mendDir)
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
	for _, name := range names {
		if n, _, _ := strings.Cut(name, "."); isNumber(n) && !slices.Contains(undecided, owner.Path+"/"+n) {
			err = errors.Join(err, tx.cleanStage(owner.Path+"/"+name))
		}
	}
	return errors.Join(err, tx.removeEmptyDirs(owner.Path))
}

// cleanStage empties a staging folder that no change needs, and removes it if it is empty
// then. It removes only our own files, and moves a staged file that another program wrote
// into to the kept files.
func (tx *transaction) cleanStage(p string) error {
	d, err := tx.root.Sub(p)
	if errors.Is(err, fs.ErrNotExist) {
		return tx.removeEmptyDirs(path.Dir(p))
	}
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Names(nil)
	if err != nil {
		return err
	}
	slices.Sort(names)
	var kept []string
	for _, name := range names {
		ours, written, err := tx.classify(d, name)
		switch {
		case err != nil:
		case ours:
			err = tx.remove(d, name)
		case written:
			var at string
			at, err = tx.keepFile(d, name, latePrefix(p, name), func() error { return tx.step("keep " + d.Path + "/" + name) })
			if err == nil {
				kept = append(kept, at)
			}
		}
		if err != nil {
			tx.noteKept(kept)
			return err
		}
	}
	if len(kept) > 0 {
		b := tx.newBarrier()
		err = errors.Join(tx.addDirs(b, []string{p, keptDir, mendDir, "."}), tx.waitFor(b))
		tx.noteKept(kept)
	}
	return errors.Join(err, tx.removeEmptyDirs(p))
}

// classify examines a name in a staging folder. ours is true if it never took part in an
// exchange or has the content that its name says; written is true if it is a file that
// another program wrote into. Both may be false.
func (tx *transaction) classify(d *safedir.Dir, name string) (ours, written bool, err error) {
	stem, restaged := strings.CutSuffix(name, unfinished)
	hashes, isSlot := stagedHashes(stem)
	if strings.HasSuffix(d.Path, unfinished) || restaged {
		return isSlot || isProbe(name), false, nil
	}
	if !isSlot {
		return false, false, nil
	}
	e, err := d.Read(nil, name, tx.opt.MaxRecord)
	if err != nil || !e.IsFile() {
		return e.IsDir(), false, err
	}
	ours = !e.TooLarge && slices.Contains(hashes, hash(e.Data))
	return ours, !ours, nil
}

// remove removes a file or an empty folder in one of our own folders.
func (tx *transaction) remove(d *safedir.Dir, name string) error {
	e, err := d.Stat(name)
	if err != nil {
		return err
	}
	return tx.removeEntry(d, name, &e)
}

// removeEntry is remove with a known entry.
func (tx *transaction) removeEntry(d *safedir.Dir, name string, e *safedir.Entry) error {
	if !e.Exists {
		return nil
	}
	if e.IsDir() {
		_, err := tx.removeDir(d, name)
		return err
	}
	if err := tx.step("unlink " + path.Join(d.Path, name)); err != nil {
		return err
	}
	return d.Unlink(name)
}

// removeDir removes a folder if it is empty, and reports whether it no longer exists.
func (tx *transaction) removeDir(d *safedir.Dir, name string) (gone bool, err error) {
	if e, err := d.Stat(name); err != nil || !e.IsDir() {
		return !e.Exists, err
	}
	if err := tx.step("rmdir " + path.Join(d.Path, name)); err != nil {
		return false, err
	}
	err = d.Rmdir(name)
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return true, nil
	case errors.Is(err, syscall.ENOTEMPTY), errors.Is(err, fs.ErrExist), errors.Is(err, syscall.ENOTDIR):
		return false, nil
	}
	return false, err
}

// removeEmptyDirs removes our folder p and its parents up to .mend itself, as far as they
// are empty.
func (tx *transaction) removeEmptyDirs(p string) error {
	return safedir.RemoveEmpty(tx.root, p, tx.removeDir)
}

// removeStage removes what a failed Prepare made.
func (tx *transaction) removeStage() error {
	return tx.cleanStage(cmp.Or(tx.stagePath, mendDir+"/"+tx.opt.Owner+"/0") + unfinished)
}
