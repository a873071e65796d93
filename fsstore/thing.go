package fsstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"mend/change"
)

// A thing is what stands under a name of the tree: nothing (the zero mode), a
// plain file with its bytes, or something else that is never opened further.
type thing struct {
	there bool
	mode  fs.FileMode // with its type bits: 0 for a plain file
	links uint64
	owner owner
	dev   uint64
	ino   uint64
	size  int64
	// When the bytes, and when anything of it was last changed, in nanoseconds
	// since 1970; 0 where the system does not tell.
	mtime, ctime int64

	data []byte // of a plain file that is not larger than was asked for
	big  bool   // larger: data is not read
}

// An owner is whom a file belongs to, where the system has such a thing.
type owner struct{ uid, gid int }

func (t *thing) plain() bool  { return t.there && t.mode.IsRegular() }
func (t *thing) folder() bool { return t.there && t.mode.IsDir() }

// is reports whether the thing is what the image says: absent for nil, a folder
// for a folder's, else a plain file of the same bytes and permission bits.
func (t *thing) is(i *change.Image) bool {
	switch {
	case i == nil:
		return !t.there
	case i.Mode.IsDir():
		return t.folder()
	}
	return t.plain() && !t.big && t.mode.Perm() == i.Mode && bytes.Equal(t.data, i.Data)
}

// image is the thing as an image. What is no plain file gets its type bits and
// no bytes, so that it equals nothing that a plan can hold.
func (t *thing) image() *change.Image {
	switch {
	case !t.there:
		return nil
	case t.big:
		return &change.Image{Mode: fs.ModeIrregular | t.mode.Perm()}
	case t.plain():
		return &change.Image{Data: t.data, Mode: t.mode.Perm()}
	}
	return &change.Image{Mode: t.mode.Type() | t.mode.Perm()}
}

// unfit says why the thing cannot be read as a record, "" if it can.
func (t *thing) unfit() string {
	switch {
	case !t.plain():
		return "it is " + nameOf(t.mode)
	case t.big:
		return fmt.Sprintf("the file is too large, %d bytes", t.size)
	}
	return ""
}

// locked says why the thing cannot be replaced, "" if it can.
func (t *thing) locked() string {
	if t.plain() && t.links > 1 {
		return fmt.Sprintf("the file has %d hard links, and replacing it would break them", t.links)
	}
	return t.unfit()
}

func nameOf(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a file"
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "no plain file"
}

// A buffer is what one reader needs again and again, for one file and one folder
// after the other. It is not for two goroutines at once.
type buffer struct {
	keep    bool     // the bytes of files stay: none takes the room of another
	data    []byte   // room for one file
	entries []byte   // room for what the system tells of a folder
	names   []string // of the last folder that was listed
	status  status   // of the last file
}

// A buffer that had to hold a larger file than roomKept does not keep the room.
const roomKept = 1 << 20

// room is for n bytes.
func (b *buffer) room(n int64) []byte {
	if b.keep {
		return make([]byte, n)
	}
	if n > int64(len(b.data)) {
		data := make([]byte, max(n, 64<<10))
		if n > roomKept {
			return data
		}
		b.data = data
	}
	return b.data[:n:n]
}

// look reads what stands under the name; a file only if it is not larger than
// max. It never waits, neither for a pipe nor for anybody.
func (d *dir) look(name string, max int64) (thing, error) {
	return d.lookInto(&buffer{keep: true}, name, max)
}

// stat is look without the bytes.
func (d *dir) stat(name string) (thing, error) { return d.statInto(new(buffer), name) }

// names lists what stands in the folder. It is not for two goroutines at once.
func (d *dir) names() ([]string, error) { return d.namesInto(new(buffer)) }

// namesInto is names with a buffer; they are there until the next listing.
func (d *dir) namesInto(b *buffer) ([]string, error) {
	err := d.list(b, nil)
	return b.names, err
}

// readAll reads a file that had size bytes when it was opened, and at most max:
// one that grew beyond that meanwhile is as too large as one that always was.
func readAll(r io.Reader, size, max int64) (data []byte, big bool, err error) {
	var b bytes.Buffer
	b.Grow(int(min(size, max)) + bytes.MinRead)
	n, err := b.ReadFrom(io.LimitReader(r, max+1))
	return b.Bytes(), n > max, err
}

// A strangeError says that a name on the way to a folder is no folder.
type strangeError struct {
	path string
	mode fs.FileMode
}

func (e *strangeError) Error() string {
	return fmt.Sprintf("%s: it is %s, not a folder", e.path, nameOf(e.mode))
}

// cannotRead is the cause if err says that one thing may not or cannot be read,
// as against an error that would strike any other thing just as well.
func cannotRead(err error) (why string, ok bool) {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "permission denied", true
	case errors.Is(err, syscall.EIO):
		return "input/output error", true
	}
	return "", false
}
