package boltfile

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Seal returns the stored form of a value: the value, followed by a CRC32C over bucket, key and value. bbolt has no
// checksum of its data, and a damaged file may have a value under another key.
func Seal(bucket string, key, val []byte) []byte {
	sealed := make([]byte, 0, len(val)+crc32.Size)
	return binary.BigEndian.AppendUint32(append(sealed, val...), checksum(bucket, key, val))
}

// unseal returns the value without its checksum, which it verifies.
func (r *source) unseal(bucket string, key, sealed []byte) ([]byte, error) {
	n := len(sealed) - crc32.Size
	if n < 0 || binary.BigEndian.Uint32(sealed[n:]) != checksum(bucket, key, sealed[:n]) {
		return nil, r.damageError("the value of %s/%x has a wrong checksum", bucket, key)
	}
	return sealed[:n:n], nil
}

func checksum(bucket string, key, val []byte) uint32 {
	sum := crc32.Update(0, castagnoli, []byte(bucket))
	sum = crc32.Update(sum, castagnoli, key)
	return crc32.Update(sum, castagnoli, val)
}

// U64 returns a key that consists of numbers.
func U64(numbers ...uint64) []byte {
	var key []byte
	for _, n := range numbers {
		key = binary.BigEndian.AppendUint64(key, n)
	}
	return key
}

// SplitU64 splits a key of n numbers, and reports whether the key is valid.
func SplitU64(key []byte, n int) ([]uint64, bool) {
	if len(key) != 8*n {
		return nil, false
	}
	numbers := make([]uint64, n)
	for i := range numbers {
		numbers[i] = binary.BigEndian.Uint64(key[8*i:])
	}
	return numbers, true
}

// sessionHashSize is the number of bytes of a hash in a [SessionKey]. Frozen.
const sessionHashSize = 16

// SessionKey returns a key of the hash of a session's name, which may be any bytes, and numbers. The bits of the numbers
// are inverted, so that the greatest comes first. Frozen.
func SessionKey(name string, numbers ...uint64) []byte {
	sum := sha256.Sum256([]byte(name))
	key := sum[:sessionHashSize:sessionHashSize]
	for _, n := range numbers {
		key = binary.BigEndian.AppendUint64(key, ^n)
	}
	return key
}

// SplitSessionKey returns the number in a [SessionKey] with one number, and whether the key is valid.
func SplitSessionKey(key []byte) (n uint64, ok bool) {
	if len(key) != sessionHashSize+8 {
		return 0, false
	}
	return ^binary.BigEndian.Uint64(key[sessionHashSize:]), true
}
