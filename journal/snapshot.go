package journal

import (
	"bytes"
	"context"
	"io"

	"mend/journal/boltread"
)

// A snapshot is the journal after one transaction. It checks the checksum of each
// value it reads.
type snapshot struct{ *boltread.Snapshot }

func newSnapshot(r io.ReaderAt, size int64) (*snapshot, error) {
	s, err := boltread.Open(r, size)
	if err != nil {
		return nil, err
	}
	return &snapshot{s}, nil
}

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

// get returns the value of key, and whether the bucket has that key.
func (s *snapshot) get(bucket string, key []byte) ([]byte, bool, error) {
	b, err := s.Bucket(bucket)
	if err != nil {
		return nil, false, err
	}
	sealed, found, err := b.Get(key)
	if err != nil || !found {
		return nil, false, err
	}
	v, err := unseal(bucket, key, sealed)
	return v, err == nil, err
}

// scan calls fn, in order, for the keys of the bucket that have the prefix and are
// not less than from, until fn returns an error. [boltread.ErrStop] ends it without
// an error.
func (s *snapshot) scan(bucket string, prefix, from []byte, fn func(boltread.Item) error) error {
	b, err := s.Bucket(bucket)
	if err != nil {
		return err
	}
	if bytes.Compare(from, prefix) < 0 {
		from = prefix
	}
	return b.Ascend(from, func(it boltread.Item) error {
		if !bytes.HasPrefix(it.Key, prefix) {
			return boltread.ErrStop
		}
		return fn(it)
	})
}

// count returns the number of keys in the bucket.
func (s *snapshot) count(bucket string) (n int, err error) {
	err = s.scan(bucket, nil, nil, func(boltread.Item) error { n++; return nil })
	return n, err
}

// openItem returns the item's value without its checksum.
func openItem(bucket string, it boltread.Item) ([]byte, error) {
	sealed, err := it.Value()
	if err != nil {
		return nil, err
	}
	return unseal(bucket, it.Key, sealed)
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
	b, err := s.Bucket(bucketEvents)
	if err != nil {
		return head{}, err
	}
	it, ok, err := b.Last()
	if err != nil || !ok {
		return head{}, err
	}
	seq, ok := splitU64(it.Key, 1)
	if !ok {
		return head{}, damaged("events has a key %x", it.Key)
	}
	v, err := openItem(bucketEvents, it)
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
	b, err := s.Bucket(bucketEntries)
	if err != nil {
		return 0, err
	}
	it, ok, err := b.Last()
	if err != nil || !ok {
		return 0, err
	}
	n, ok := splitU64(it.Key, 2)
	if !ok {
		return 0, damaged("entries has a key %x", it.Key)
	}
	return n[0], nil
}
