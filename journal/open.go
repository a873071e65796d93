package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"mend/internal/ownfile"
)

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
		if j.lock, err = lock(j.path(lockName), j.opts); err == nil {
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
	if j.lock, err = lock(j.path(lockName), j.opts); err != nil {
		return err
	}
	stamp := readStamp(j.lock.File())
	writeHolder(j.lock.File(), os.Getpid(), "")
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
	return j.settle()
}

// settle makes durable what a process that was killed may have left in memory,
// and ends what it had begun to remove. What cannot be ended now, as on a full
// disk, stays marked: that must not keep anybody from recovering a store.
func (j *Journal) settle() error {
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
	if err := j.tidy(); errors.Is(err, ErrDamaged) || j.dead != nil {
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
	if err := j.snap.checkFreelist(); err != nil { // before bbolt trusts it
		return err
	}
	return j.openBolt()
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
