package safedir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"syscall"

	"mend/internal/ownfile"
)

// An Entry describes a name in a folder: a missing name (the zero value), a regular file with its
// content, or something else, which is never opened.
type Entry struct {
	Exists bool
	Mode   fs.FileMode // type and permission bits; the type is 0 for a regular file
	Links  uint64      // number of hard links
	Owner  Owner
	Dev    uint64 // device and inode; 0 where the system has none
	Ino    uint64
	Size   int64

	// Mtime and Ctime are the times of the last change of the content and of the inode in
	// nanoseconds since 1970; 0 if the system does not report them.
	Mtime, Ctime int64

	Data     []byte // content of a regular file that [Dir.Read] read
	TooLarge bool   // the file is larger than the limit of [Dir.Read]; Data is nil
}

// An Owner is the user and the group of a file; 0 where the system has none.
type Owner struct{ UID, GID int }

// IsFile reports whether the entry is a regular file.
func (e *Entry) IsFile() bool { return e.Exists && e.Mode.IsRegular() }

// IsDir reports whether the entry is a folder.
func (e *Entry) IsDir() bool { return e.Exists && e.Mode.IsDir() }

// ReadProblem explains why the entry cannot be read as a record; "" if it can.
func (e *Entry) ReadProblem() string {
	switch {
	case !e.IsFile():
		return "it is " + ownfile.KindName(e.Mode)
	case e.TooLarge:
		return fmt.Sprintf("the file is too large, %d bytes", e.Size)
	}
	return ""
}

// ReplaceProblem explains why the entry cannot be replaced; "" if it can.
func (e *Entry) ReplaceProblem() string {
	if e.IsFile() && e.Links > 1 {
		return fmt.Sprintf("the file has %d hard links, and replacing it would break them", e.Links)
	}
	return e.ReadProblem()
}

// LinkProblem explains that other hard links prevent the replacement of the file at a path below the root, and what
// the user can do; "" for none.
func (e *Entry) LinkProblem(below string) string {
	if !e.IsFile() || e.Links <= 1 {
		return ""
	}
	dir, name := path.Split("./" + below)
	file, copied := ownfile.Quote(dir+name), ownfile.Quote(dir+"."+name)
	return fmt.Sprintf("%s; to separate it, run in the store's folder: cp -p %s %s && mv %[3]s %[2]s", e.ReplaceProblem(), file, copied)
}

// LinkProblem is [Entry.LinkProblem] of the file at a path below the folder, "" if the file does not
// exist.
func (d *Dir) LinkProblem(below string) (string, error) {
	parent, err := d.Sub(path.Dir(below))
	if IsMissing(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer parent.Close()
	e, err := parent.Stat(path.Base(below))
	return e.LinkProblem(below), err
}

// ReadEnds returns at most first bytes from the beginning and last bytes from the end of a regular file. tail is empty
// if the file is no longer than head; otherwise it starts after its first line feed, if it has one.
func (d *Dir) ReadEnds(name string, first, last int64) (head, tail []byte, err error) {
	f, e, err := d.Open(name)
	if f == nil {
		return nil, nil, err
	}
	defer f.Close()
	space := make([]byte, min(e.Size, first+last))
	read := func(b []byte, at int64) ([]byte, error) {
		got, err := f.ReadAt(b, at)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return b[:got], err
	}
	first = min(first, e.Size)
	if head, err = read(space[:first], 0); err != nil || e.Size <= first {
		return head, nil, err
	}
	tail, err = read(space[first:], max(first, e.Size-last))
	if i := bytes.IndexByte(tail, '\n'); i >= 0 {
		tail = tail[i+1:]
	}
	return head, tail, err
}

// readAll reads a file of size bytes. tooLarge is true if the file has since grown beyond max.
func readAll(r io.Reader, size, max int64) (data []byte, tooLarge bool, err error) {
	var b bytes.Buffer
	b.Grow(int(min(size, max)) + bytes.MinRead)
	n, err := b.ReadFrom(io.LimitReader(r, max+1))
	return b.Bytes(), n > max, err
}

// A NotFolderError means that a name in the path of a folder is not a folder.
type NotFolderError struct {
	Path string
	Mode fs.FileMode
}

func (e *NotFolderError) Error() string {
	return fmt.Sprintf("%s: it is %s, not a folder", e.Path, ownfile.KindName(e.Mode))
}

// IsMissing reports whether an error of [Dir.Sub] means that the folder does not exist: a name in its path is missing,
// or is not a folder.
func IsMissing(err error) bool {
	_, strange := errors.AsType[*NotFolderError](err)
	return strange || errors.Is(err, fs.ErrNotExist)
}

// ReadFailure returns the cause if err prevents only this file or folder from being
// read; ok is false for an error that would affect every other file too.
func ReadFailure(err error) (why string, ok bool) {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "permission denied", true
	case errors.Is(err, syscall.EIO):
		return "input/output error", true
	}
	return "", false
}
