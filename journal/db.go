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

// recoverPanics calls f, which calls bbolt, and turns a panic into an error that wraps
// ErrDamaged. That includes faults of the memory that the file is mapped to.
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

// guard calls recoverPanics for the open journal. After a panic bbolt holds locks that it
// never releases, so guard closes its file, and the journal cannot be used any more.
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
		Timeout:      j.opts.Timeout, // for other programs: we hold our own lock
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
			closeMapped(j.boltFile) // bbolt does not after a panic
		}
	}
	if errors.Is(err, berrors.ErrTimeout) {
		return &LockedError{}
	}
	return err
}

// update runs fn in one transaction and commits it durably. After an error the file has
// nothing of it, unless j.fatal is set: then only the next Open finds out.
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

// resolveCommit finds out whether transaction id is in the file although its commit
// returned the error cause. It returns nil if it is.
//
// Another sync would say nothing, since the first one dropped the data together with the
// error. So the file is opened again, and if it has the transaction, an empty commit
// makes it durable.
func (j *Journal) resolveCommit(id uint64, cause error) error {
	_ = j.detach()
	err := j.attach()
	if err == nil {
		err = j.guard(j.db.Sync)
	}
	if j.snap != nil && j.snap.txid < id {
		j.fatal = err // the transaction is not there, whatever else is wrong with the file
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

// reread reads the state after a commit. If that fails, the journal cannot be used any more.
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

// A writer is one transaction. bbolt follows only pointers that were checked.
type writer struct {
	tx   *bolt.Tx
	snap *snapshot // the state before it; nil for a new file
	head head

	written int // about how many bytes the commit writes
}

// run checks that the transaction follows the snapshot, and calls fn. It also removes
// markNew, which only the first open after a rename needs.
func (w *writer) run(fn func(*writer) error) error {
	if id := uint64(w.tx.ID()); id != w.snap.txid+1 {
		return damaged("transaction %d follows %d: another program writes this file", id, w.snap.txid)
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

// bucket checks the path to key in the bucket and returns the bucket.
func (w *writer) bucket(name string, key []byte) (*bolt.Bucket, error) {
	if w.snap != nil {
		if _, _, err := w.snap.find(name, key); err != nil {
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
		b.FillPercent = 0.95 // it only grows at its end
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

// keys returns up to n keys that have the prefix, as of now in this transaction. Call
// checkStructure before: the pages are not checked here.
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

// event sets the time and the totals of an event, appends it to the chain, and lists it
// under the given entries.
func (w *writer) event(j *Journal, ev *event, entries ...uint64) error {
	now := j.opts.Now()
	ev.Sec, ev.Nsec = now.Unix(), int64(now.Nanosecond())
	ev.Begun, ev.Pending = w.head.begun, w.head.pending
	ev.Actor = j.opts.Actor
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
