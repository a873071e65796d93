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

// mkdirs opens the folder at p, made of our own folders that only their owner
// may enter, and makes what is missing of it.
func (j *job) mkdirs(p string) (*safedir.Dir, error) {
	at, err := j.root.Sub(".")
	for name := range strings.SplitSeq(p, "/") {
		if err != nil {
			return nil, err
		}
		_, err = j.mkdir(at, name)
		var next *safedir.Dir
		if err == nil {
			next, err = at.Sub(name)
		}
		at.Close()
		at = next
	}
	return at, err
}

// mkdir makes one of our own folders, for the owner of the store, and reports
// whether it was missing. In one that others can write to they could change what is
// staged there.
func (j *job) mkdir(d *safedir.Dir, name string) (made bool, err error) {
	home, err := j.root.Stat(".")
	if err != nil {
		return false, err
	}
	if t, err := d.Stat(name); err != nil || t.Exists {
		if err == nil && t.IsDir() {
			err = ownfile.CheckOwner(filepath.Join(j.id.Root, d.Path, name), t.Mode, t.Owner.UID, home.Owner.UID, os.Geteuid())
		}
		return false, err
	}
	if err := j.step("mkdir " + path.Join(d.Path, name)); err != nil {
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

// sweep removes what a crash left of earlier changes of this owner, which have
// all been decided by now.
func (j *job) sweep() error {
	owner, err := j.root.Sub(mendDir + "/" + j.opt.Owner)
	if errors.Is(err, fs.ErrNotExist) {
		return j.rmdirs(mendDir)
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
		if n, _, _ := strings.Cut(name, "."); isNumber(n) {
			err = errors.Join(err, j.sweepStage(owner.Path+"/"+name))
		}
	}
	return errors.Join(err, j.rmdirs(owner.Path))
}

// sweepStage empties a staging folder that no change needs any more, and removes it
// if nothing is left: what is certainly ours goes, and what another program wrote
// into a slot is kept.
func (j *job) sweepStage(p string) error {
	d, err := j.root.Sub(p)
	if errors.Is(err, fs.ErrNotExist) {
		return j.rmdirs(path.Dir(p))
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
		ours, written, err := j.origin(d, name)
		switch {
		case err != nil:
		case ours:
			err = j.remove(d, name)
		case written:
			var at string
			at, err = j.keepFile(d, name, latePrefix(p, name), func() error { return j.step("keep " + d.Path + "/" + name) })
			if err == nil {
				kept = append(kept, at)
			}
		}
		if err != nil {
			j.noteKept(kept)
			return err
		}
	}
	if len(kept) > 0 {
		b := j.newBarrier()
		err = errors.Join(j.addAll(b, []string{p, keptDir, mendDir, "."}), j.wait(b))
		j.noteKept(kept)
	}
	return errors.Join(err, j.rmdirs(p))
}

// origin reports of what has that name in a staging folder whether it can only be
// ours, since it never took part in an exchange or has the content that its name
// says, or is a file that another program wrote into. It may be neither.
func (j *job) origin(d *safedir.Dir, name string) (ours, written bool, err error) {
	stem, restaged := strings.CutSuffix(name, unfinished)
	hashes, isSlot := slotHashes(stem)
	if strings.HasSuffix(d.Path, unfinished) || restaged {
		return isSlot || isProbe(name), false, nil
	}
	if !isSlot {
		return false, false, nil
	}
	t, err := d.Read(nil, name, j.opt.MaxRecord)
	if err != nil || !t.IsFile() {
		return t.IsDir(), false, err
	}
	ours = !t.TooLarge && slices.Contains(hashes, hash(t.Data))
	return ours, !ours, nil
}

// remove takes away a file or an empty folder in one of our own folders.
func (j *job) remove(d *safedir.Dir, name string) error {
	t, err := d.Stat(name)
	if err != nil {
		return err
	}
	return j.removeThing(d, name, &t)
}

// removeThing is remove for what was just looked at.
func (j *job) removeThing(d *safedir.Dir, name string, t *safedir.Entry) error {
	if !t.Exists {
		return nil
	}
	if t.IsDir() {
		_, err := j.rmdir(d, name)
		return err
	}
	if err := j.step("unlink " + path.Join(d.Path, name)); err != nil {
		return err
	}
	return d.Unlink(name)
}

// rmdir removes a folder if it is empty, and reports whether it is gone.
func (j *job) rmdir(d *safedir.Dir, name string) (gone bool, err error) {
	if t, err := d.Stat(name); err != nil || !t.IsDir() {
		return !t.Exists, err
	}
	if err := j.step("rmdir " + path.Join(d.Path, name)); err != nil {
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

// rmdirs removes our folder p and those above it, up to .mend itself, as far as
// they are empty.
func (j *job) rmdirs(p string) error {
	for ; p != "."; p = path.Dir(p) {
		d, err := j.root.Sub(path.Dir(p))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		gone, err := j.rmdir(d, path.Base(p))
		d.Close()
		if err != nil || !gone {
			return err
		}
	}
	return nil
}

// unstage removes what a Prepare that failed has made.
func (j *job) unstage() error {
	return j.sweepStage(cmp.Or(j.stageDir, mendDir+"/"+j.opt.Owner+"/0") + unfinished)
}
