package sqlstore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"mend/session"
)

// State tells the state of the whole database without SQLite: by size, time and
// inode of the file and of its -wal, by the head of the -wal, which is another one
// whenever it starts anew, and by that of the -shm, which says how much of the -wal
// counts. It is the zero stamp where the system has no inodes. The error says that
// the files cannot be read, or is that of an unusable database.
func (s *Store) State(context.Context) (session.Stamp, error) {
	stamp, err := s.state()
	if err != nil {
		return session.Stamp{}, fmt.Errorf("looking at %s: %w", s.id.Root, err)
	}
	return stamp, nil
}

func (s *Store) state() (session.Stamp, error) {
	files, err := inspectFiles(s.id.Root)
	if err != nil || files.db.ino == 0 {
		return session.Stamp{}, err
	}
	newest := files.db.mtime
	if files.wal.mtime.After(newest) {
		newest = files.wal.mtime
	}
	sum := sha256.New()
	for _, f := range [...]fileStamp{files.db, files.wal} {
		fmt.Fprintln(sum, f.dev, f.ino, f.size, f.mtime.UnixNano())
	}
	for _, side := range [...]struct {
		name string
		size int
	}{{"-wal", walHeader}, {"-shm", shmHeader}} {
		head, err := headOf(s.id.Root+side.name, side.size)
		if err != nil {
			return session.Stamp{}, err
		}
		fmt.Fprintf(sum, "%x\n", head)
	}
	return session.Stamp{Sum: [32]byte(sum.Sum(nil)), Newest: newest}, nil
}

// The sizes of the headers of a -wal, with the salt that it was started with, and
// of a -shm (sqlite.org/walformat.html).
const walHeader, shmHeader = 32, 48

// headOf is how the file begins; nil if there is none.
func headOf(path string, size int) ([]byte, error) {
	f, err := openPlain(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, size)
	n, err := io.ReadFull(f, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return head[:n], err
}
