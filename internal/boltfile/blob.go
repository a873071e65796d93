package boltfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"

	"mend/change"
)

// A Hash is the key of a blob.
type Hash = change.Hash

// The encoding of a blob. Frozen. A blob is cut into chunks of ChunkSize bytes. Each chunk except the last has the key
// hash | number u32 and the value codec byte | bytes. The last chunk has the hash alone as key, and version | size u64
// precede its value. It is written last and makes the blob complete.
const (
	blobVersion    = 1
	blobHeaderSize = 1 + 8
	ChunkSize      = 4 << 20

	codecRaw  = 0
	codecZstd = 1
)

// BlobSize returns the size of a blob as its head has it, the value under its hash; 0 if the head is cut short. Only
// [Snapshot.CopyBlob] checks it.
func BlobSize(head []byte) uint64 {
	if len(head) < blobHeaderSize {
		return 0
	}
	return binary.BigEndian.Uint64(head[1:])
}

// ChunkCount returns the number of chunks of a blob of the given size.
func ChunkCount(size uint64) uint64 {
	return max(1, (size+ChunkSize-1)/ChunkSize)
}

// ChunkKey returns the key of chunk n of a blob.
func ChunkKey(h Hash, n uint64) []byte {
	return binary.BigEndian.AppendUint32(bytes.Clone(h[:]), uint32(n))
}

// The encoder and the decoder are created on first use, since creating one takes longer than listing the entries of a
// journal. All files share them: their tables are large, and a file is opened for each change.
var (
	encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(ChunkSize), zstd.WithLowerEncoderMem(true), zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
	})
	decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(ChunkSize), zstd.WithDecoderMaxWindow(ChunkSize))
	})
)

// Compress appends to b the codec byte and the bytes, compressed if that is shorter.
func Compress(b, raw []byte) []byte {
	at := len(b)
	if enc, err := encoder(); err == nil {
		b = enc.EncodeAll(raw, append(b, codecZstd))
	}
	if len(b) == at || len(b)-at > len(raw) {
		b = append(append(b[:at], codecRaw), raw...)
	}
	return b
}

// Decompress reverses Compress. More than ChunkSize bytes is an error. Errors about damage wrap the error damage.
func Decompress(packed []byte, damage error) ([]byte, error) {
	if len(packed) == 0 {
		return nil, fmt.Errorf("%w: a chunk is empty", damage)
	}
	raw := packed[1:]
	switch packed[0] {
	case codecRaw:
	case codecZstd:
		dec, err := decoder()
		if err != nil {
			return nil, fmt.Errorf("starting to unpack: %w", err)
		}
		if raw, err = dec.DecodeAll(raw, nil); err != nil {
			return nil, fmt.Errorf("%w: a chunk cannot be unpacked: %w", damage, err)
		}
	default:
		return nil, fmt.Errorf("%w: a chunk has codec %d", damage, packed[0])
	}
	if len(raw) > ChunkSize {
		return nil, fmt.Errorf("%w: a chunk has %d bytes", damage, len(raw))
	}
	return raw, nil
}

// WriteBlob calls put for each key of the blob, in the order that the keys must become durable.
func WriteBlob(h Hash, data []byte, put func(key, val []byte) error) error {
	size := uint64(len(data))
	for n := range ChunkCount(size) {
		from := n * ChunkSize
		if err := put(PackChunk(h, size, n, data[from:min(from+ChunkSize, size)])); err != nil {
			return err
		}
	}
	return nil
}

// PackChunk returns key and value of chunk n, with the given data, of a blob of the given size.
func PackChunk(h Hash, size, n uint64, data []byte) (key, val []byte) {
	if n+1 < ChunkCount(size) {
		return ChunkKey(h, n), Compress(nil, data)
	}
	return bytes.Clone(h[:]), Compress(binary.BigEndian.AppendUint64([]byte{blobVersion}, size), data)
}

// CopyBlob writes the blob's bytes to w, checks them against its hash, and returns their number. It holds one chunk in
// memory at a time. Chunks before the last one are written before the hash is known.
func (s *Snapshot) CopyBlob(w io.Writer, bucket string, h Hash) (size uint64, err error) {
	head, ok, err := s.Get(bucket, h[:])
	if err != nil {
		return 0, err
	}
	if !ok || len(head) < blobHeaderSize || head[0] != blobVersion {
		return 0, s.damageError("%s %v is missing", bucket, h)
	}
	size = BlobSize(head)
	sum := sha256.New()
	for n, last := uint64(0), ChunkCount(size)-1; n <= last; n++ {
		packed, want := head[blobHeaderSize:], size-n*ChunkSize
		if n < last {
			want = ChunkSize
			if packed, ok, err = s.Get(bucket, ChunkKey(h, n)); err != nil {
				return 0, err
			}
			if !ok {
				return 0, s.damageError("%s %v lacks chunk %d", bucket, h, n)
			}
		}
		raw, err := Decompress(packed, s.damage)
		if err != nil {
			return 0, fmt.Errorf("%s %v: %w", bucket, h, err)
		}
		sum.Write(raw)
		if uint64(len(raw)) != want || n == last && !bytes.Equal(sum.Sum(nil), h[:]) {
			return 0, s.damageError("%s %v holds other bytes in chunk %d", bucket, h, n)
		}
		if _, err := w.Write(raw); err != nil {
			return 0, err
		}
	}
	return size, nil
}

// maxRoom limits the memory that is allocated for a blob at once, whatever size its head has: no record is larger.
const maxRoom = math.MaxInt32

// Blob returns the blob's bytes, never nil without an error.
func (s *Snapshot) Blob(bucket string, h Hash) ([]byte, error) {
	b := bytes.NewBuffer([]byte{})
	if head, _, _ := s.Get(bucket, h[:]); head != nil { // CopyBlob reports the error
		b.Grow(int(min(BlobSize(head), maxRoom)))
	}
	if _, err := s.CopyBlob(b, bucket, h); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
