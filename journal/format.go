package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
)

// The files in the journal's folder.
const (
	fileName = "journal.db"
	tempName = "journal.db.new" // of a creation or compaction in progress
	lockName = "journal.lock"
)

// The keys of the meta bucket. Frozen.
const (
	keyFormat  = "format"  // u32, the number of this format
	keyID      = "id"      // the journal's id
	keyCreated = "created" // i64, in seconds since 1970

	// Marks of work that a crash may interrupt. The next open for writing finishes it.
	markNew     = "new"     // the file's name may not be durable yet
	markStaging = "staging" // u64, the entry whose blobs are being written
	markErasing = "erasing" // u64, the gc or forget event whose blobs are being removed
	markCompact = "compact" // what was removed is still in the file's free pages
)

// format is the number of this format. Frozen, as are its bucket, key and encoding, so that
// any mend can read it.
const format = 1

// The buckets. Frozen.
const (
	bucketMeta      = "meta"      // name → format, id and marks
	bucketEvents    = "events"    // event → the event
	bucketImages    = "images"    // hash → an image's bytes
	bucketOps       = "ops"       // hash → a list of ops, without bytes
	bucketTexts     = "texts"     // hash → free text
	bucketRefs      = "refs"      // kind, hash, entry → the entry needs that blob
	bucketEntries   = "entries"   // entry, event → the event is about that entry
	bucketBySession = "bysession" // session, inverted entry → the entry is of that session
	bucketPending   = "pending"   // entry → it is pending
)

var buckets = []string{
	bucketMeta, bucketEvents, bucketImages, bucketOps, bucketTexts,
	bucketRefs, bucketEntries, bucketBySession, bucketPending,
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal returns the value as it is stored: followed by a CRC32C over bucket, key and value.
// bbolt has no checksum of its data, and a damaged file may have a value under another
// key.
func seal(bucket string, key, val []byte) []byte {
	sealed := make([]byte, 0, len(val)+crc32.Size)
	return binary.BigEndian.AppendUint32(append(sealed, val...), checksum(bucket, key, val))
}

// unseal returns the value without its checksum. The error wraps ErrDamaged if that is wrong.
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

// u64 returns a key that consists of numbers.
func u64(numbers ...uint64) []byte {
	var key []byte
	for _, n := range numbers {
		key = binary.BigEndian.AppendUint64(key, n)
	}
	return key
}

// splitU64 splits a key of n numbers, and reports whether it is one.
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

// sessionPrefixSize is how much of the hash of a session is in a key of bysession. Frozen.
const sessionPrefixSize = 16

// sessionPrefix returns the prefix of all keys of bysession for a session.
func sessionPrefix(name []byte) []byte {
	sum := sha256.Sum256(name)
	return sum[:sessionPrefixSize:sessionPrefixSize]
}

// sessionKey returns a key of bysession. The session's name may be anything, so its hash is
// used. The bits of the entry's number are inverted, so that the newest entry comes first.
func sessionKey(name []byte, entry uint64) []byte {
	return append(sessionPrefix(name), u64(^entry)...)
}

// entryOfSessionKey returns the entry in a key of bysession.
func entryOfSessionKey(key []byte) (uint64, error) {
	if len(key) != sessionPrefixSize+8 {
		return 0, damaged("bysession has a key %x", key)
	}
	return ^binary.BigEndian.Uint64(key[sessionPrefixSize:]), nil
}
