package boltfile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"mend/internal/ownfile"
)

// recoverPanics calls f, which calls bbolt, and turns a panic into damage, including faults of the memory that the file
// is mapped to.
func recoverPanics(damage error, f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{damage, p}
		}
	}()
	return f()
}

type panicError struct {
	damage error
	cause  any
}

func (e *panicError) Error() string { return fmt.Sprintf("%v: bbolt: %v", e.damage, e.cause) }

func (e *panicError) Unwrap() error { return e.damage }

// guard calls recoverPanics for the open file. After a panic bbolt holds locks that it never releases, so guard closes
// its file, and the file becomes unusable.
func (f *File) guard(call func() error) error {
	err := recoverPanics(f.spec.Damaged, call)
	var p *panicError
	if errors.As(err, &p) {
		f.db, f.Fatal = nil, err
		closeMapped(f.boltFile)
	}
	return err
}

func (f *File) boltOptions(open func(string, int, os.FileMode) (*os.File, error)) *bolt.Options {
	return &bolt.Options{
		Timeout:      f.opts.Timeout, // for other programs: mend's own lock is already held
		FreelistType: bolt.FreelistMapType,
		NoStatistics: true,
		OpenFile:     open,
	}
}

// growth is the least growth of a file in bytes. bbolt's own 16 MiB would exceed the size of most files.
const growth = 32 << 10

func (f *File) openBolt() error {
	open := func(name string, flag int, _ os.FileMode) (*os.File, error) {
		file, err := ownfile.Open(name, flag&^os.O_CREATE)
		f.boltFile = file
		return file, err
	}
	err := recoverPanics(f.spec.Damaged, func() (err error) {
		f.db, err = bolt.Open(f.Path(), 0o600, f.boltOptions(open))
		if err == nil {
			f.db.AllocSize = growth
		}
		return err
	})
	if err != nil {
		f.db = nil
		if f.boltFile != nil {
			closeMapped(f.boltFile) // bbolt does not close it after a panic
		}
	}
	if errors.Is(err, berrors.ErrTimeout) {
		return &LockedError{}
	}
	return err
}

// Update runs fn in one transaction and commits it durably. After an error the file is unchanged, unless f.Fatal is
// set: then only the next Open shows whether it has changed.
func (f *File) Update(what string, fn func(*Tx) error) error {
	if err := f.CheckWritable(); err != nil {
		return err
	}
	if err := f.opts.Step("commit " + what); err != nil {
		return err
	}
	var id uint64
	var inner error
	err := f.guard(func() error {
		return f.db.Update(func(tx *bolt.Tx) error {
			id = uint64(tx.ID())
			w := &Tx{tx: tx, f: f, snap: f.Snap}
			inner = w.run(fn)
			return inner
		})
	})
	if err == nil {
		err = f.opts.Step("committed " + what)
	}
	switch {
	case err == nil:
		return f.reread()
	case inner != nil || f.Fatal != nil:
		return err
	}
	return f.resolveCommit(id, err)
}

// resolveCommit returns nil if transaction id is in the file although its commit returned the error cause.
//
// Another sync would prove nothing, since the first one dropped the data together with the error. So the file is opened
// again, and if it has the transaction, an empty commit makes it durable.
func (f *File) resolveCommit(id uint64, cause error) error {
	_ = f.detach()
	err := f.attach()
	if err == nil {
		err = f.guard(f.db.Sync)
	}
	if f.Snap != nil && f.Snap.txid < id {
		f.Fatal = err // the file lacks the transaction; err is what else is wrong with it
		return cause
	}
	if err == nil {
		err = f.opts.Step("confirm")
	}
	if err == nil {
		err = f.guard(func() error { return f.db.Update(func(*bolt.Tx) error { return nil }) })
	}
	if err == nil {
		err = f.reread()
	}
	if err != nil {
		f.Fatal = fmt.Errorf("%w; %w: %w", cause, ErrUnsure, err)
		return f.Fatal
	}
	return nil
}

// reread reads the state after a commit. If that fails, the file becomes unusable.
func (f *File) reread() error {
	err := f.load()
	if err == nil {
		err = f.spec.Committed()
	}
	if err != nil {
		f.Fatal = err
	}
	return err
}

// A Tx is one transaction. bbolt follows only pointers that were checked.
type Tx struct {
	tx   *bolt.Tx
	f    *File
	snap *Snapshot // the state before it; nil for a new file

	Written int // approximate number of bytes that the commit writes
}

// run checks that the transaction follows the snapshot, and calls fn. It also removes MarkNew, which only the first
// open after a rename needs.
func (w *Tx) run(fn func(*Tx) error) error {
	if id := uint64(w.tx.ID()); id != w.snap.txid+1 {
		return w.snap.damageError("transaction %d follows %d: another program writes this file", id, w.snap.txid)
	}
	if _, ok, err := w.snap.Get(Meta, []byte(MarkNew)); err != nil {
		return err
	} else if ok {
		if err := w.Del(Meta, []byte(MarkNew)); err != nil {
			return err
		}
	}
	return fn(w)
}

// bucket checks the path to key in the bucket and returns the bucket.
func (w *Tx) bucket(name string, key []byte) (*bolt.Bucket, error) {
	if w.snap != nil {
		if _, _, err := w.snap.find(name, key); err != nil {
			return nil, err
		}
	}
	b := w.tx.Bucket([]byte(name))
	if b == nil {
		return nil, fmt.Errorf("%w: it has no bucket %s", w.f.spec.Damaged, name)
	}
	return b, nil
}

// Put writes a value with its checksum.
func (w *Tx) Put(name string, key, val []byte) error {
	b, err := w.bucket(name, key)
	if err != nil {
		return err
	}
	if w.snap == nil || slices.Contains(w.f.spec.Growing, name) {
		b.FillPercent = 0.95 // it only grows at its end
	}
	sealed := Seal(name, key, val)
	w.Written += len(key) + len(sealed)
	return b.Put(key, sealed)
}

// Del removes a key.
func (w *Tx) Del(name string, key []byte) error {
	b, err := w.bucket(name, key)
	if err != nil {
		return err
	}
	w.Written += PutCost
	return b.Delete(key)
}

// Keys returns up to n keys that have the prefix, including changes of this transaction. Call [Snapshot.CheckStructure]
// first, because Keys checks no pages.
func (w *Tx) Keys(name string, prefix []byte, n int) ([][]byte, error) {
	b, err := w.bucket(name, prefix)
	if err != nil {
		return nil, err
	}
	var keys [][]byte
	c := b.Cursor()
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix) && len(keys) < n; k, v = c.Next() {
		keys = append(keys, bytes.Clone(k))
		w.Written += len(v)
	}
	return keys, nil
}
