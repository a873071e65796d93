package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"mend/internal/ownfile"
	"mend/journal/boltread"
)

// Options say how to open a journal. The zero Options open it for writing.
type Options struct {
	ReadOnly bool
	Version  string           // of mend: it is written into entries
	Timeout  time.Duration    // how long to wait for another process; 0: 2 s
	Now      func() time.Time // nil: time.Now

	// Step is called before each change of a file, with what comes next. Tests
	// cut or fail the journal there.
	Step func(what string) error
	// compactAbove is how many free bytes GC leaves in the file; 0: 64 MiB.
	compactAbove int64
	// batchSize bounds a transaction of blobs; 0: 16 MiB.
	batchSize int
}

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Step == nil {
		o.Step = func(string) error { return nil }
	}
	if o.compactAbove == 0 {
		o.compactAbove = 64 << 20
	}
	if o.batchSize == 0 {
		o.batchSize = 16 << 20
	}
	return o
}

// A Journal is an open journal. Its methods may be called from several
// goroutines; they take turns.
type Journal struct {
	mu    sync.Mutex
	dir   string
	opts  Options
	lock  *ownfile.Lock
	codec *codec

	db       *bolt.DB  // for writing; nil if read only
	boltFile *os.File  // what db has open
	file     *os.File  // for reading; nil if there is no journal
	snap     *snapshot // of the newest transaction; nil if there is no journal
	head     head
	id       string
	fatal    error // why the journal cannot be used any more

	stamp     string // of the file when it was opened; "" if it was verified then
	stampTxID uint64 // the transaction that it had
}

// Open opens the journal in the folder dir. For writing, it makes folder and
// journal where they are missing, for this user alone, and keeps every other
// process out until Close; it verifies a journal that is not as mend left it, and
// ends what a crash cut short. For reading, it changes nothing, shares the journal with other readers, and takes a missing
// journal for an empty one.
//
// The error is a [*LockedError] where another process held the journal for the
// whole timeout, and wraps [ErrDamaged] or [ErrFormat] where the file cannot be
// used; then it is left as it is. It is an [*ownfile.UnsafeError] where the folder
// or a file is not as mend keeps it, such as one that others can write to.
func Open(dir string, o Options) (*Journal, error) {
	j := &Journal{dir: dir, opts: o.withDefaults(), codec: newCodec()}
	open := j.openWriter
	if o.ReadOnly {
		open = j.openReader
	}
	err := open()
	if err == nil {
		return j, nil
	}
	_ = j.Close()
	if errors.Is(err, ErrDamaged) {
		path := j.path(fileName)
		return nil, fmt.Errorf("opening journal %s: %w; to start a new journal, move the file away: mv -n %s %s; what it holds cannot be undone then",
			path, err, quote(path), quote(path+".damaged"))
	}
	return nil, fmt.Errorf("opening journal %s: %w", j.path(fileName), err)
}

// quote is a name as a shell takes it.
func quote(name string) string {
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// ID is the journal's own id, made at its creation: letters and digits, for
// names of folders. It is empty for a journal that does not exist.
func (j *Journal) ID() string { return j.id }

func (j *Journal) path(name string) string { return filepath.Join(j.dir, name) }

func (j *Journal) step(what string) error { return j.opts.Step(what) }

// Close gives the journal back to other processes.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	stamp := j.closingStamp()
	err := j.detach()
	j.fatal = ErrClosed
	err = errors.Join(err, releaseLock(j.lock, stamp))
	j.lock = nil
	if err != nil {
		return fmt.Errorf("closing journal %s: %w", j.path(fileName), err)
	}
	return nil
}

// openReader locks and reads what is there. A journal without a lock file, such
// as a copy, is read without a lock: nothing may be created here.
func (j *Journal) openReader() error {
	err := ownfile.CheckDir(j.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for range 2 { // a lock file may appear just before the journal does
		if j.lock, err = acquireLock(j.path(lockName), j.opts); err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if found, err := j.exists(); err != nil || !found {
			return err
		}
	}
	if found, err := j.exists(); err != nil || !found {
		return err
	}
	return j.attach()
}

func (j *Journal) openWriter() error {
	if err := ownfile.MakeDir(j.dir); err != nil {
		return err
	}
	var err error
	if j.lock, err = acquireLock(j.path(lockName), j.opts); err != nil {
		return err
	}
	stamp := readStamp(j.lock.File())
	writeLockFile(j.lock.File(), os.Getpid(), "")
	found, err := j.exists()
	if err == nil && !found {
		err = j.create()
	}
	if err != nil {
		return err
	}
	if err := j.attach(); err != nil {
		return err
	}
	if err := j.verifyChanged(stamp); err != nil {
		return err
	}
	if err := j.step("drop " + tempName); err != nil {
		return err
	}
	if err := j.dropTemp(); err != nil { // it may be all that is whole where journal.db is not
		return err
	}
	return j.finishInterrupted()
}

// settle makes durable what a process that was killed may have left in memory,
// and ends what it had begun to remove. What cannot be ended now, as on a full
// disk, stays marked: that must not keep anybody from recovering a store.
func (j *Journal) finishInterrupted() error {
	if _, isNew, err := j.mark(markNew); err != nil {
		return err
	} else if isNew {
		if err := ownfile.SyncDir(j.dir); err != nil {
			return err
		}
	}
	if j.head.pending > 0 {
		if err := j.guard(j.db.Sync); err != nil {
			return fmt.Errorf("syncing it: %w", err)
		}
	}
	if err := j.cleanUp(); errors.Is(err, ErrDamaged) || j.fatal != nil {
		return err
	}
	return nil
}

// exists reports whether there is a journal file, or something else in its place.
func (j *Journal) exists() (bool, error) {
	_, err := os.Lstat(j.path(fileName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// attach opens the file, reads the newest state, and for writing gives the file
// to bbolt.
func (j *Journal) attach() error {
	f, err := ownfile.Open(j.path(fileName), os.O_RDONLY)
	if err != nil {
		return err
	}
	j.file = f
	if err := j.load(); err != nil {
		return err
	}
	if err := j.readIdentity(); err != nil { // first: the rest depends on the format
		return err
	}
	if j.head, err = j.snap.head(); err != nil {
		return err
	}
	if err := j.checkTotals(); err != nil || j.opts.ReadOnly {
		return err
	}
	if err := j.snap.CheckFreelist(); err != nil { // before bbolt trusts it
		return err
	}
	return j.openBolt()
}

// detach closes the files. The lock stays.
func (j *Journal) detach() error {
	var errs []error
	if j.db != nil {
		errs = append(errs, recoverPanics(j.db.Close))
	}
	if j.file != nil {
		errs = append(errs, j.file.Close())
	}
	j.db, j.boltFile, j.file, j.snap = nil, nil, nil, nil
	return errors.Join(errs...)
}

// load takes up the state that the newest transaction left.
func (j *Journal) load() error {
	info, err := j.file.Stat()
	if err != nil {
		return err
	}
	j.snap, err = newSnapshot(j.file, info.Size())
	return err
}

// readIdentity reads format and id.
func (j *Journal) readIdentity() error {
	v, ok, err := j.snap.get(bucketMeta, []byte(keyFormat))
	if err != nil {
		return err
	}
	if !ok || len(v) != 4 {
		return damaged("it has no format number")
	}
	if n := binary.BigEndian.Uint32(v); n != format {
		return fmt.Errorf("%w: written by a later mend (format %d), this one knows %d", ErrFormat, n, format)
	}
	id, ok, err := j.snap.get(bucketMeta, []byte(keyID))
	if err != nil {
		return err
	}
	if !ok || len(id) == 0 {
		return damaged("it has no id")
	}
	j.id = string(id)
	return nil
}

// checkTotals compares the newest event with the derived buckets that say which
// entries there are and which are pending: a lost pending entry would never be
// recovered.
func (j *Journal) checkTotals() error {
	var pending uint64
	err := j.snap.scan(bucketPending, nil, nil, func(boltread.Item) error { pending++; return nil })
	if err != nil {
		return err
	}
	begun, err := j.snap.lastEntry()
	if err != nil {
		return err
	}
	if begun != j.head.begun || pending != j.head.pending {
		return damaged("%d entries, %d pending, want %d and %d", begun, pending, j.head.begun, j.head.pending)
	}
	return nil
}

// usable says why the journal cannot be written, if it cannot.
func (j *Journal) checkWritable() error {
	switch {
	case j.fatal != nil:
		return j.fatal
	case j.opts.ReadOnly:
		return ErrReadOnly
	}
	return nil
}

// readable says why nothing can be read, if nothing can.
func (j *Journal) checkReadable() error {
	if j.file == nil && j.fatal != nil {
		return j.fatal
	}
	return nil
}
