package journal

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"mend/change"
	"mend/internal/boltfile"
	"mend/internal/ownfile"
)

// Options say how to open a journal. The zero Options open it for writing.
type Options struct {
	ReadOnly bool
	Version  string           // version of mend, for new entries
	Actor    *change.Actor    // the user and program that write; nil: unknown
	Timeout  time.Duration    // how long to wait for another process; 0: 2 s
	Now      func() time.Time // nil: time.Now
	Context  context.Context  // cancels reading; nil: never

	// Unlocked reads while a writer holds the lock, instead of waiting. The result is one consistent
	// state of the journal if [Journal.HasChanged] reports false afterwards. It needs ReadOnly.
	Unlocked bool

	// Step is called with a name before each change of a file. If it returns an error, the change is
	// not made. For tests.
	Step func(what string) error
	// compactAbove is how many free bytes GC leaves in the file; 0: 64 MiB.
	compactAbove int64
	// batchSize limits a transaction of blobs, in bytes; 0: 1 MiB.
	batchSize int
}

func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(o.Timeout, 2*time.Second)
	o.compactAbove = cmp.Or(o.compactAbove, 64<<20)
	o.batchSize = cmp.Or(o.batchSize, 1<<20)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// A Journal is an open journal. Its methods are safe for concurrent use.
type Journal struct {
	mu     sync.Mutex
	opts   Options
	file   *boltfile.File
	head   head
	id     string
	damage error // known damage of a journal that is open for reading
}

// snap returns the state after the newest transaction. Its Snapshot is nil if the journal does not
// exist.
func (j *Journal) snap() snapshot { return snapshot{j.file.Snap} }

// Open opens the journal in the folder dir.
//
// For writing, it creates folder and journal if they do not exist, for this user alone, and locks out
// all other processes until Close. It verifies a journal that changed since mend last closed it, and
// finishes what a crash interrupted.
//
// For reading, it changes nothing and shares the journal with other readers. A journal that
// does not exist is empty.
//
// The error is a [*LockedError] if another process held the journal for the whole timeout. It wraps
// [ErrDamaged] or [ErrFormat] if the file cannot be used; the file is then unchanged. It is an
// [*ownfile.UnsafeError] if the folder or a file does not have the permissions that mend gave it, for
// example if it is writable by others.
func Open(dir string, o Options) (*Journal, error) {
	j := &Journal{opts: o.withDefaults()}
	j.file = boltfile.New(dir, boltfile.Spec{
		Name: fileName, Lock: lockName, Buckets: buckets, Growing: []string{bucketEvents, bucketEntries}, Damaged: ErrDamaged,
		Fill: j.fill, Attached: j.attach, Committed: j.readNewest, Verify: func() error { return newVerifier(j, "").run() },
	}, boltfile.Options{
		ReadOnly: o.ReadOnly, Timeout: j.opts.Timeout, Context: o.Context, Unlocked: o.Unlocked, Step: o.Step, BatchSize: j.opts.batchSize,
	})
	err := j.file.Open()
	if err == nil && !o.ReadOnly {
		err = j.finishInterrupted()
	}
	if err == nil {
		return j, nil
	}
	_ = j.Close()
	if errors.Is(err, ErrDamaged) {
		path := j.file.Path()
		return nil, fmt.Errorf("opening journal %s: %w; to start a new journal, move the file away (repairs in it can then no longer be undone): mv -n %s %s",
			path, err, ownfile.Quote(path), ownfile.Quote(path+".damaged"))
	}
	return nil, fmt.Errorf("opening journal %s: %w", j.file.Path(), err)
}

// ID returns the permanent id of the journal: letters and digits, usable in names of folders; "" if the journal does
// not exist.
func (j *Journal) ID() string { return j.id }

// lock begins an exported method. The returned function ends it, and adds to an error what the method was doing.
func (j *Journal) lock(err *error, doing string, args ...any) (end func()) {
	j.mu.Lock()
	return func() {
		j.mu.Unlock()
		if *err != nil {
			*err = fmt.Errorf("%s: %w", fmt.Sprintf(doing, args...), *err)
		}
	}
}

// Close closes the journal and releases its lock.
func (j *Journal) Close() (err error) {
	defer j.lock(&err, "closing journal %s", j.file.Path())()
	return j.file.Close()
}

// HasChanged reports whether a writer has committed since the journal was opened, see [boltfile.File.HasChanged].
func (j *Journal) HasChanged() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file.HasChanged()
}

// fill writes the initial values of a new journal.
func (j *Journal) fill(w *boltfile.Tx) error {
	now := j.opts.Now()
	return errors.Join(
		w.Put(bucketMeta, []byte(keyFormat), binary.BigEndian.AppendUint32(nil, format)),
		w.Put(bucketMeta, []byte(keyID), []byte(strings.ToLower(rand.Text())[:16])),
		w.Put(bucketMeta, []byte(keyCreated), boltfile.U64(uint64(now.Unix()))))
}

// finishInterrupted makes the writes durable that a killed process may have left in memory, and
// finishes the removal of blobs. If that fails, as on a full disk, the mark stays and the journal can
// be used: recovering a store is more important.
func (j *Journal) finishInterrupted() error {
	if j.head.pending > 0 {
		if err := j.file.Sync(); err != nil {
			return fmt.Errorf("syncing it: %w", err)
		}
	}
	if err := j.cleanUp(); errors.Is(err, ErrDamaged) || j.file.Fatal != nil {
		return err
	}
	return nil
}

// attach reads the identity and the state of the journal after its file was opened.
func (j *Journal) attach() error {
	if err := j.readIdentity(); err != nil { // first, because the rest depends on the format
		return err
	}
	err := j.readNewest()
	if err == nil {
		err = j.checkTotals()
	}
	if j.opts.ReadOnly {
		return j.tolerate(err)
	}
	return err
}

// readNewest reads the newest event. boltfile calls it after each transaction.
func (j *Journal) readNewest() (err error) {
	j.head, err = j.snap().head()
	return err
}

// tolerate records that the newest event or the totals are damaged, so that the other entries can be read. It expects
// at most as many entries as the bucket has keys, since no number in the file is trusted.
func (j *Journal) tolerate(damage error) error {
	if !errors.Is(damage, ErrDamaged) {
		return damage
	}
	j.damage = damage
	last, err := j.snap().lastEntry()
	if err != nil {
		return damage
	}
	keys, err := j.snap().Count(bucketEntries)
	if err != nil {
		return damage
	}
	j.head.begun = min(max(j.head.begun, last), uint64(keys))
	return nil
}

func (j *Journal) readIdentity() error {
	v, ok, err := j.snap().Get(bucketMeta, []byte(keyFormat))
	if err != nil {
		return err
	}
	if !ok || len(v) != 4 {
		return damageError("it has no format number")
	}
	if n := binary.BigEndian.Uint32(v); n != format {
		return fmt.Errorf("%w: written by a later mend (format %d), this one knows %d", ErrFormat, n, format)
	}
	id, ok, err := j.snap().Get(bucketMeta, []byte(keyID))
	if err != nil {
		return err
	}
	if !ok || len(id) == 0 {
		return damageError("it has no id")
	}
	j.id = string(id)
	return nil
}

// checkTotals compares the totals in the newest event with the buckets entries and pending: a pending
// entry missing there would never be recovered.
func (j *Journal) checkTotals() error {
	pending, err := j.snap().Count(bucketPending)
	if err != nil {
		return err
	}
	begun, err := j.snap().lastEntry()
	if err != nil {
		return err
	}
	if begun != j.head.begun || uint64(pending) != j.head.pending {
		return damageError("%d entries, %d pending, want %d and %d", begun, pending, j.head.begun, j.head.pending)
	}
	return nil
}

// A snapshot is the state of the journal after one transaction.
type snapshot struct{ *boltfile.Snapshot }

func (s snapshot) event(seq uint64) (*event, error) {
	v, ok, err := s.Get(bucketEvents, boltfile.U64(seq))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, damageError("event %d is missing", seq)
	}
	ev, _, _, err := decodeEvent(seq, v)
	return ev, err
}

// A head is the number and hash of the newest event, and the totals after it.
type head struct {
	seq            uint64 // 0 if there is no event
	hash           hash
	begun, pending uint64 // entries
}

func (s snapshot) head() (head, error) {
	it, ok, err := s.Last(bucketEvents)
	if err != nil || !ok {
		return head{}, err
	}
	seq, ok := boltfile.SplitU64(it.Key, 1)
	if !ok {
		return head{}, damageError("events has a key %x", it.Key)
	}
	v, err := it.Open(bucketEvents)
	if err != nil {
		return head{}, err
	}
	ev, _, sum, err := decodeEvent(seq[0], v)
	if err != nil {
		return head{}, err
	}
	return head{seq: seq[0], hash: sum, begun: ev.Begun, pending: ev.Pending}, nil
}

// lastEntry returns the number of the newest entry, or 0.
func (s snapshot) lastEntry() (uint64, error) {
	it, ok, err := s.Last(bucketEntries)
	if err != nil || !ok {
		return 0, err
	}
	n, ok := boltfile.SplitU64(it.Key, 2)
	if !ok {
		return 0, damageError("entries has a key %x", it.Key)
	}
	return n[0], nil
}
