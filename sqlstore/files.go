package sqlstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"mend/internal/fail"
	"mend/internal/ownfile"
	"mend/internal/salvage"
)

// A fileState is the state of the files of a database, read without SQLite.
type fileState struct {
	walMode  bool
	db, wal  fileStamp
	shm      bool // there is a -shm
	fileMode fs.FileMode
}

// isFresh reports whether the files were written so recently that another write may get the same time.
func (f fileState) isFresh() bool {
	return time.Since(f.db.mtime) < freshTime || time.Since(f.wal.mtime) < freshTime
}

const freshTime = 100 * time.Millisecond

// A fileStamp changes with every write of a file. The zero stamp means that the file is missing.
type fileStamp struct {
	dev, ino uint64
	size     int64
	mtime    time.Time
}

func newFileStamp(info fs.FileInfo) fileStamp {
	dev, ino := inodeOf(info)
	return fileStamp{dev: dev, ino: ino, size: info.Size(), mtime: info.ModTime()}
}

// headerSize is the size of SQLite's file header (sqlite.org/fileformat2.html).
const headerSize = 100

// inspectFiles reads the header of the database and the state of its side files. The error wraps
// [ErrUnusable] if SQLite would refuse the file, would have to write before it could read, or would
// use another database's file.
func inspectFiles(path string) (fileState, error) {
	var files fileState
	info, err := os.Lstat(path)
	if err != nil {
		return files, err
	}
	switch {
	case !info.Mode().IsRegular():
		return files, Unusable("not a plain file but %s", info.Mode())
	case ownfile.LinkCount(info) > 1:
		return files, Unusable("the file has %d names, and SQLite keeps side files for one: remove the others", ownfile.LinkCount(info))
	}
	files.db, files.fileMode = newFileStamp(info), info.Mode().Perm()
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		side, err := os.Lstat(path + suffix)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return files, err
		case !side.Mode().IsRegular():
			return files, Unusable("its %s is not a plain file but %s", suffix, side.Mode())
		case ownfile.LinkCount(side) > 1: // SQLite would write to it
			return files, Unusable("its %s has %d names: remove the others, or this one if it is not SQLite's", suffix, ownfile.LinkCount(side))
		}
		switch suffix {
		case "-wal":
			files.wal = newFileStamp(side)
		case "-shm":
			files.shm = true
		}
	}
	if files.walMode, err = readHeader(path, files.wal.size > 0); err != nil {
		return files, err
	}
	return files, checkJournal(path + "-journal")
}

// openPlain opens a file of the database for reading. It follows no link and does not block.
func openPlain(path string) (*os.File, error) {
	f, err := ownfile.OpenPlain(path)
	var unsafe *ownfile.UnsafeError
	if errors.As(err, &unsafe) {
		return nil, Unusable("%s %s", filepath.Base(path), unsafe.Why)
	}
	return f, err
}

// readHeader checks the header of the database and returns whether it is in WAL mode.
func readHeader(path string, hasLog bool) (wal bool, err error) {
	h, err := readStart(path, headerSize)
	switch {
	case err != nil:
		return false, err
	case h == nil:
		return false, fs.ErrNotExist // it was removed just now
	case len(h) == 0 && hasLog:
		return false, damagedHeader("the file is empty")
	case len(h) == 0:
		return false, Unusable("%w", ErrEmpty)
	case !bytes.HasPrefix(h, []byte("SQLite format 3\x00")):
		return false, damagedHeader("not an SQLite database")
	case len(h) < headerSize:
		return false, damagedHeader("truncated: %d bytes", len(h))
	case h[18] > 2 || h[19] > 2:
		return false, damagedHeader("file format %d/%d of a later SQLite", h[18], h[19])
	}
	wal = h[19] == 2
	switch enc := binary.BigEndian.Uint32(h[56:]); {
	case enc > 1:
		return wal, damagedHeader("its text is not UTF-8 (encoding %d)", enc)
	case !wal && hasLog:
		return wal, Unusable("it is not in WAL mode but has a -wal, which must be another database's")
	}
	return wal, nil
}

// damagedHeader returns an error about the file's header, which may be damaged: then salvage can help.
func damagedHeader(format string, args ...any) error {
	return fail.WithHint(Unusable(format, args...), fail.SalvageHint)
}

// mayBeDatabase reports whether the file is probably a database with a damaged header.
func mayBeDatabase(path string) bool {
	if filepath.Ext(path) == ".db" || exists(path+"-wal") {
		return true
	}
	f, size, err := openSized(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return salvage.HasPages(salvage.Source{DB: f, Size: size})
}

// checkJournal refuses a database whose -journal, at path, has an open or interrupted transaction: SQLite would have to
// roll it back before it could read.
func checkJournal(path string) error {
	head, err := readStart(path, 8)
	if err != nil || len(head) < 8 || bytes.Equal(head, make([]byte, 8)) {
		return err // nil in the normal state after a transaction
	}
	return Unusable("another program is in a transaction or died in one: its -journal must be rolled back first, by opening the database with the program that it belongs to")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// suffixes are what follows the name of a database in the names of its files.
var suffixes = [...]string{"", "-wal", "-shm"}

// SalvageSource opens the files of the database for reading. closeFiles closes them.
func (s *Store) SalvageSource() (src salvage.Source, closeFiles func(), err error) {
	db, size, err := openSized(s.id.Root)
	if err != nil {
		return src, nil, err
	}
	src.DB, src.Size = db, size
	wal, size, err := openSized(s.id.Root + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return src, func() { _ = db.Close() }, nil
	}
	if err != nil {
		return src, nil, errors.Join(err, db.Close())
	}
	src.WAL, src.WALSize = wal, size
	return src, func() { _, _ = db.Close(), wal.Close() }, nil
}

// openSized opens a file of the database for reading, and returns its size.
func openSized(path string) (*os.File, int64, error) {
	f, err := openPlain(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}
