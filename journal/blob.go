package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A blobKind is what a blob is: the first byte of a key in refs. Frozen.
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

// A blobID names a blob by its kind and content.
type blobID struct {
	kind blobKind
	hash hash
}

// key of the refs bucket that says that an entry needs the blob; without an
// entry, the prefix of all such keys.
func (r blobID) key(entry ...uint64) []byte {
	return append(append([]byte{byte(r.kind)}, r.hash[:]...), u64(entry...)...)
}

const refKeySize = 1 + sha256.Size + 8

// splitRef takes a key of refs apart.
func splitRef(key []byte) (r blobID, entry uint64, err error) {
	if len(key) != refKeySize || key[0] != byte(blobImage) && key[0] != byte(blobOps) && key[0] != byte(blobText) {
		return r, 0, damaged("refs has a key %x", key)
	}
	r.kind = blobKind(key[0])
	copy(r.hash[:], key[1:])
	return r, binary.BigEndian.Uint64(key[1+sha256.Size:]), nil
}

// How a blob is stored. Frozen. It is cut into chunks of chunkSize bytes; all
// but the last stand under hash | number u32, each as codec byte | bytes. The
// last stands under the hash alone, behind version | size u64, and is written
// last: that key makes the blob complete.
const (
	blobVersion    = 1
	blobHeaderSize = 1 + 8
	chunkSize      = 4 << 20

	codecRaw  = 0
	codecZstd = 1
)

// blobSize is the size that a blob's head tells; the head was read by copyBlob.
func blobSize(head []byte) uint64 {
	if len(head) < blobHeaderSize {
		return 0
	}
	return binary.BigEndian.Uint64(head[1:])
}

// chunks is how many chunks a blob of that size has.
func chunkCount(size uint64) uint64 {
	return max(1, (size+chunkSize-1)/chunkSize)
}

func chunkKey(h hash, n uint64) []byte {
	return binary.BigEndian.AppendUint32(bytes.Clone(h[:]), uint32(n))
}

// A codec packs and unpacks chunks. What it takes to compress is made when it is
// first needed: that costs more than to list what was done.
type codec struct {
	enc func() (*zstd.Encoder, error)
	dec func() (*zstd.Decoder, error)
}

func newCodec() *codec {
	return &codec{
		enc: sync.OnceValues(func() (*zstd.Encoder, error) {
			return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(chunkSize))
		}),
		dec: sync.OnceValues(func() (*zstd.Decoder, error) {
			return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(chunkSize), zstd.WithDecoderMaxWindow(chunkSize))
		}),
	}
}

// pack appends codec byte and bytes to b: compressed, where that can be done and
// is shorter.
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

// unpack reverses pack. More than chunkSize bytes is an error, however small
// they were packed.
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

// writeBlob calls put for the keys of the blob, in the order in which they must
// become durable.
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

// copyBlob writes the blob's bytes to w and checks them against its hash. It
// holds one chunk at a time.
func (c *codec) copyBlob(w io.Writer, s *snapshot, r blobID) (size uint64, err error) {
	head, ok, err := s.get(r.kind.bucket(), r.hash[:])
	if err != nil {
		return 0, err
	}
	if !ok || len(head) < blobHeaderSize || head[0] != blobVersion {
		return 0, damaged("%s %v is missing", r.kind.bucket(), r.hash)
	}
	size = blobSize(head)
	sum := sha256.New()
	last := chunkCount(size) - 1
	for n := range last {
		if err := c.copyChunk(io.MultiWriter(sum, w), s, r, n); err != nil {
			return 0, err
		}
	}
	raw, err := c.decompress(head[blobHeaderSize:])
	if err != nil {
		return 0, fmt.Errorf("%s %v: %w", r.kind.bucket(), r.hash, err)
	}
	sum.Write(raw)
	if last*chunkSize+uint64(len(raw)) != size || !bytes.Equal(sum.Sum(nil), r.hash[:]) {
		return 0, damaged("%s %v holds other bytes", r.kind.bucket(), r.hash)
	}
	_, err = w.Write(raw)
	return size, err
}

// copyChunk writes a chunk that is not the last.
func (c *codec) copyChunk(w io.Writer, s *snapshot, r blobID, n uint64) error {
	packed, ok, err := s.get(r.kind.bucket(), chunkKey(r.hash, n))
	if err != nil {
		return err
	}
	if !ok {
		return damaged("%s %v lacks chunk %d", r.kind.bucket(), r.hash, n)
	}
	raw, err := c.decompress(packed)
	if err != nil {
		return fmt.Errorf("%s %v: %w", r.kind.bucket(), r.hash, err)
	}
	if len(raw) != chunkSize {
		return damaged("%s %v: chunk %d has %d bytes", r.kind.bucket(), r.hash, n, len(raw))
	}
	_, err = w.Write(raw)
	return err
}

// readBlob is the blob's bytes, never nil.
func (c *codec) readBlob(s *snapshot, r blobID) ([]byte, error) {
	b := bytes.NewBuffer([]byte{})
	if _, err := c.copyBlob(b, s, r); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// A blobRef is an entry's need of a blob.
type blobRef struct {
	blobID
	entry uint64
}
