package journal

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// The buckets. Frozen.
const (
	bucketMeta      = "meta"      // name → what the file is, and what was left undone
	bucketEvents    = "events"    // event → the event
	bucketImages    = "images"    // hash → an image's bytes
	bucketOps       = "ops"       // hash → a list of ops, without bytes
	bucketTexts     = "texts"     // hash → free text
	bucketRefs      = "refs"      // kind, hash, entry → the entry needs that blob
	bucketEntries   = "entries"   // entry, event → the event is about that entry
	bucketBySession = "bysession" // session, entry backwards → an entry of that session
	bucketPending   = "pending"   // entry → it is pending
)

var buckets = []string{
	bucketMeta, bucketEvents, bucketImages, bucketOps, bucketTexts,
	bucketRefs, bucketEntries, bucketBySession, bucketPending,
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal is the value as it is stored: with a CRC32C over bucket, key and value,
// since bbolt has no checksum on its data, and a value may turn up under
// another key.
func seal(bucket string, key, val []byte) []byte {
	sealed := make([]byte, 0, len(val)+crc32.Size)
	return binary.BigEndian.AppendUint32(append(sealed, val...), checksum(bucket, key, val))
}

// unseal is the value that was sealed, or ErrDamaged.
func unseal(bucket string, key, sealed []byte) ([]byte, error) {
	n := len(sealed) - crc32.Size
	if n < 0 || binary.BigEndian.Uint32(sealed[n:]) != checksum(bucket, key, sealed[:n]) {
		return nil, damaged("the value of %s/%x has a wrong checksum", bucket, key)
	}
	return sealed[:n:n], nil
}

func checksum(bucket string, key, val []byte) uint32 {
	sum := crc32.Update(0, castagnoli, []byte(bucket))
	sum = crc32.Update(sum, castagnoli, key)
	return crc32.Update(sum, castagnoli, val)
}

// get is the value under key, and whether there is one.
func (s *snapshot) get(bucket string, key []byte) ([]byte, bool, error) {
	t, err := s.tree(bucket)
	if err != nil {
		return nil, false, err
	}
	p, i, found, err := t.find(key)
	if err != nil || !found {
		return nil, false, err
	}
	sealed, err := item{key: key, p: p, i: i}.value()
	if err != nil {
		return nil, false, err
	}
	v, err := unseal(bucket, key, sealed)
	return v, err == nil, err
}

// scan calls fn for the keys of the bucket that begin with prefix and are not
// below from, in order; [errStop] ends it.
func (s *snapshot) scan(bucket string, prefix, from []byte, fn func(item) error) error {
	t, err := s.tree(bucket)
	if err != nil {
		return err
	}
	if bytes.Compare(from, prefix) < 0 {
		from = prefix
	}
	return t.ascend(from, func(it item) error {
		if !bytes.HasPrefix(it.key, prefix) {
			return errStop
		}
		return fn(it)
	})
}

// count is the number of keys in the bucket.
func (s *snapshot) count(bucket string) (n int, err error) {
	err = s.scan(bucket, nil, nil, func(item) error { n++; return nil })
	return n, err
}

// open is the item's value with its checksum taken off.
func (it item) open(bucket string) ([]byte, error) {
	sealed, err := it.value()
	if err != nil {
		return nil, err
	}
	return unseal(bucket, it.key, sealed)
}

// u64 makes a key of numbers.
func u64(numbers ...uint64) []byte {
	var key []byte
	for _, n := range numbers {
		key = binary.BigEndian.AppendUint64(key, n)
	}
	return key
}

// splitU64 takes such a key apart, where it has that many numbers.
func splitU64(key []byte, n int) ([]uint64, bool) {
	if len(key) != 8*n {
		return nil, false
	}
	numbers := make([]uint64, n)
	for i := range numbers {
		numbers[i] = binary.BigEndian.Uint64(key[8*i:])
	}
	return numbers, true
}
