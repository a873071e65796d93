package sqlstore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"mend/change"
)

// State returns a stamp of the whole database, computed without SQLite: from size, time and inode
// of the file and of its -wal, the header of the -wal, which changes whenever it is restarted, and
// the header of the -shm, which has the length of the valid part of the -wal. The stamp is zero
// where the system has no inodes. The error wraps [ErrUnusable], or is an error of the system.
func (s *Store) State(context.Context) (change.Stamp, error) {
	stamp, err := s.state()
	if err != nil {
		return change.Stamp{}, fmt.Errorf("reading the state of %s: %w", s.id.Root, err)
	}
	return stamp, nil
}

func (s *Store) state() (change.Stamp, error) {
	files, err := inspectFiles(s.id.Root)
	if err != nil || files.db.ino == 0 {
		return change.Stamp{}, err
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
		head, err := readStart(s.id.Root+side.name, side.size)
		if err != nil {
			return change.Stamp{}, err
		}
		fmt.Fprintf(sum, "%x\n", head)
	}
	return change.Stamp{Sum: [32]byte(sum.Sum(nil)), Newest: newest}, nil
}

// The sizes of the headers of a -wal, which contains its salt, and of a -shm
// (sqlite.org/walformat.html).
const walHeader, shmHeader = 32, 48

// readStart returns the first size bytes of a file, fewer if it is shorter; nil if it does not exist.
func readStart(path string, size int) ([]byte, error) {
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
