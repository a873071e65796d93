package sqlstore

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// The names of the two file systems that SQLite reads through.
const (
	unlockedVFS = "mend-unlocked" // if no other program has the database open
	lockedVFS   = "mend-locked"   // if another program may have it open: takes SQLite's locks
)

// A readVFS is a read-only file system. SQLite's own options do not suffice: with mode=ro it creates missing -wal and
// -shm files and resets a leftover -shm, and with immutable=1 it ignores the -wal.
//
// A locked readVFS takes the locks of the database file and of its -shm. An unlocked one takes no locks and has no -shm:
// with locking_mode=EXCLUSIVE, SQLite builds the index of the -wal in memory. Whether a writer disturbed an unlocked
// reader shows only afterwards, by the state of the files.
type readVFS struct {
	locked bool
	check  *pageCheck // nil if pages are not checked
}

func (v readVFS) FullPathname(name string) (string, error) { return name, nil }

func (v readVFS) Delete(string, bool) error { return sqlite3.READONLY }

func (v readVFS) Access(name string, flags vfs.AccessFlag) (bool, error) {
	_, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && flags != vfs.ACCESS_READWRITE, err
}

func (v readVFS) Open(string, vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	return nil, 0, sqlite3.CANTOPEN
}

// OpenFilename opens the database or its -wal. To read, SQLite needs no other file.
func (v readVFS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	readonly := flags&^(vfs.OPEN_READWRITE|vfs.OPEN_CREATE) | vfs.OPEN_READONLY
	switch {
	case flags&vfs.OPEN_MAIN_DB != 0 && v.locked:
		system := vfs.Find("os").(vfs.VFSFilename)
		f, flags, err := system.OpenFilename(name, readonly)
		if err == nil && v.check != nil {
			f = checkedFile{f, v.check}
		}
		return f, flags, err
	case flags&(vfs.OPEN_MAIN_DB|vfs.OPEN_WAL) == 0:
		return nil, 0, sqlite3.CANTOPEN
	}
	r := &readFile{path: name.String(), wal: flags&vfs.OPEN_WAL != 0, check: v.check}
	return r, readonly, r.open()
}

// A readFile is a read-only file. Its locks do nothing. A missing -wal counts as empty until another program creates it,
// perhaps between two reads. From then on the -wal stays: only the last connection that closes removes it, and the lock
// on the database shows that this connection is open.
type readFile struct {
	path  string
	wal   bool     // the file may be missing
	f     *os.File // nil if the file is missing
	check *pageCheck
}

// open opens the file if it exists.
func (r *readFile) open() error {
	if r.f != nil {
		return nil
	}
	f, err := openPlain(r.path)
	if r.wal && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	r.f = f
	return err
}

func (r *readFile) Close() error {
	if r.f == nil {
		return nil
	}
	return r.f.Close()
}

func (r *readFile) ReadAt(p []byte, off int64) (int, error) {
	if err := r.open(); err != nil || r.f == nil {
		return 0, cmp.Or(err, io.EOF)
	}
	n, err := r.f.ReadAt(p, off)
	switch {
	case r.check == nil:
	case r.wal:
		r.check.readWAL(p[:n], off, r.f.ReadAt)
	default:
		r.check.readDB(p[:n], off)
	}
	return n, err
}

func (r *readFile) Size() (int64, error) {
	if err := r.open(); err != nil || r.f == nil {
		return 0, err
	}
	info, err := r.f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (r *readFile) WriteAt([]byte, int64) (int, error) { return 0, sqlite3.READONLY }
func (r *readFile) Truncate(int64) error               { return sqlite3.READONLY }
func (r *readFile) Sync(vfs.SyncFlag) error            { return nil }
func (r *readFile) Lock(vfs.LockLevel) error           { return nil }
func (r *readFile) Unlock(vfs.LockLevel) error         { return nil }
func (r *readFile) CheckReservedLock() (bool, error)   { return false, nil }
func (r *readFile) SectorSize() int                    { return 0 }

// DeviceCharacteristics lets SQLite read parts of pages without its cache.
func (r *readFile) DeviceCharacteristics() vfs.DeviceCharacteristic { return vfs.IOCAP_SUBPAGE_READ }
