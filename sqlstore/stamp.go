package sqlstore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"mend/session"
)

// Stamp tells the state of the whole database, which is that of every session:
// by size, times and inode of the file and of its -wal, and by the head of the
// -wal, which is another one whenever it starts anew. It is the zero one where the
// system has no inodes. The error says that the files cannot be read, or is that of
// an unusable database.
func (s *Store) Stamp(context.Context, session.Session) (session.Stamp, error) {
	sh, err := look(s.id.Root)
	if err != nil {
		return session.Stamp{}, fmt.Errorf("looking at %s: %w", s.id.Root, err)
	}
	head, err := logHead(s.id.Root)
	if err != nil {
		return session.Stamp{}, fmt.Errorf("looking at %s: %w", s.id.Root, err)
	}
	if sh.db.ino == 0 {
		return session.Stamp{}, nil
	}
	newest := sh.db.mtime
	if sh.log.mtime.After(newest) {
		newest = sh.log.mtime
	}
	sum := sha256.New()
	for _, f := range [...]stamp{sh.db, sh.log} {
		fmt.Fprintln(sum, f.dev, f.ino, f.size, f.mtime.UnixNano())
	}
	sum.Write(head)
	return session.Stamp{Sum: [32]byte(sum.Sum(nil)), Newest: newest}, nil
}

// logHead is the header of the -wal, with the salt that it was started with; nil
// if there is none.
func logHead(path string) ([]byte, error) {
	f, err := os.Open(path + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 32)
	n, err := io.ReadFull(f, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return head[:n], err
}
