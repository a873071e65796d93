package journal

import (
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
func safely(f func() error) (err error) {
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
	err := safely(f)
	var p *panicError
	if errors.As(err, &p) {
		j.db, j.dead = nil, err
		abandon(j.boltFile)
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
	err := safely(func() (err error) {
		j.db, err = bolt.Open(j.path(fileName), 0o600, j.boltOptions(open))
		return err
	})
	if err != nil {
		j.db = nil
		if j.boltFile != nil {
			abandon(j.boltFile) // after a panic nobody else does
		}
	}
	if errors.Is(err, berrors.ErrTimeout) {
		return &LockedError{Path: j.path(fileName)}
	}
	return err
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

// usable says why the journal cannot be written, if it cannot.
func (j *Journal) usable() error {
	switch {
	case j.dead != nil:
		return j.dead
	case j.opts.ReadOnly:
		return ErrReadOnly
	}
	return nil
}

// update runs fn in one transaction and commits it durably. An error means that
// nothing of it is in the file, unless the journal is dead afterwards: then the
// next open tells.
func (j *Journal) update(what string, fn func(*writer) error) error {
	if err := j.usable(); err != nil {
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
	case inner != nil || j.dead != nil:
		return err
	}
	return j.look(id, err)
}

// look finds out what became of transaction id after its commit gave an error:
// it may be in the file all the same. A second sync would say nothing, since
// the first took the error away with the data. So the file is opened anew, and
// where it has the transaction, another commit puts it on the disk once more.
func (j *Journal) look(id uint64, cause error) error {
	_ = j.detach()
	err := j.attach()
	if err == nil {
		err = j.guard(j.db.Sync)
	}
	if j.snap != nil && j.snap.txid < id {
		j.dead = err // it is not there, whatever else is wrong with the file
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
		j.dead = fmt.Errorf("%w; %w: %w", cause, ErrUnsure, err)
		return j.dead
	}
	return nil
}

// reread takes up what a commit wrote. Without it the journal is of no use.
func (j *Journal) reread() error {
	err := j.load()
	if err == nil {
		j.head, err = j.snap.head()
	}
	if err != nil {
		j.dead = err
	}
	return err
}

// detach closes the files. The lock stays.
func (j *Journal) detach() error {
	var errs []error
	if j.db != nil {
		errs = append(errs, safely(j.db.Close))
	}
	if j.file != nil {
		errs = append(errs, j.file.Close())
	}
	j.db, j.boltFile, j.file, j.snap = nil, nil, nil, nil
	return errors.Join(errs...)
}

// Close gives the journal back to other processes.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	stamp := j.leave()
	err := j.detach()
	j.dead = ErrClosed
	err = errors.Join(err, unlock(j.lock, stamp))
	j.lock = nil
	if err != nil {
		return fmt.Errorf("closing journal %s: %w", j.path(fileName), err)
	}
	return nil
}

// clean runs f, which removes something after an error.
func (j *Journal) clean(f func() error) error {
	if err := j.step("clean up"); err != nil {
		return err
	}
	return f()
}
