// Package stage manages mend's own folders below the root of a store of files: .mend/OWNER/N, where a change is staged,
// and .mend/kept, with bytes that other programs wrote into files while they were replaced. Nothing in the kept folder
// is ever removed.
//
// It may import change, internal/atomicfile, internal/ownfile and internal/safedir. Read [Area.Exchange] first.
//
// An owner is the id of a journal. Only the process that has locked the journal writes to the owner's folder.
package stage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"mend/change"
	"mend/internal/atomicfile"
	"mend/internal/ownfile"
	"mend/internal/safedir"
)

// The names of mend's own folders below the root.
const (
	Dir  = ".mend"
	Kept = Dir + "/kept"
	// Unfinished ends the name of an incomplete folder or file. Only mend writes it, and it never takes part in an
	// exchange.
	Unfinished = ".new"
	// second ends the second name that a file has during an exchange in several calls.
	second = ".second"
)

// An Area gives access to mend's own folders below one root during a change.
type Area struct {
	Root  *safedir.Dir
	Path  string // path of the root, for messages
	Owner string
	Step  func(call string) error // called before each call that changes the disk
}

// CheckOwner returns an error for an owner that cannot name a folder.
func CheckOwner(owner string) error {
	if err := change.ValidateID(owner); err != nil || owner == path.Base(Kept) {
		return fmt.Errorf("the owner %q is not a valid folder name", owner)
	}
	return nil
}

// Check refuses a change that was staged for another store, or in a folder with a name that isStage rejects.
func Check(st change.Staged, id change.StoreID, isStage func(name string) bool) error {
	if !st.Store.Same(id) {
		return fmt.Errorf("the change belongs to the store %s", st.Store.Root)
	}
	names := strings.Split(st.Dir, "/")
	if len(names) != 3 || names[0] != Dir || change.ValidateID(names[1]) != nil || !isStage(names[2]) {
		return fmt.Errorf("%q is not a staging folder", st.Dir)
	}
	return nil
}

// Describe adds to an error what a method of a store was doing. A conflict explains itself.
func Describe(err *error, doing string) {
	if _, conflict := errors.AsType[*change.ConflictError](*err); *err != nil && !conflict {
		*err = fmt.Errorf("%s: %w", doing, *err)
	}
}

// OwnerDir returns the path of the owner's folder.
func (a *Area) OwnerDir() string { return Dir + "/" + a.Owner }

// Open opens the folder at p, one of mend's own. The error is an [*ownfile.UnsafeError] if something else is there, for
// example a link.
func (a *Area) Open(p string) (*safedir.Dir, error) {
	d, err := a.Root.Sub(p)
	return d, a.ownError(err)
}

// ownError returns the error for a user if err is a [*safedir.NotFolderError] about one of mend's own folders, else err.
func (a *Area) ownError(err error) error {
	if strange, ok := errors.AsType[*safedir.NotFolderError](err); ok {
		return ownfile.NotFolder(filepath.Join(a.Path, strange.Path), strange.Mode)
	}
	return err
}

// Names returns the sorted names in mend's own folder at p; none if it does not exist.
func (a *Area) Names(p string) ([]string, error) {
	names, err := a.Root.NamesAt(p)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return names, a.ownError(err)
}

// Make opens the folder at p, one of mend's own, and makes the missing folders of the path.
func (a *Area) Make(p string) (*safedir.Dir, error) {
	at, err := a.Root.Sub(".")
	for name := range strings.SplitSeq(p, "/") {
		if err != nil {
			return nil, err
		}
		_, err = a.MakeIn(at, name)
		var next *safedir.Dir
		if err == nil {
			next, err = at.Sub(name)
		}
		at.Close()
		at = next
	}
	return at, err
}

// MakeIn makes one of mend's own folders. The folder belongs to the owner of the store, and only that user may enter
// it. MakeIn reports whether the folder was missing. It refuses a folder that other users can write to: they could
// change staged files.
func (a *Area) MakeIn(d *safedir.Dir, name string) (made bool, err error) {
	home, err := a.Root.Stat(".")
	if err != nil {
		return false, err
	}
	if e, err := d.Stat(name); err != nil || e.Exists {
		if err == nil && e.IsDir() {
			err = ownfile.CheckOwner(filepath.Join(a.Path, d.Path, name), e.Mode, e.Owner.UID, home.Owner.UID, os.Geteuid())
		}
		return false, err
	}
	if err := a.Step("mkdir " + path.Join(d.Path, name)); err != nil {
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
	return true, sub.MakePrivate(home.Owner)
}

// MakeStage makes a staging folder below the owner's folder, and returns its path without suffix: the first number that
// names no folder, with or without suffix. After an error the caller removes the folder at the returned path.
func (a *Area) MakeStage(suffix string) (string, error) {
	const none = "0" // no staging folder has this name
	owner, err := a.Make(a.OwnerDir())
	if err != nil {
		return a.OwnerDir() + "/" + none, err
	}
	defer owner.Close()
	for n := 1; ; n++ {
		name := strconv.Itoa(n)
		taken, err := owner.Stat(name)
		if err == nil && taken.Exists {
			continue
		}
		made := false
		if err == nil {
			made, err = a.MakeIn(owner, name+suffix)
		}
		switch {
		case made:
			return owner.Path + "/" + name, err
		case err != nil:
			return owner.Path + "/" + none, err
		}
	}
}

// A File is a new file in a staging folder.
type File struct {
	What  string // names the file in steps
	Data  []byte
	Mode  fs.FileMode
	Owner safedir.Owner // used if mend runs as root
	Mtime int64         // 0: now
}

// Write makes a file, with exactly that mode, whatever the umask. It returns the open file, for the barrier.
func (a *Area) Write(d *safedir.Dir, name string, file File) (*os.File, error) {
	if err := a.Step("stage " + file.What); err != nil {
		return nil, err
	}
	f, err := d.Create(name, file.Mode.Perm())
	if err != nil {
		return nil, err
	}
	if err = a.Step("write " + file.What); err == nil {
		_, err = f.Write(file.Data)
	}
	if err == nil {
		err = a.SetRights(f, file)
	}
	if err == nil && file.Mtime != 0 {
		err = d.SetMtime(name, file.Mtime)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// SetRights gives a new file or folder the mode of file and, if mend runs as root, its owner.
func (a *Area) SetRights(f *os.File, file File) error {
	if err := a.Step("chmod " + file.What); err != nil {
		return err
	}
	e, err := safedir.StatFile(f)
	if err == nil && os.Geteuid() == 0 && file.Owner != e.Owner {
		err = f.Chown(file.Owner.UID, file.Owner.GID)
	}
	if err == nil && file.Mode.Perm() != e.Mode.Perm() {
		err = f.Chmod(file.Mode.Perm())
	}
	return err
}

// Clean removes the leftovers of earlier changes of the owner, except the folders of undecided changes. isStage reports
// whether a name below the owner's folder is a staging folder's; remove empties and removes such a folder.
func (a *Area) Clean(undecided []string, isStage func(name string) bool, remove func(p string) error) error {
	names, err := a.Names(a.OwnerDir())
	if err != nil {
		return err
	}
	for _, name := range names {
		base, _, _ := strings.Cut(name, ".") // an unfinished folder belongs to the same change
		if isStage(base) && !slices.Contains(undecided, a.OwnerDir()+"/"+base) {
			err = errors.Join(err, remove(a.OwnerDir()+"/"+name))
		}
	}
	return errors.Join(err, a.RemoveEmpty(a.OwnerDir())) // a crash may have left only empty folders
}

// Empty calls remove for each name in mend's own folder at p, in order, and then removes the folder and its parents, if
// they are empty.
func (a *Area) Empty(p string, remove func(d *safedir.Dir, name string) error) error {
	d, err := a.Open(p)
	if errors.Is(err, fs.ErrNotExist) {
		return a.RemoveEmpty(path.Dir(p))
	}
	if err != nil {
		return err
	}
	defer d.Close()
	if err := a.FinishExchanges(d); err != nil {
		return err
	}
	names, err := d.Names()
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if err := remove(d, name); err != nil {
			return err
		}
	}
	return a.RemoveEmpty(p)
}

// Exchange swaps the file called name in d with a staged file. If the system or the file system has no call for that,
// the file gets a second name, the staged file replaces it, and then the second name takes the place of the staged
// file: bytes that others write meanwhile stay in the old file. After a crash in between, [Area.FinishExchanges]
// completes the exchange.
func (a *Area) Exchange(d *safedir.Dir, name string, staged *safedir.Dir, stagedName string) error {
	err := d.Exchange(name, staged, stagedName)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if lerr := d.Link(name, staged, stagedName+second); lerr != nil {
		return fmt.Errorf("%w, and a second name cannot be given: %w", err, lerr)
	}
	if err := a.Step("replace " + path.Join(d.Path, name)); err != nil {
		return err
	}
	if err := staged.Replace(stagedName, d, name); err != nil {
		return err
	}
	if err := a.Step("move out " + path.Join(d.Path, name)); err != nil {
		return err
	}
	return staged.Replace(stagedName+second, staged, stagedName)
}

// FinishExchanges finishes or reverts calls of [Area.Exchange] that a crash interrupted in a staging folder.
func (a *Area) FinishExchanges(d *safedir.Dir) error {
	names, err := d.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		staged, ok := strings.CutSuffix(name, second)
		switch {
		case !ok:
			continue
		case slices.Contains(names, staged):
			err = a.Unlink(d, name)
		default:
			if err = a.Step("move out " + path.Join(d.Path, staged)); err == nil {
				err = d.Replace(name, d, staged)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Keep moves a file to the kept files, under a name that begins with prefix and ends in suffix,
// and returns its path there. what names the file in the step. [Area.Sync] of the folder of kept files makes it durable.
func (a *Area) Keep(from *safedir.Dir, name, prefix, suffix, what string) (string, error) {
	kept, err := a.Make(Kept)
	if err != nil {
		return "", err
	}
	defer kept.Close()
	for n := 1; ; n++ {
		if err := a.Step("keep " + what); err != nil {
			return "", err
		}
		to := fmt.Sprintf("%s%d%s", prefix, n, suffix)
		if err := from.Move(name, kept, to); !errors.Is(err, fs.ErrExist) {
			return Kept + "/" + to, err
		}
	}
}

// Remove removes a file or an empty folder, if it exists.
func (a *Area) Remove(d *safedir.Dir, name string) error {
	e, err := d.Stat(name)
	switch {
	case err != nil || !e.Exists:
		return err
	case e.IsDir():
		_, err := a.RemoveDir(d, name)
		return err
	}
	return a.Unlink(d, name)
}

// Unlink removes a file.
func (a *Area) Unlink(d *safedir.Dir, name string) error {
	if err := a.Step("unlink " + path.Join(d.Path, name)); err != nil {
		return err
	}
	return d.Unlink(name)
}

// RemoveDir removes a folder if it is empty, and reports whether it no longer exists.
func (a *Area) RemoveDir(d *safedir.Dir, name string) (gone bool, err error) {
	if e, err := d.Stat(name); err != nil || !e.IsDir() {
		return !e.Exists, err
	}
	if err := a.Step("rmdir " + path.Join(d.Path, name)); err != nil {
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

// RemoveEmpty removes mend's own folder at p, and then its parents up to [Dir], if they are empty.
func (a *Area) RemoveEmpty(p string) error {
	for ; p != "."; p = path.Dir(p) {
		parent, err := a.Root.Sub(path.Dir(p))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		gone, err := a.RemoveDir(parent, path.Base(p))
		parent.Close()
		if err != nil || !gone {
			return err
		}
	}
	return nil
}

// Sync makes the names in the folders durable, together with the files in the barrier. A missing path, or one that is
// not a folder, has no files of mend. The step names the existing folders.
func (a *Area) Sync(b *atomicfile.Barrier, folders ...string) error {
	var errs []error
	var call strings.Builder
	call.WriteString("barrier")
	for _, p := range folders {
		d, err := a.Root.Sub(p)
		switch {
		case err == nil:
			d.Sync(b)
			call.WriteString(" " + p)
		case !safedir.IsMissing(err):
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errors.Join(errs...), a.Step(call.String()), b.Wait()); err != nil {
		return fmt.Errorf("waiting for the disk: %w", err)
	}
	return nil
}
