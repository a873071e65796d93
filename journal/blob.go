package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"
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

// key returns the key in refs that says that an entry needs the blob. Without an entry
// it returns the prefix of all such keys.
func (id blobID) key(entry ...uint64) []byte {
	return append(append([]byte{byte(id.kind)}, id.hash[:]...), u64(entry...)...)
}

const refKeySize = 1 + sha256.Size + 8

// splitRef splits a key of refs.
func splitRef(key []byte) (id blobID, entry uint64, err error) {
	if len(key) != refKeySize || key[0] != byte(blobImage) && key[0] != byte(blobOps) && key[0] != byte(blobText) {
		return id, 0, damaged("refs has a key %x", key)
	}
	id.kind = blobKind(key[0])
	copy(id.hash[:], key[1:])
	return id, binary.BigEndian.Uint64(key[1+sha256.Size:]), nil
}

// The encoding of a blob. Frozen. A blob is cut into chunks of chunkSize bytes. The key
// of all chunks but the last is hash | number u32, the value codec byte | bytes. The key
// of the last chunk is the hash alone, and version | size u64 precede its value. It is
// written last and makes the blob complete.
const (
	blobVersion    = 1
	blobHeaderSize = 1 + 8
	chunkSize      = 4 << 20

	codecRaw  = 0
	codecZstd = 1
)

// blobSize returns the size in the head of a blob that copyBlob has read without an error.
func blobSize(head []byte) uint64 {
	if len(head) < blobHeaderSize {
		return 0
	}
	return binary.BigEndian.Uint64(head[1:])
}

// chunkCount returns how many chunks a blob of that size has.
func chunkCount(size uint64) uint64 {
	return max(1, (size+chunkSize-1)/chunkSize)
}

func chunkKey(h hash, n uint64) []byte {
	return binary.BigEndian.AppendUint32(bytes.Clone(h[:]), uint32(n))
}

// A codec compresses and decompresses chunks. Encoder and decoder are created when they
// are first needed, since creating one takes longer than listing the entries.
type codec struct {
	enc func() (*zstd.Encoder, error)
	dec func() (*zstd.Decoder, error)
}

func newCodec() *codec {
	return &codec{
		enc: sync.OnceValues(func() (*zstd.Encoder, error) {
			return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(chunkSize), zstd.WithLowerEncoderMem(true))
		}),
		dec: sync.OnceValues(func() (*zstd.Decoder, error) {
			return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(chunkSize), zstd.WithDecoderMaxWindow(chunkSize))
		}),
	}
}

// compress appends the codec byte and the bytes to b, compressed if that is shorter.
func (c *codec) compress(b, raw []byte) []byte {
	at := len(b)
	if enc, err := c.enc(); err == nil {
		b = enc.EncodeAll(raw, append(b, codecZstd))
	}
	if len(b) == at || len(b)-at > len(raw) {
		b = append(append(b[:at], codecRaw), raw...)
	}
	return b
}

// decompress reverses compress. More than chunkSize bytes is an error.
func (c *codec) decompress(packed []byte) ([]byte, error) {
	if len(packed) == 0 {
		return nil, damaged("a chunk is empty")
	}
	raw := packed[1:]
	switch packed[0] {
	case codecRaw:
	case codecZstd:
		dec, err := c.dec()
		if err != nil {
			return nil, fmt.Errorf("starting to unpack: %w", err)
		}
		if raw, err = dec.DecodeAll(raw, nil); err != nil {
			return nil, damaged("a chunk cannot be unpacked: %v", err)
		}
	default:
		return nil, damaged("a chunk has codec %d", packed[0])
	}
	if len(raw) > chunkSize {
		return nil, damaged("a chunk has %d bytes", len(raw))
	}
	return raw, nil
}

// writeBlob calls put for each key of the blob, in the order in which they must become
// durable.
func (c *codec) writeBlob(h hash, data []byte, put func(key, val []byte) error) error {
	size, rest := uint64(len(data)), data
	for n := range chunkCount(size) - 1 {
		if err := put(chunkKey(h, n), c.compress(nil, rest[:chunkSize])); err != nil {
			return err
		}
		rest = rest[chunkSize:]
	}
	head := binary.BigEndian.AppendUint64([]byte{blobVersion}, size)
	return put(h[:], c.compress(head, rest))
}

// copyBlob writes the blob's bytes to w, checks them against its hash, and returns their
// number. It holds one chunk in memory at a time.
func (c *codec) copyBlob(w io.Writer, s *snapshot, id blobID) (size uint64, err error) {
	head, ok, err := s.get(id.kind.bucket(), id.hash[:])
	if err != nil {
		return 0, err
	}
	if !ok || len(head) < blobHeaderSize || head[0] != blobVersion {
		return 0, damaged("%s %v is missing", id.kind.bucket(), id.hash)
	}
	size = blobSize(head)
	sum := sha256.New()
	last := chunkCount(size) - 1
	for n := range last {
		if err := c.copyChunk(io.MultiWriter(sum, w), s, id, n); err != nil {
			return 0, err
		}
	}
	raw, err := c.decompress(head[blobHeaderSize:])
	if err != nil {
		return 0, fmt.Errorf("%s %v: %w", id.kind.bucket(), id.hash, err)
	}
	sum.Write(raw)
	if last*chunkSize+uint64(len(raw)) != size || !bytes.Equal(sum.Sum(nil), id.hash[:]) {
		return 0, damaged("%s %v holds other bytes", id.kind.bucket(), id.hash)
	}
	_, err = w.Write(raw)
	return size, err
}

// copyChunk writes chunk n, which is not the last one, to w.
func (c *codec) copyChunk(w io.Writer, s *snapshot, id blobID, n uint64) error {
	packed, ok, err := s.get(id.kind.bucket(), chunkKey(id.hash, n))
	if err != nil {
		return err
	}
	if !ok {
		return damaged("%s %v lacks chunk %d", id.kind.bucket(), id.hash, n)
	}
	raw, err := c.decompress(packed)
	if err != nil {
		return fmt.Errorf("%s %v: %w", id.kind.bucket(), id.hash, err)
	}
	if len(raw) != chunkSize {
		return damaged("%s %v: chunk %d has %d bytes", id.kind.bucket(), id.hash, n, len(raw))
	}
	_, err = w.Write(raw)
	return err
}

// maxRoom is how much room is made for a blob at once, whatever size its head has: no
// record is larger.
const maxRoom = math.MaxInt32

// readBlob returns the blob's bytes, never nil without an error.
func (c *codec) readBlob(s *snapshot, id blobID) ([]byte, error) {
	b := bytes.NewBuffer([]byte{})
	if head, _, _ := s.get(id.kind.bucket(), id.hash[:]); head != nil { // copyBlob reports what is wrong with it
		b.Grow(int(min(blobSize(head), maxRoom)))
	}
	if _, err := c.copyBlob(b, s, id); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// A blobRef says that an entry needs a blob.
type blobRef struct {
	blobID
	entry uint64
}
