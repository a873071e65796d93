package journal

import (
	"context"
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

// create creates an empty journal. bbolt's own creation is not safe: a file that was cut
// while it was created never opens again. So the journal is created under another name,
// and renamed when it is complete and durable.
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

// makeTemp creates the temporary file, has fill write to it, and closes it when
// everything is durable. On an error the file is removed.
func (j *Journal) makeTemp(fill func(*bolt.DB) error) error {
	if err := j.step("make " + tempName); err != nil {
		return err
	}
	if err := j.dropTemp(); err != nil {
		return err
	}
	err := recoverPanics(func() error {
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
		return errors.Join(err, j.cleanUpAfterError(j.dropTemp))
	}
	return nil
}

// installTemp durably renames the temporary file to the journal's name. Nothing may be
// written to it before the folder is synced: a power cut could bring the old file back.
func (j *Journal) installTemp() error {
	err := j.step("rename " + tempName)
	if err == nil {
		err = os.Rename(j.path(tempName), j.path(fileName))
	}
	if err != nil {
		return errors.Join(err, j.cleanUpAfterError(j.dropTemp))
	}
	if err := j.step("sync folder"); err != nil {
		return err
	}
	return ownfile.SyncDir(j.dir)
}

// dropTemp removes what an interrupted creation or compaction left. It may hold text that
// was to be forgotten.
func (j *Journal) dropTemp() error {
	if err := os.Remove(j.path(tempName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// compact writes a new file without what was removed. A crash leaves the old file or the
// new one, either of them complete.
//
// It does not use bolt.Compact, which checks no checksum, knows no context, and does not
// return the error of a full disk.
func (j *Journal) compact(ctx context.Context) error {
	if err := j.snap.checkStructure(buckets); err != nil {
		return err
	}
	err := j.makeTemp(func(db *bolt.DB) error { return j.copyTo(ctx, db) })
	if err == nil {
		err = j.compareTemp()
	}
	if err != nil {
		return fmt.Errorf("rewriting it: %w", errors.Join(err, j.cleanUpAfterError(j.dropTemp)))
	}
	// Windows does not rename over an open file.
	if err := j.step("close " + fileName); err != nil {
		return err
	}
	closeErr := j.detach()
	err = j.installTemp()
	if openErr := j.attach(); openErr != nil {
		j.fatal = openErr
		return errors.Join(err, openErr)
	}
	if err != nil {
		// The rename may not be durable: nothing may be written after it.
		if _, renamed, _ := j.mark(markNew); renamed {
			j.fatal = err
		}
		return fmt.Errorf("putting the new file in place: %w", errors.Join(err, closeErr))
	}
	return nil
}

// copyTo copies every key except markCompact, and sets markNew.
func (j *Journal) copyTo(ctx context.Context, db *bolt.DB) error {
	for _, name := range buckets {
		c := copier{j: j, ctx: ctx, db: db, bucket: name}
		if err := j.snap.scan(name, nil, nil, c.add); err != nil {
			return err
		}
		if name == bucketMeta {
			c.values = append(c.values, keyValue{name, []byte(markNew), seal(name, []byte(markNew), []byte{1})})
		}
		if err := c.flush(); err != nil {
			return err
		}
	}
	return nil
}

// A copier copies one bucket to the new file.
type copier struct {
	j      *Journal
	ctx    context.Context
	db     *bolt.DB
	bucket string
	values []keyValue
	size   int
}

func (c *copier) add(it item) error {
	if c.bucket == bucketMeta && (string(it.key) == markCompact || string(it.key) == markNew) {
		return nil
	}
	sealed, err := it.value()
	if err == nil {
		_, err = unseal(c.bucket, it.key, sealed)
	}
	if err != nil {
		return err
	}
	c.values = append(c.values, keyValue{c.bucket, it.key, sealed})
	if c.size += len(it.key) + len(sealed) + putCost; c.size < c.j.opts.batchSize {
		return nil
	}
	return c.flush()
}

func (c *copier) flush() error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if err := c.j.step("copy " + c.bucket); err != nil {
		return err
	}
	err := c.db.Update(func(tx *bolt.Tx) error {
		if _, err := tx.CreateBucketIfNotExists([]byte(c.bucket)); err != nil {
			return err
		}
		w := &writer{tx: tx}
		for _, p := range c.values {
			if err := w.putSealed(p.bucket, p.key, p.sealed); err != nil {
				return err
			}
		}
		return nil
	})
	c.values, c.size = nil, 0
	return err
}

// compareTemp checks the structure and the number of keys of the new file before it
// replaces the old one.
func (j *Journal) compareTemp() error {
	f, err := ownfile.Open(j.path(tempName), os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	s, err := newSnapshot(f, info.Size())
	if err == nil {
		err = s.checkStructure(buckets)
	}
	for _, name := range buckets {
		if err != nil {
			return err
		}
		var was, is int
		was, err = j.snap.count(name)
		if err == nil {
			is, err = s.count(name)
		}
		if err == nil && name != bucketMeta && was != is {
			err = fmt.Errorf("the copy of bucket %s has %d keys, want %d", name, is, was)
		}
	}
	return err
}
