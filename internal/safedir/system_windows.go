package safedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/windows"

	"mend/internal/atomicfile"
)

// openToSync has the flags to open a file that is made durable: on Windows that needs the right to write.
const openToSync = os.O_RDWR

// newEntry returns the system's description of a file. Its mode never lets other users write: Windows has no such bits.
func newEntry(info fs.FileInfo) Entry {
	return Entry{Exists: true, Mode: info.Mode().Type() | info.Mode().Perm()&^0o022, Size: info.Size(), Links: 1, Mtime: info.ModTime().UnixNano()}
}

// WriteProblem explains why the file at a path below the folder cannot be replaced: it has several hard links, which no
// other call here counts. A missing right to write shows only when mend tries.
func (d *Dir) WriteProblem(below string) (string, error) {
	parent, err := d.Sub(path.Dir(below))
	if err != nil {
		return "", nil //nolint:nilerr // there is no file
	}
	defer parent.Close()
	f, e, err := parent.Open(path.Base(below))
	if f == nil {
		return "", err
	}
	defer f.Close()
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info); err != nil {
		return "", os.NewSyscallError("GetFileInformationByHandle", err)
	}
	e.Links = uint64(info.NumberOfLinks)
	return e.LinkProblem(below), nil
}

// Sync closes the folder. Windows has no call that makes names durable, and NTFS journals them.
func (d *Dir) Sync(*atomicfile.Barrier) { d.Close() }

// Exchange returns an error that wraps [errors.ErrUnsupported]: no call of the system exchanges two files.
func (d *Dir) Exchange(string, *Dir, string) error {
	return fmt.Errorf("exchanging two files on Windows: %w", errors.ErrUnsupported)
}

// Link gives the file called name a second name in other, which must not exist.
func (d *Dir) Link(name string, other *Dir, otherName string) error {
	if err := errors.Join(d.checkPlace(), other.checkPlace()); err != nil {
		return err
	}
	return d.top.Link(path.Join(d.Path, name), path.Join(other.Path, otherName))
}

// Move moves name to a free name of other, which is checked just before.
func (d *Dir) Move(name string, other *Dir, otherName string) error {
	return d.moveToFree(name, other, otherName)
}

// Replace moves name to a name of other, replacing the file there.
func (d *Dir) Replace(name string, other *Dir, otherName string) error {
	if err := errors.Join(d.checkPlace(), other.checkPlace()); err != nil {
		return err
	}
	return d.top.Rename(path.Join(d.Path, name), path.Join(other.Path, otherName))
}

// checkPlace returns an error if the path of the folder now leads to another folder.
func (d *Dir) checkPlace() error {
	at, err := d.top.Stat(d.Path)
	if err == nil {
		err = sameFile(at, d.f.Stat)
	}
	return d.wrap("open", ".", err)
}
