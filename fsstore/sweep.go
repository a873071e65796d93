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
)

// mkdirs opens the folder at p, made of our own folders that only their owner
// may enter, and makes what is missing of it.
func (j *job) mkdirs(p string) (*dir, error) {
	at, err := j.root.sub(".")
	for name := range strings.SplitSeq(p, "/") {
		if err != nil {
			return nil, err
		}
		_, err = j.mkdir(at, name)
		var next *dir
		if err == nil {
			next, err = at.sub(name)
		}
		at.close()
		at = next
	}
	return at, err
}

// mkdir makes one of our own folders, for the owner of the store, and reports
// whether it was missing. In one that others can write to they could change what is
// staged there.
func (j *job) mkdir(d *dir, name string) (made bool, err error) {
	home, err := j.root.self()
	if err != nil {
		return false, err
	}
	if t, err := d.stat(name); err != nil || t.there {
		if err == nil && t.folder() {
			err = ownfile.CheckOwner(filepath.Join(j.id.Root, d.path, name), t.mode, t.owner.uid, home.owner.uid, os.Geteuid())
		}
		return false, err
	}
	if err := j.step("mkdir " + path.Join(d.path, name)); err != nil {
		return false, err
	}
	if err := d.mkdir(name); errors.Is(err, fs.ErrExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	sub, err := d.sub(name)
	if err != nil {
		return true, err
	}
	defer sub.close()
	if os.Geteuid() == 0 {
		if err := sub.file().Chown(home.owner.uid, home.owner.gid); err != nil {
			return true, err
		}
	}
	return true, sub.file().Chmod(0o700)
}

// sweep removes what a crash left of earlier changes of this owner, which have
// all been decided by now.
func (j *job) sweep() error {
	owner, err := j.root.sub(mendDir + "/" + j.opt.Owner)
	if errors.Is(err, fs.ErrNotExist) {
		return j.rmdirs(mendDir)
	}
	if err != nil {
		return err
	}
	defer owner.close()
	names, err := owner.names()
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if n, _, _ := strings.Cut(name, "."); isNumber(n) {
			err = errors.Join(err, j.sweepStage(owner.path+"/"+name))
		}
	}
	return errors.Join(err, j.rmdirs(owner.path))
}

// sweepStage empties a staging folder that no change needs any more, and removes it
// if nothing is left: what is certainly ours goes, and what another program wrote
// into a slot is kept.
func (j *job) sweepStage(p string) error {
	d, err := j.root.sub(p)
	if errors.Is(err, fs.ErrNotExist) {
		return j.rmdirs(path.Dir(p))
	}
	if err != nil {
		return err
	}
	defer d.close()
	names, err := d.names()
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
			at, err = j.keepFile(d, name, latePrefix(p, name), func() error { return j.step("keep " + d.path + "/" + name) })
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
func (j *job) origin(d *dir, name string) (ours, written bool, err error) {
	stem, restaged := strings.CutSuffix(name, unfinished)
	hashes, isSlot := slotHashes(stem)
	if strings.HasSuffix(d.path, unfinished) || restaged {
		return isSlot || isProbe(name), false, nil
	}
	if !isSlot {
		return false, false, nil
	}
	t, err := d.look(name, j.opt.MaxRecord)
	if err != nil || !t.plain() {
		return t.folder(), false, err
	}
	ours = !t.big && slices.Contains(hashes, hash(t.data))
	return ours, !ours, nil
}

// remove takes away a file or an empty folder in one of our own folders.
func (j *job) remove(d *dir, name string) error {
	t, err := d.stat(name)
	if err != nil {
		return err
	}
	return j.removeThing(d, name, &t)
}

// removeThing is remove for what was just looked at.
func (j *job) removeThing(d *dir, name string, t *thing) error {
	if !t.there {
		return nil
	}
	if t.folder() {
		_, err := j.rmdir(d, name)
		return err
	}
	if err := j.step("unlink " + path.Join(d.path, name)); err != nil {
		return err
	}
	return d.unlink(name)
}

// rmdir removes a folder if it is empty, and reports whether it is gone.
func (j *job) rmdir(d *dir, name string) (gone bool, err error) {
	if t, err := d.stat(name); err != nil || !t.folder() {
		return !t.there, err
	}
	if err := j.step("rmdir " + path.Join(d.path, name)); err != nil {
		return false, err
	}
	err = d.rmdir(name)
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
		d, err := j.root.sub(path.Dir(p))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		gone, err := j.rmdir(d, path.Base(p))
		d.close()
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
