package boltfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	bolt "go.etcd.io/bbolt"

	"mend/internal/ownfile"
)

// create creates an empty file. bbolt's own creation is not safe: a file never opens after an interrupted creation.
// So the file is created under another name, and renamed when it is complete and durable.
func (f *File) create() error {
	err := f.makeTemp(func(db *bolt.DB) error {
		return db.Update(func(tx *bolt.Tx) error {
			for _, name := range f.spec.Buckets {
				if _, err := tx.CreateBucket([]byte(name)); err != nil {
					return err
				}
			}
			w := &Tx{tx: tx, f: f}
			return errors.Join(f.spec.Fill(w), w.Put(Meta, []byte(MarkNew), []byte{1}))
		})
	})
	if err == nil {
		err = f.installTemp()
	}
	if err != nil {
		return fmt.Errorf("creating it: %w", err)
	}
	return nil
}

// makeTemp creates the temporary file, calls fill to write to it, and closes it when everything is
// durable. On an error the file is removed.
func (f *File) makeTemp(fill func(*bolt.DB) error) error {
	if err := f.dropTemp("make " + f.temp()); err != nil {
		return err
	}
	err := recoverPanics(f.spec.Damaged, func() error {
		db, err := bolt.Open(f.path(f.temp()), 0o600, f.boltOptions(func(name string, flag int, mode os.FileMode) (*os.File, error) {
			file, err := os.OpenFile(name, flag|os.O_EXCL, mode)
			if err != nil {
				return nil, err
			}
			if err := errors.Join(file.Chmod(mode), f.opts.Step("fill "+f.temp())); err != nil {
				return nil, errors.Join(err, file.Close())
			}
			return file, nil
		}))
		if err != nil {
			return err
		}
		db.AllocSize = growth
		return errors.Join(fill(db), db.Sync(), db.Close())
	})
	if err == nil {
		err = f.opts.Step("made " + f.temp())
	}
	if err != nil {
		return errors.Join(err, f.dropTemp("clean up"))
	}
	return nil
}

// installTemp durably renames the temporary file to the file's name. Nothing may be written to it
// before the folder is synced: a power cut could bring the old file back.
func (f *File) installTemp() error {
	err := f.opts.Step("rename " + f.temp())
	if err == nil {
		err = os.Rename(f.path(f.temp()), f.Path())
	}
	if err != nil {
		return errors.Join(err, f.dropTemp("clean up"))
	}
	if err := f.opts.Step("sync folder"); err != nil {
		return err
	}
	return ownfile.SyncDir(f.dir)
}

// dropTemp removes the file of an interrupted creation or compaction, which may hold text that should have been
// forgotten. step is the name of the call for the hook.
func (f *File) dropTemp(step string) error {
	if err := f.opts.Step(step); err != nil {
		return err
	}
	if err := os.Remove(f.path(f.temp())); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Compact writes a new file without the removed bytes. A crash leaves the old file or the new one,
// either of them complete.
//
// It does not use bolt.Compact, which checks no checksums, has no context, and hides the error of a full disk.
func (f *File) Compact(ctx context.Context, omit ...string) error {
	if err := f.Snap.CheckStructure(f.spec.Buckets); err != nil {
		return err
	}
	err := f.makeTemp(func(db *bolt.DB) error { return f.copyTo(ctx, db, omit) })
	if err == nil {
		err = f.compareTemp()
	}
	if err != nil {
		return fmt.Errorf("rewriting it: %w", errors.Join(err, f.dropTemp("clean up")))
	}
	// Windows does not rename over an open file.
	if err := f.opts.Step("close " + f.spec.Name); err != nil {
		return err
	}
	closeErr := f.detach()
	err = f.installTemp()
	if openErr := f.attach(); openErr != nil {
		f.Fatal = openErr
		return errors.Join(err, openErr)
	}
	if err != nil {
		// The rename may not be durable: nothing may be written after it.
		if _, renamed, _ := f.Mark(MarkNew); renamed {
			f.Fatal = err
		}
		return fmt.Errorf("putting the new file in place: %w", errors.Join(err, closeErr))
	}
	return nil
}

// copyTo copies every key, except the keys of meta listed in omit, and sets MarkNew.
func (f *File) copyTo(ctx context.Context, db *bolt.DB, omit []string) error {
	omit = append(omit, MarkNew)
	for _, bucket := range f.spec.Buckets {
		var values []Value
		size := 0
		flush := func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := f.opts.Step("copy " + bucket); err != nil {
				return err
			}
			batch := values
			values, size = nil, 0
			return db.Update(func(tx *bolt.Tx) error {
				if _, err := tx.CreateBucketIfNotExists([]byte(bucket)); err != nil {
					return err
				}
				return (&Tx{tx: tx, f: f}).PutAll(batch)
			})
		}
		err := f.Snap.Scan(bucket, nil, nil, func(it Item) error {
			val, err := it.Open(bucket)
			if err != nil || bucket == Meta && slices.Contains(omit, string(it.Key)) {
				return err
			}
			v := Value{bucket, it.Key, val}
			values = append(values, v)
			if size += v.Cost(); size < f.opts.BatchSize {
				return nil
			}
			return flush()
		})
		if bucket == Meta {
			values = append(values, Value{Meta, []byte(MarkNew), []byte{1}})
		}
		if err == nil {
			err = flush()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// compareTemp checks the structure and the number of keys of the new file before it
// replaces the old one.
func (f *File) compareTemp() error {
	file, err := ownfile.Open(f.path(f.temp()), os.O_RDONLY)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	s, err := NewSnapshot(file, info.Size(), f.spec.Damaged)
	if err != nil {
		return err
	}
	if err := s.CheckStructure(f.spec.Buckets); err != nil {
		return err
	}
	for _, name := range f.spec.Buckets {
		want, err := f.Snap.Count(name)
		got, errGot := s.Count(name)
		if err := errors.Join(err, errGot); err != nil {
			return err
		}
		if name != Meta && want != got {
			return fmt.Errorf("the copy of bucket %s has %d keys, want %d", name, got, want)
		}
	}
	return nil
}
