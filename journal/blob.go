package journal

import (
	"crypto/sha256"
	"encoding/binary"

	"mend/internal/boltfile"
)

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
