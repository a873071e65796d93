package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"mend/internal/ownfile"
)

// safely runs f, which calls bbolt, and turns a panic into an error that wraps
// ErrDamaged, and so also a fault of the memory that bbolt maps the file to.
func recoverPanics(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{cause: p}
		}
	}()
	return f()
}

// A panicError is a panic of bbolt.
type panicError struct{ cause any }

func (e *panicError) Error() string { return fmt.Sprintf("%v: bbolt: %v", ErrDamaged, e.cause) }

func (e *panicError) Unwrap() error { return ErrDamaged }

// guard is safely for the open journal. After a panic bbolt holds locks that
// nobody will release, so its file is closed under it and the journal is dead.
func (j *Journal) guard(f func() error) error {
	err := recoverPanics(f)
	var p *panicError
	if errors.As(err, &p) {
		j.db, j.fatal = nil, err
		closeMapped(j.boltFile)
	}
	return err
}

func (j *Journal) boltOptions(open func(string, int, os.FileMode) (*os.File, error)) *bolt.Options {
	return &bolt.Options{
		Timeout:      j.opts.Timeout, // for a stranger: our own lock is held
		FreelistType: bolt.FreelistMapType,
		NoStatistics: true,
		OpenFile:     open,
	}
}

func (j *Journal) openBolt() error {
	open := func(name string, flag int, _ os.FileMode) (*os.File, error) {
		f, err := ownfile.Open(name, flag&^os.O_CREATE)
		j.boltFile = f
		return f, err
	}
	err := recoverPanics(func() (err error) {
		j.db, err = bolt.Open(j.path(fileName), 0o600, j.boltOptions(open))
		return err
	})
	if err != nil {
		j.db = nil
		if j.boltFile != nil {
			closeMapped(j.boltFile) // after a panic nobody else does
		}
	}
	if errors.Is(err, berrors.ErrTimeout) {
		return &LockedError{Path: j.path(fileName)}
	}
	return err
}

// update runs fn in one transaction and commits it durably. An error means that
// nothing of it is in the file, unless the journal is dead afterwards: then the
// next open tells.
func (j *Journal) update(what string, fn func(*writer) error) error {
	if err := j.checkWritable(); err != nil {
		return err
	}
	if err := j.step("commit " + what); err != nil {
		return err
	}
	var id uint64
	var inner error
	err := j.guard(func() error {
		return j.db.Update(func(tx *bolt.Tx) error {
			id = uint64(tx.ID())
			w := &writer{tx: tx, snap: j.snap, head: j.head}
			inner = w.run(fn)
			return inner
		})
	})
	if err == nil {
		err = j.step("committed " + what)
	}
	switch {
	case err == nil:
		return j.reread()
	case inner != nil || j.fatal != nil:
		return err
	}
	return j.resolveCommit(id, err)
}

// look finds out what became of transaction id after its commit gave an error:
// it may be in the file all the same. A second sync would say nothing, since
// the first took the error away with the data. So the file is opened anew, and
// where it has the transaction, another commit puts it on the disk once more.
func (j *Journal) resolveCommit(id uint64, cause error) error {
	_ = j.detach()
	err := j.attach()
	if err == nil {
		err = j.guard(j.db.Sync)
	}
	if j.snap != nil && j.snap.TxID() < id {
		j.fatal = err // it is not there, whatever else is wrong with the file
		return cause
	}
	if err == nil {
		err = j.step("confirm")
	}
	if err == nil {
		err = j.guard(func() error { return j.db.Update(func(*bolt.Tx) error { return nil }) })
	}
	if err == nil {
		err = j.reread()
	}
	if err != nil {
		j.fatal = fmt.Errorf("%w; %w: %w", cause, ErrUnsure, err)
		return j.fatal
	}
	return nil
}

// reread takes up what a commit written. Without it the journal is of no use.
func (j *Journal) reread() error {
	err := j.load()
	if err == nil {
		j.head, err = j.snap.head()
	}
	if err != nil {
		j.fatal = err
	}
	return err
}

// A writer is one transaction. bbolt follows no pointer for it that was not
// checked before.
type writer struct {
	tx   *bolt.Tx
	snap *snapshot // the state before; nil for a file that is being made
	head head

	written int // an estimate of what the commit writes, in bytes
}

// run runs fn after checking that the transaction starts where the snapshot is.
// Every transaction also takes the mark away that only the open needs.
func (w *writer) run(fn func(*writer) error) error {
	if id := uint64(w.tx.ID()); id != w.snap.TxID()+1 {
		return damaged("transaction %d follows %d: somebody else writes this file", id, w.snap.TxID())
	}
	if _, ok, err := w.snap.get(bucketMeta, []byte(markNew)); err != nil {
		return err
	} else if ok {
		if err := w.del(bucketMeta, []byte(markNew)); err != nil {
			return err
		}
	}
	return fn(w)
}

// bucket opens the bucket, on the path that was checked, for a change at key.
func (w *writer) bucket(name string, key []byte) (*bolt.Bucket, error) {
	if w.snap != nil {
		checked, err := w.snap.Bucket(name)
		if err == nil {
			err = checked.CheckPath(key)
		}
		if err != nil {
			return nil, err
		}
	}
	b := w.tx.Bucket([]byte(name))
	if b == nil {
		return nil, damaged("it has no bucket %s", name)
	}
	return b, nil
}

// put writes a value with its checksum.
func (w *writer) put(name string, key, val []byte) error {
	return w.putSealed(name, key, seal(name, key, val))
}

func (w *writer) putSealed(name string, key, sealed []byte) error {
	b, err := w.bucket(name, key)
	if err != nil {
		return err
	}
	if name == bucketEvents || name == bucketEntries || w.snap == nil {
		b.FillPercent = 0.95 // only ever grows at its end
	}
	w.written += len(key) + len(sealed)
	return b.Put(key, sealed)
}

func (w *writer) del(name string, key []byte) error {
	b, err := w.bucket(name, key)
	if err != nil {
		return err
	}
	return b.Delete(key)
}

// keys is up to n keys that begin with prefix, in the state so far. Only for
// buckets whose structure was checked as a whole.
func (w *writer) keys(name string, prefix []byte, n int) ([][]byte, error) {
	b, err := w.bucket(name, prefix)
	if err != nil {
		return nil, err
	}
	var keys [][]byte
	c := b.Cursor()
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix) && len(keys) < n; k, v = c.Next() {
		keys = append(keys, bytes.Clone(k))
		w.written += len(v)
	}
	return keys, nil
}

// event appends an event to the chain, at the time and with the totals that
// follow, and puts it into the lists of the entries that it is about.
func (w *writer) event(j *Journal, ev *event, entries ...uint64) error {
	now := j.opts.Now()
	ev.Sec, ev.Nsec = now.Unix(), int64(now.Nanosecond())
	ev.Begun, ev.Pending = w.head.begun, w.head.pending
	var err error
	switch ev.Kind {
	case kindBegin:
		ev.Begun, ev.Pending = ev.Begun+1, ev.Pending+1
		err = errors.Join(
			w.put(bucketPending, u64(ev.Entry), nil),
			w.put(bucketBySession, sessionKey(ev.Begin.Session, ev.Entry), nil))
	case kindFinish:
		ev.Pending--
		err = w.del(bucketPending, u64(ev.Entry))
	default:
	}
	if err != nil {
		return err
	}
	seq, before := w.head.seq+1, w.head.hash
	if w.head.seq == 0 {
		before = genesis(j.id)
	}
	b, sum, err := encodeEvent(seq, before, ev)
	if err != nil {
		return err
	}
	if err := w.put(bucketEvents, u64(seq), b); err != nil {
		return err
	}
	w.head = head{seq: seq, hash: sum, begun: ev.Begun, pending: ev.Pending}
	for _, entry := range entries {
		if err := w.put(bucketEntries, u64(entry, seq), nil); err != nil {
			return err
		}
	}
	return nil
}
