package boltfile

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// A contextReader fails once its context has ended.
type contextReader struct {
	ctx context.Context
	io.ReaderAt
}

func (r contextReader) ReadAt(b []byte, off int64) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.ReaderAt.ReadAt(b, off)
}

// ErrStop ends [Snapshot.Scan] without an error.
var ErrStop = errors.New("stop")

// Get returns the value of key, and whether the bucket has that key.
func (s *Snapshot) Get(bucket string, key []byte) ([]byte, bool, error) {
	it, found, err := s.find(bucket, key)
	if err != nil || !found {
		return nil, false, err
	}
	v, err := it.Open(bucket)
	return v, err == nil, err
}

// Scan calls fn, in order, for the keys of the bucket that have the prefix and are not less than
// from, until fn returns an error. [ErrStop] ends the scan without an error.
func (s *Snapshot) Scan(bucket string, prefix, from []byte, fn func(Item) error) error {
	p, err := s.bucket(bucket)
	if err != nil {
		return err
	}
	if bytes.Compare(from, prefix) < 0 {
		from = prefix
	}
	err = walker{s: s, from: from, item: func(it Item) error {
		if !bytes.HasPrefix(it.Key, prefix) {
			return ErrStop
		}
		if err := it.checkNoBucket(); err != nil {
			return err
		}
		return fn(it)
	}}.walk(p, nil, 0)
	if errors.Is(err, ErrStop) {
		return nil
	}
	return err
}

// Count returns the number of keys in the bucket.
func (s *Snapshot) Count(bucket string) (n int, err error) {
	err = s.Scan(bucket, nil, nil, func(Item) error { n++; return nil })
	return n, err
}

// Open returns the item's value without its checksum.
func (it Item) Open(bucket string) ([]byte, error) {
	sealed, err := it.Value()
	if err != nil {
		return nil, err
	}
	return it.src.r.unseal(bucket, it.Key, sealed)
}

// Has reports whether the bucket has the key, without reading its value.
func (s *Snapshot) Has(bucket string, key []byte) (bool, error) {
	_, found, err := s.find(bucket, key)
	return found, err
}

// Size returns the size of the item's value in the file.
func (it Item) Size() int64 { return it.size }
