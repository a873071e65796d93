package journal

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	bolt "go.etcd.io/bbolt"

	"mend/internal/ownfile"
)

// The files in the journal's folder.
const (
	fileName = "journal.db"
	tempName = "journal.db.new" // being made: by a creation or a compaction
	lockName = "journal.lock"
)

// The keys of the meta bucket. Frozen.
const (
	keyFormat  = "format"  // u32, of this layout
	keyID      = "id"      // the journal's id
	keyCreated = "created" // i64, in seconds since 1970

	// Marks of work that a crash may cut. The next open for writing ends it.
	markNew     = "new"     // the file's name may not be durable
	markStaging = "staging" // u64, the entry whose blobs are being written
	markErasing = "erasing" // u64, the gc or forget event whose blobs are being removed
	markCompact = "compact" // what was removed is still in the file's free pages
)

// format is the number of this layout. Frozen, as are the name, the key, and
// the encoding it stands in.
const format = 1

// dropTemp removes what a cut creation or compaction left: it may hold text
// that was to be forgotten.
func (j *Journal) dropTemp() error {
	if err := os.Remove(j.path(tempName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// create makes an empty journal. bbolt's own creation is not safe: a file that
// was cut while it was made never opens again. So it is made under another
// name, and gets its own when it is whole and durable.
func (j *Journal) create() error {
	id := strings.ToLower(rand.Text())[:16]
	err := j.makeTemp(func(db *bolt.DB) error {
		return db.Update(func(tx *bolt.Tx) error {
			w := &writer{tx: tx}
			for _, name := range buckets {
				if _, err := tx.CreateBucket([]byte(name)); err != nil {
					return err
				}
			}
			now := j.opts.Now()
			return errors.Join(
				w.put(bucketMeta, []byte(keyFormat), binary.BigEndian.AppendUint32(nil, format)),
				w.put(bucketMeta, []byte(keyID), []byte(id)),
				w.put(bucketMeta, []byte(keyCreated), u64(uint64(now.Unix()))),
				w.put(bucketMeta, []byte(markNew), []byte{1}))
		})
	})
	if err == nil {
		err = j.installTemp()
	}
	if err != nil {
		return fmt.Errorf("creating it: %w", err)
	}
	return nil
}

// makeTemp makes the temporary file, lets fill write into it, and closes it
// with everything durable. On an error it is removed again.
func (j *Journal) makeTemp(fill func(*bolt.DB) error) error {
	if err := j.step("make " + tempName); err != nil {
		return err
	}
	if err := j.dropTemp(); err != nil {
		return err
	}
	err := safely(func() error {
		db, err := bolt.Open(j.path(tempName), 0o600, j.boltOptions(func(name string, flag int, mode os.FileMode) (*os.File, error) {
			f, err := os.OpenFile(name, flag|os.O_EXCL, mode)
			if err != nil {
				return nil, err
			}
			if err := errors.Join(f.Chmod(mode), j.step("fill "+tempName)); err != nil {
				return nil, errors.Join(err, f.Close())
			}
			return f, nil
		}))
		if err != nil {
			return err
		}
		return errors.Join(fill(db), db.Sync(), db.Close())
	})
	if err == nil {
		err = j.step("made " + tempName)
	}
	if err != nil {
		return errors.Join(err, j.clean(j.dropTemp))
	}
	return nil
}

// installTemp gives the temporary file the journal's name, durably. Until the
// folder is synced nothing may be written into it: a power cut could bring the
// old file back.
func (j *Journal) installTemp() error {
	err := j.step("rename " + tempName)
	if err == nil {
		err = os.Rename(j.path(tempName), j.path(fileName))
	}
	if err != nil {
		return errors.Join(err, j.clean(j.dropTemp))
	}
	if err := j.step("sync folder"); err != nil {
		return err
	}
	return ownfile.SyncDir(j.dir)
}
