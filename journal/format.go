package journal

import (
	"crypto/sha256"
	"encoding/binary"

	"mend/internal/boltfile"
)

// The files in the journal's folder.
const (
	fileName = "journal.db"
	tempName = fileName + boltfile.TempSuffix // during a creation or compaction
	lockName = "journal.lock"
)

// The keys of the meta bucket. Frozen.
const (
	keyFormat  = "format"  // u32, the number of this format
	keyID      = "id"      // the journal's id
	keyCreated = "created" // i64, in seconds since 1970

	// Marks of work that a crash may interrupt. The next open for writing finishes it.
	markNew     = boltfile.MarkNew
	markStaging = "staging" // u64, the entry whose blobs are being written
	markErasing = "erasing" // u64, the gc or forget event whose blobs are being removed
	markCompact = "compact" // removed bytes are still in the file's free pages
)

// format is the number of this format. Its bucket, key and encoding are frozen, too, so that any
// version of mend can read it.
const format = 1

// The buckets. Frozen.
const (
	bucketMeta      = boltfile.Meta // name → format, id and marks
	bucketEvents    = "events"      // event → the event
	bucketImages    = "images"      // hash → an image's bytes
	bucketOps       = "ops"         // hash → a list of ops, without bytes
	bucketTexts     = "texts"       // hash → free text
	bucketRefs      = "refs"        // kind, hash, entry → the entry needs that blob
	bucketEntries   = "entries"     // entry, event → the event is about that entry
	bucketBySession = "bysession"   // session, entry → the entry is of that session, see [boltfile.SessionKey]
	bucketPending   = "pending"     // entry → it is pending
)

var buckets = []string{
	bucketMeta, bucketEvents, bucketImages, bucketOps, bucketTexts,
	bucketRefs, bucketEntries, bucketBySession, bucketPending,
}

// A blobKind is the kind of a blob, and the first byte of a key in refs. Frozen.
type blobKind byte

const (
	blobImage blobKind = 'i'
	blobOps   blobKind = 'o'
	blobText  blobKind = 't'
)

func (k blobKind) bucket() string {
	switch k {
	case blobImage:
		return bucketImages
	case blobOps:
		return bucketOps
	default:
		return bucketTexts
	}
}

// A blobID names a blob by its kind and the hash of its bytes.
type blobID struct {
	kind blobKind
	hash hash
}

// key returns the key in refs for an entry that needs the blob. Without an entry it returns the
// prefix of all such keys.
func (id blobID) key(entry ...uint64) []byte {
	return append(append([]byte{byte(id.kind)}, id.hash[:]...), boltfile.U64(entry...)...)
}

const refKeySize = 1 + sha256.Size + 8

func splitRef(key []byte) (id blobID, entry uint64, err error) {
	if len(key) != refKeySize || key[0] != byte(blobImage) && key[0] != byte(blobOps) && key[0] != byte(blobText) {
		return id, 0, damageError("refs has a key %x", key)
	}
	id.kind = blobKind(key[0])
	copy(id.hash[:], key[1:])
	return id, binary.BigEndian.Uint64(key[1+sha256.Size:]), nil
}

// A blobRef records that an entry needs a blob.
type blobRef struct {
	blobID
	entry uint64
}
