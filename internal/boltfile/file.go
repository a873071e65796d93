package boltfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"

	"mend/internal/ownfile"
)

// A Spec describes a file and has the functions of its owner.
type Spec struct {
	Name    string   // name of the file in its folder
	Lock    string   // name of the lock file, which gives a writer exclusive access
	Buckets []string // all buckets of the file, including Meta
	Growing []string // the buckets to which keys are added only at the end
	Damaged error    // errors about damage wrap it

	Fill      func(*Tx) error // writes the first values of a new file
	Attached  func() error    // reads the state after the file was opened; an error closes the file
	Committed func() error    // reads the state after a transaction
	Verify    func() error    // checks the whole file before it is opened for writing; nil: nothing
}

// Meta is a bucket of every file. It has the owner's marks and MarkNew, which means that the file's name may
// not be durable yet. Frozen.
const (
	Meta    = "meta"
	MarkNew = "new"
)

// TempSuffix ends the name of a file that is being written.
const TempSuffix = ".new"

// Options say how to open a file. The zero Options open it for writing.
type Options struct {
	ReadOnly bool
	Timeout  time.Duration   // how long to wait for another process
	Context  context.Context // cancels reading; nil: never

	// Unlocked reads while a writer holds the lock, instead of waiting. The result is one consistent state if
	// [File.HasChanged] reports false afterwards. It needs ReadOnly.
	Unlocked bool

	// Step is called with a name before each change of a file. If it returns an error, the change is not
	// made. For tests; may be nil.
	Step func(what string) error
	// BatchSize is the size in bytes of the transactions that copy a file.
	BatchSize int
}

// Errors that any method may wrap.
var (
	// errReadOnly means that the file was opened for reading.
	errReadOnly = errors.New("it is open for reading only")
	// ErrUnsure means that the last step may or may not have been written. The next open shows which.
	ErrUnsure = errors.New("it is unknown whether this was written")
	// ErrClosed means that the file was closed.
	ErrClosed = errors.New("it is closed")
)

// A File is an open file. It is not safe for concurrent use.
type File struct {
	Snap  *Snapshot // after the newest transaction; nil if there is no file
	Fatal error     // why the file cannot be used any more

	dir  string
	spec Spec
	opts Options
	lock *ownfile.Lock

	db       *bolt.DB // for writing; nil if read only
	boltFile *os.File // the file that db has open
	file     *os.File // for reading; nil if there is no file

	stamp     string // of the file when it was opened; "" if the file was verified then
	stampTxID uint64 // the newest transaction at that time
}

// New returns a file in a folder, which is not open yet.
func New(dir string, spec Spec, o Options) *File {
	if o.Step == nil {
		o.Step = func(string) error { return nil }
	}
	return &File{dir: dir, spec: spec, opts: o}
}

// Path returns the path of the file.
func (f *File) Path() string { return f.path(f.spec.Name) }

func (f *File) path(name string) string { return filepath.Join(f.dir, name) }

func (f *File) temp() string { return f.spec.Name + TempSuffix }

// Open opens the file. For writing it creates folder and file if they do not exist, for this user alone, and
// locks out all other processes until Close; a file that changed since mend last closed it is verified. For
// reading it changes nothing and shares the file with other readers; a file that does not exist is empty.
//
// The error is a [*LockedError] if another process held the file for the whole timeout, and an
// [*ownfile.UnsafeError] if the folder or a file has other permissions than mend gave it. After an error the
// file must be closed.
func (f *File) Open() error {
	if f.opts.ReadOnly {
		return f.openReader()
	}
	return f.openWriter()
}

// openReader locks and reads the file. A file without a lock file, such as a copy, is read without a lock,
// since a reader creates nothing.
func (f *File) openReader() error {
	err := ownfile.CheckDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for range 2 { // a lock file may appear just before the file does
		if f.lock, err = f.acquireLock(); err == nil {
			break
		}
		if f.opts.Unlocked && errors.As(err, new(*LockedError)) {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if found, err := f.exists(); err != nil || !found {
			return err
		}
	}
	if found, err := f.exists(); err != nil || !found {
		return err
	}
	return f.attach()
}

// HasChanged reports whether a writer has committed since the file was opened. Only a reader without a lock needs it.
// Until it returns true, no page that the reader uses is overwritten: bbolt frees the pages that a transaction replaces
// when the next one begins.
func (f *File) HasChanged() bool {
	if f.lock != nil || f.file == nil {
		return false
	}
	before := f.Snap.txid
	return f.load() != nil || f.Snap.txid != before
}

// openWriter locks the file, creates it if it does not exist, and makes it ready for writing.
func (f *File) openWriter() error {
	if err := ownfile.MakeDir(f.dir); err != nil {
		return err
	}
	var err error
	if f.lock, err = f.acquireLock(); err != nil {
		return err
	}
	_, stamp := readLockFile(f.lock.File())
	writeLockFile(f.lock.File(), os.Getpid(), "")
	found, err := f.exists()
	if err == nil && !found {
		err = f.create()
	}
	if err != nil {
		return err
	}
	if err := f.attach(); err != nil {
		return err
	}
	if err := f.verifyChanged(stamp); err != nil {
		return err
	}
	if err := f.dropTemp("drop " + f.temp()); err != nil { // not earlier, because it may be the only undamaged copy
		return err
	}
	if _, isNew, err := f.Mark(MarkNew); err != nil || !isNew {
		return err
	}
	return ownfile.SyncDir(f.dir)
}

// exists reports whether a file, folder or link has the file's name.
func (f *File) exists() (bool, error) {
	_, err := os.Lstat(f.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// attach opens the file and reads the newest state. For writing it also opens the file with bbolt.
func (f *File) attach() error {
	file, err := ownfile.Open(f.Path(), os.O_RDONLY)
	if err != nil {
		return err
	}
	f.file = file
	if err := f.load(); err != nil {
		return err
	}
	if err := f.spec.Attached(); err != nil || f.opts.ReadOnly {
		return err
	}
	if _, _, err := f.Snap.freePages(); err != nil { // before bbolt trusts it
		return err
	}
	return f.openBolt()
}

// detach closes the files but keeps the lock.
func (f *File) detach() error {
	var errs []error
	if f.db != nil {
		errs = append(errs, recoverPanics(f.spec.Damaged, f.db.Close))
	}
	if f.file != nil {
		errs = append(errs, f.file.Close())
	}
	f.db, f.boltFile, f.file, f.Snap = nil, nil, nil, nil
	return errors.Join(errs...)
}

// load reads the state after the newest transaction.
func (f *File) load() error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	var r io.ReaderAt = f.file
	if f.opts.Context != nil {
		r = contextReader{f.opts.Context, r}
	}
	f.Snap, err = NewSnapshot(r, info.Size(), f.spec.Damaged)
	return err
}

// Close closes the file and releases its lock.
func (f *File) Close() error {
	stamp := f.closingStamp()
	err := f.detach()
	f.Fatal = ErrClosed
	err = errors.Join(err, f.releaseLock(stamp))
	f.lock = nil
	return err
}

// SetAside closes a damaged file and durably renames it. It stays locked until Close.
func (f *File) SetAside(name string) error {
	_ = f.detach() // bbolt may not be able to close a damaged file
	f.Fatal = ErrClosed
	if err := f.opts.Step("set aside " + f.spec.Name); err != nil {
		return err
	}
	if err := os.Rename(f.Path(), name); err != nil {
		return err
	}
	return ownfile.SyncDir(f.dir)
}

// CheckWritable returns the reason why the file cannot be written, nil if it can.
func (f *File) CheckWritable() error {
	switch {
	case f.Fatal != nil:
		return f.Fatal
	case f.opts.ReadOnly:
		return errReadOnly
	}
	return nil
}

// CheckReadable returns the reason why the file cannot be read, nil if it can.
func (f *File) CheckReadable() error {
	if f.file == nil && f.Fatal != nil {
		return f.Fatal
	}
	return nil
}

// Mark returns the value of a mark, and whether it is set.
func (f *File) Mark(name string) ([]byte, bool, error) { return f.Snap.Get(Meta, []byte(name)) }

// Sync makes the writes durable that a killed process may have left in memory.
func (f *File) Sync() error {
	if err := f.opts.Step("sync"); err != nil {
		return err
	}
	return f.guard(f.db.Sync)
}

// BoltFile returns the file that bbolt has open, for tests of its errors.
func (f *File) BoltFile() *os.File { return f.boltFile }

// Raw calls bbolt, which checks nothing, guarded as in Update. For tests.
func (f *File) Raw(call func(*bolt.DB) error) error {
	return f.guard(func() error { return call(f.db) })
}
