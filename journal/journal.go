package journal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"mend/change"
	"mend/internal/ownfile"
)

// Options say how to open a journal. The zero Options open it for writing.
type Options struct {
	ReadOnly bool
	Version  string           // of mend, for new entries
	Actor    *change.Actor    // who writes; nil: unknown
	Timeout  time.Duration    // how long to wait for another process; 0: 2 s
	Now      func() time.Time // nil: time.Now
	Context  context.Context  // ends what only reads; nil: never

	// Unlocked reads beside a writer instead of waiting for it. What was read is one state of the
	// journal if [Journal.Moved] reports false afterwards. It needs ReadOnly.
	Unlocked bool

	// Step is called before each change of a file, with a name for it. If it returns an
	// error, the change is not made. For tests.
	Step func(what string) error
	// compactAbove is how many free bytes GC leaves in the file; 0: 64 MiB.
	compactAbove int64
	// batchSize bounds a transaction of blobs; 0: 1 MiB.
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
		o.batchSize = 1 << 20
	}
	return o
}

// A Journal is an open journal. Its methods are safe for concurrent use.
type Journal struct {
	mu    sync.Mutex
	dir   string
	opts  Options
	lock  *ownfile.Lock
	codec *codec

	db       *bolt.DB  // for writing; nil if read only
	boltFile *os.File  // what db has open
	file     *os.File  // for reading; nil if there is no journal
	snap     *snapshot // after the newest transaction; nil if there is no journal
	head     head
	id       string
	fatal    error // why the journal cannot be used any more
	damage   error // what is damaged of a journal that is open for reading, as far as that is known

	stamp     string // of the file when it was opened; "" if it was verified then
	stampTxID uint64 // the newest transaction at that time
}

// Open opens the journal in the folder dir.
//
// For writing, it creates folder and journal if they do not exist, for this user alone,
// and locks out all other processes until Close. It verifies a journal that is not as mend
// left it, and finishes what a crash interrupted.
//
// For reading, it changes nothing and shares the journal with other readers. A journal that
// does not exist is empty.
//
// The error is a [*LockedError] if another process held the journal for the whole timeout.
// It wraps [ErrDamaged] or [ErrFormat] if the file cannot be used, which is then left
// unchanged. It is an [*ownfile.UnsafeError] if the folder or a file is not as mend creates
// it, for example writable by others.
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
		return nil, fmt.Errorf("opening journal %s: %w; to start a new journal, move the file away (repairs in it can then no longer be undone): mv -n %s %s",
			path, err, ownfile.Quote(path), ownfile.Quote(path+".damaged"))
	}
	return nil, fmt.Errorf("opening journal %s: %w", j.path(fileName), err)
}

// ID returns the id that the journal got when it was created: letters and digits, for names
// of folders. It is empty if the journal does not exist.
func (j *Journal) ID() string { return j.id }

func (j *Journal) path(name string) string { return filepath.Join(j.dir, name) }

func (j *Journal) step(what string) error { return j.opts.Step(what) }

// Close closes the journal and releases its lock.
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

// openReader locks and reads the journal. A journal without a lock file, such as a copy, is
// read without a lock, since a reader creates nothing.
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
		if j.opts.Unlocked && errors.As(err, new(*LockedError)) {
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

// Moved reports whether a writer has committed since the journal was opened. Only a reader without
// a lock sees that. Until then no page of its state is overwritten: bbolt frees the pages that a
// transaction replaces when the next one begins.
func (j *Journal) Moved() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lock != nil || j.file == nil {
		return false
	}
	before := j.snap.txid
	return j.load() != nil || j.snap.txid != before
}

// openWriter locks the journal, creates it if it does not exist, and makes it ready for
// writing.
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
	if err := j.dropTemp(); err != nil { // not earlier: it may be the only undamaged copy
		return err
	}
	return j.finishInterrupted()
}

// finishInterrupted makes durable what a process that was killed may have left in memory,
// and finishes the removal of blobs. If that fails, as on a full disk, the mark stays and
// the journal can be used: recovering a store is more important.
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

// exists reports whether something has the journal's name.
func (j *Journal) exists() (bool, error) {
	_, err := os.Lstat(j.path(fileName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// attach opens the file and reads the newest state. For writing it also opens the file with
// bbolt.
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
	if j.head, err = j.snap.head(); err == nil {
		err = j.checkTotals()
	}
	if j.opts.ReadOnly {
		return j.tolerate(err)
	}
	if err != nil {
		return err
	}
	if _, _, err := j.snap.freePages(); err != nil { // before bbolt trusts it
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

// tolerate notes that the newest event or the totals are damaged, so that the other entries can be
// read: as many as have a key, since no number in the file is trusted.
func (j *Journal) tolerate(damage error) error {
	if !errors.Is(damage, ErrDamaged) {
		return damage
	}
	j.damage = damage
	last, err := j.snap.lastEntry()
	if err != nil {
		return damage
	}
	keys, err := j.snap.count(bucketEntries)
	if err != nil {
		return damage
	}
	j.head.begun = min(max(j.head.begun, last), uint64(keys))
	return nil
}

// load reads the state after the newest transaction.
func (j *Journal) load() error {
	info, err := j.file.Stat()
	if err != nil {
		return err
	}
	var r io.ReaderAt = j.file
	if j.opts.Context != nil {
		r = contextReader{j.opts.Context, r}
	}
	j.snap, err = newSnapshot(r, info.Size())
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

// checkTotals compares the totals in the newest event with the buckets entries and pending:
// a pending entry that was lost would never be recovered.
func (j *Journal) checkTotals() error {
	var pending uint64
	err := j.snap.scan(bucketPending, nil, nil, func(item) error { pending++; return nil })
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

// checkWritable returns the reason if the journal cannot be written.
func (j *Journal) checkWritable() error {
	switch {
	case j.fatal != nil:
		return j.fatal
	case j.opts.ReadOnly:
		return ErrReadOnly
	}
	return nil
}

// checkReadable returns the reason if the journal cannot be read.
func (j *Journal) checkReadable() error {
	if j.file == nil && j.fatal != nil {
		return j.fatal
	}
	return nil
}
