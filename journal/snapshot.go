package journal

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

// errStop ends [snapshot.scan] without an error.
var errStop = errors.New("stop")

// get returns the value of key, and whether the bucket has that key.
func (s *snapshot) get(bucket string, key []byte) ([]byte, bool, error) {
	it, found, err := s.find(bucket, key)
	if err != nil || !found {
		return nil, false, err
	}
	v, err := it.open(bucket)
	return v, err == nil, err
}

// scan calls fn, in order, for the keys of the bucket that have the prefix and are
// not less than from, until fn returns an error. [errStop] ends it without an error.
func (s *snapshot) scan(bucket string, prefix, from []byte, fn func(item) error) error {
	p, err := s.bucket(bucket)
	if err != nil {
		return err
	}
	if bytes.Compare(from, prefix) < 0 {
		from = prefix
	}
	return ignoreStop(walker{s: s, from: from, item: func(it item) error {
		if !bytes.HasPrefix(it.key, prefix) {
			return errStop
		}
		if err := it.checkNoBucket(); err != nil {
			return err
		}
		return fn(it)
	}}.walk(p, nil, 0))
}

// ignoreStop returns err, or nil if err only ends a loop.
func ignoreStop(err error) error {
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// count returns the number of keys in the bucket.
func (s *snapshot) count(bucket string) (n int, err error) {
	err = s.scan(bucket, nil, nil, func(item) error { n++; return nil })
	return n, err
}

// open returns the item's value without its checksum.
func (it item) open(bucket string) ([]byte, error) {
	sealed, err := it.value()
	if err != nil {
		return nil, err
	}
	return unseal(bucket, it.key, sealed)
}

// event reads event seq.
func (s *snapshot) event(seq uint64) (*event, error) {
	v, ok, err := s.get(bucketEvents, u64(seq))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, damaged("event %d is missing", seq)
	}
	ev, _, _, err := decodeEvent(seq, v)
	return ev, err
}

// A head is the number and hash of the newest event, and the totals after it.
type head struct {
	seq            uint64 // 0 if there is no event
	hash           hash
	begun, pending uint64 // entries
}

// head reads the newest event.
func (s *snapshot) head() (head, error) {
	it, ok, err := s.last(bucketEvents)
	if err != nil || !ok {
		return head{}, err
	}
	seq, ok := splitU64(it.key, 1)
	if !ok {
		return head{}, damaged("events has a key %x", it.key)
	}
	v, err := it.open(bucketEvents)
	if err != nil {
		return head{}, err
	}
	ev, _, sum, err := decodeEvent(seq[0], v)
	if err != nil {
		return head{}, err
	}
	return head{seq: seq[0], hash: sum, begun: ev.Begun, pending: ev.Pending}, nil
}

// lastEntry returns the number of the newest entry, or 0 if there is none.
func (s *snapshot) lastEntry() (uint64, error) {
	it, ok, err := s.last(bucketEntries)
	if err != nil || !ok {
		return 0, err
	}
	n, ok := splitU64(it.key, 2)
	if !ok {
		return 0, damaged("entries has a key %x", it.key)
	}
	return n[0], nil
}
