//go:build linux || darwin

package safedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"

	"mend/internal/atomicfile"
	"mend/internal/ownfile"
)

// openToSync has the flags to open a file that is made durable: that needs no right to write.
const openToSync = os.O_RDONLY

func newEntry(info fs.FileInfo) Entry {
	e := Entry{Exists: true, Mode: info.Mode() & (fs.ModeType | fs.ModePerm), Size: info.Size(), Mtime: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		e.Links, e.Owner, e.Ctime = ownfile.LinkCount(info), Owner{int(st.Uid), int(st.Gid)}, ctime(st)
		e.Dev, e.Ino = uint64(st.Dev), st.Ino //nolint:unconvert // the types differ between systems
	}
	return e
}

// WriteProblem explains why this process cannot write to the file at a path below the folder, or cannot
// replace it by a file staged in the folder, and what the user can do; "" if it can do both, or the
// file does not exist. It includes [Dir.LinkProblem].
func (d *Dir) WriteProblem(below string) (string, error) {
	parent, err := d.Sub(path.Dir(below))
	if IsMissing(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer parent.Close()
	name := path.Base(below)
	e, err := parent.Stat(name)
	if why := e.LinkProblem(below); err != nil || !e.IsFile() || why != "" {
		return why, err
	}
	if uid := os.Geteuid(); uid != 0 && uid != e.Owner.UID {
		return fmt.Sprintf("it belongs to another user (uid %d, you are %d), and an undo would make it yours; run mend as that user, or run in the store's folder: sudo chown %[2]d %[3]s", e.Owner.UID, uid, ownfile.Quote("./"+below)), nil
	}
	const noUndo = "is not writable, so a change could not be undone"
	var why, at string
	switch {
	case parent.isDenied(name, unix.W_OK):
		why, at = "you have no permission to write to it", "./"+below
	case parent.isDenied(".", unix.W_OK|unix.X_OK):
		why, at = "its folder "+noUndo, "./"+path.Dir(below)
	case d.isDenied(".", unix.W_OK|unix.X_OK):
		why, at = "the store's folder "+noUndo, "."
	default:
		return "", nil
	}
	return why + "; run in the store's folder: chmod u+w " + ownfile.Quote(at), nil
}

// isDenied reports whether the rights of a name forbid the access.
func (d *Dir) isDenied(name string, mode uint32) bool {
	return errors.Is(unix.Faccessat(int(d.f.Fd()), name, mode, unix.AT_EACCESS), fs.ErrPermission)
}

// Sync adds the folder to the barrier, which makes the names in it durable, and closes it.
func (d *Dir) Sync(b *atomicfile.Barrier) {
	d.r.Close()
	b.Add(d.f)
}

// Exchange swaps two existing names.
func (d *Dir) Exchange(name string, other *Dir, otherName string) error {
	return atomicfile.Exchange(d.f, name, other.f, otherName)
}

// Link gives the file called name a second name in other, which must not exist.
func (d *Dir) Link(name string, other *Dir, otherName string) error {
	return d.wrap("link", name, unix.Linkat(int(d.f.Fd()), name, int(other.f.Fd()), otherName, 0))
}

// Move moves name to a free name of other. If the file system has no call for that, the name is
// checked just before the move.
func (d *Dir) Move(name string, other *Dir, otherName string) error {
	err := atomicfile.RenameNoReplace(d.f, name, other.f, otherName)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return d.moveToFree(name, other, otherName)
}

// Replace moves name to a name of other, replacing the file there.
func (d *Dir) Replace(name string, other *Dir, otherName string) error {
	return atomicfile.Rename(d.f, name, other.f, otherName)
}
