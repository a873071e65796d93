package journal

import (
	"context"
	"errors"
	"fmt"
	"os"

	bolt "go.etcd.io/bbolt"

	"mend/internal/ownfile"
)

// compact writes the file anew, without what was removed from it. A crash leaves
// the old file or the new one, both whole.
//
// It copies itself and not with bolt.Compact, so that every checksum is looked
// at, the context is heard, and a full disk gives an error.
func (j *Journal) compact(ctx context.Context, freed *Freed) error {
	if err := j.snap.checkStructure(); err != nil {
		return err
	}
	before, err := j.file.Stat()
	if err != nil {
		return err
	}
	err = j.makeTemp(func(db *bolt.DB) error { return j.copyTo(ctx, db) })
	if err == nil {
		err = j.compareTemp()
	}
	if err != nil {
		return fmt.Errorf("writing it anew: %w", errors.Join(err, j.clean(j.dropTemp)))
	}
	// Windows renames over no open file.
	if err := j.step("close " + fileName); err != nil {
		return err
	}
	closeErr := j.detach()
	err = j.installTemp()
	if openErr := j.attach(); openErr != nil {
		j.dead = openErr
		return errors.Join(err, openErr)
	}
	if err != nil {
		// A rename that may not be durable must not be built on.
		if _, renamed, _ := j.mark(markNew); renamed {
			j.dead = err
		}
		return fmt.Errorf("putting the new file in place: %w", errors.Join(err, closeErr))
	}
	after, err := j.file.Stat()
	if err == nil {
		freed.Shrunk = before.Size() - after.Size()
	}
	return err
}

// copyTo copies every key, but for the marks that the new file is to be without.
func (j *Journal) copyTo(ctx context.Context, db *bolt.DB) error {
	for _, name := range buckets {
		c := copier{j: j, ctx: ctx, db: db, bucket: name}
		if err := j.snap.scan(name, nil, nil, c.add); err != nil {
			return err
		}
		if name == bucketMeta {
			c.puts = append(c.puts, put{name, []byte(markNew), seal(name, []byte(markNew), []byte{1})})
		}
		if err := c.flush(); err != nil {
			return err
		}
	}
	return nil
}

type copier struct {
	j      *Journal
	ctx    context.Context
	db     *bolt.DB
	bucket string
	puts   []put
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
	c.puts = append(c.puts, put{c.bucket, it.key, sealed})
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
		for _, p := range c.puts {
			if err := w.putSealed(p.bucket, p.key, p.sealed); err != nil {
				return err
			}
		}
		return nil
	})
	c.puts, c.size = nil, 0
	return err
}

// compareTemp checks the new file before it replaces the old one: whole, and
// with as many keys.
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
		err = s.checkStructure()
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
