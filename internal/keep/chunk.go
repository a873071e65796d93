package keep

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"io/fs"

	"mend/change"
	"mend/internal/boltfile"
)

// A session is stored as one stream of its records, cut into chunks. The position of a cut depends on the bytes before
// it, and on whether a part follows, so unchanged records give the same chunks again, wherever they are in the stream.
// As long as messages are small, a cut between two records is before a message, so that the next copy can begin there.
// A chunk is a list of pieces, and the pieces of a record are adjacent. The format is frozen.
//
//	piece:  byte     1 if it begins a record, then:
//	                   byte kind, then project, session, message and part, each as uvarint length and bytes
//	                   uvarint mode
//	                   uvarint size of the record
//	        uvarint  length
//	        bytes
//
// The positions of the cuts are not frozen: another rule only makes other chunks in the next copy.
//
// The chunks of the previous state keep their ends, so that a turn adds only its own bytes and does not store the chunk
// before it again.
const (
	minTurn  = 8 << 10   // a smaller last chunk of the previous state is extended
	minChunk = 64 << 10  // no earlier cut
	maxPart  = 256 << 10 // no earlier cut before a part
	maxChunk = 512 << 10 // greatest size
	cutMask  = 3         // bits of a sum at the end of a line or a record: a quarter of these ends are cuts
	tail     = 1 << 10   // bytes before a cut that decide it
)

type hash = boltfile.Hash

// A cutter cuts a stream into chunks.
type cutter struct {
	chunk    []byte
	n        int                              // chunks so far
	emit     func(chunk []byte) (hash, error) // must not keep the chunk
	lines    bool                             // the first line has a chunk of its own, as it begins with the size of the transcript
	previous []hash                           // the previous state's chunks; nil once one differs, except the first
	size     func(hash) int                   // the size of a chunk of the previous state, 0 if it is not known
	target   int                              // the size at which the previous state ended this chunk; 0 for none
}

// end returns the size at which the previous state ended this chunk; 0 if that is unknown, or the chunk is already
// larger.
func (c *cutter) end() int {
	if c.target <= len(c.chunk) {
		return 0
	}
	return c.target
}

// begin cuts the stream before a record if a cut is allowed there.
func (c *cutter) begin(ref change.Ref) error {
	if c.end() > 0 {
		return nil
	}
	least := minChunk
	if ref.Kind == change.KindPart {
		least = maxPart
	}
	if len(c.chunk) < least || !isCut(c.chunk) {
		return nil
	}
	return c.flush()
}

// add adds a record to the stream.
func (c *cutter) add(ref change.Ref, mode fs.FileMode, data []byte) error {
	b := binary.AppendUvarint(change.AppendRef(append(c.chunk, 1), ref), uint64(mode))
	c.chunk = binary.AppendUvarint(b, uint64(len(data)))
	for first := true; first || len(data) > 0; first = false {
		if !first {
			c.chunk = append(c.chunk, 0)
		}
		n, cut := c.cut(data, mode != 0)
		c.chunk = append(binary.AppendUvarint(c.chunk, uint64(n)), data[:n]...)
		data = data[n:]
		if cut {
			if err := c.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// cut returns how much of the data goes into the chunk, and whether the chunk ends there: at the end of a line if it
// has lines, or because it is full.
func (c *cutter) cut(data []byte, lines bool) (n int, cut bool) {
	if end := c.end(); end > 0 {
		if n, full, ok := fit(len(data), end-len(c.chunk)); ok {
			return n, full
		}
		c.previous, c.target = nil, 0
	}
	if i := bytes.IndexByte(data, '\n'); c.lines && c.n == 0 && i >= 0 && i < minChunk {
		return i + 1, true
	}
	most := maxChunk - len(c.chunk)
	for at := max(0, minChunk-len(c.chunk)); lines && at < min(len(data), most); {
		i := bytes.IndexByte(data[at:min(len(data), most)], '\n')
		if i < 0 {
			break
		}
		if at += i + 1; isCut(data[:at]) {
			return at, true
		}
	}
	if len(data) >= most {
		return max(most, 0), true
	}
	return len(data), false
}

// fit returns how many bytes of a piece, of at most size bytes, go into the room that a chunk has, and whether the
// chunk is full then. ok is false if no piece fits exactly.
func fit(size, room int) (n int, full, ok bool) {
	length := func(n int) int { return len(binary.AppendUvarint(nil, uint64(n))) + n }
	if length(size) <= room {
		return size, length(size) == room, true
	}
	for n := room - 1; n > max(0, room-binary.MaxVarintLen64); n-- {
		if length(n) == room {
			return n, true, true
		}
	}
	return 0, false, false
}

// isCut reports whether a chunk may end after b.
func isCut(b []byte) bool {
	return crc32.Checksum(b[max(0, len(b)-tail):], castagnoli)&cutMask == 0
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// flush ends the chunk, unless it is empty.
func (c *cutter) flush() error {
	if len(c.chunk) == 0 {
		return nil
	}
	h, err := c.emit(c.chunk)
	if c.n > 0 && c.n < len(c.previous) && c.previous[c.n] != h {
		c.previous = nil
	}
	c.chunk, c.n, c.target = c.chunk[:0], c.n+1, 0
	if c.n < len(c.previous) {
		c.target = c.size(c.previous[c.n])
	}
	if c.target < minTurn && c.n == len(c.previous)-1 {
		c.target = 0
	}
	return err
}

// A joiner rebuilds the records of a stream.
type joiner struct {
	ops  []change.Op
	to   func(change.Ref) io.Writer // from [Keep.LoadTo]
	w    io.Writer                  // for the last record; nil for its image
	left uint64                     // bytes missing from the last record
	room int64                      // bytes left for chunks: a small file can name one chunk a million times
}

// add adds the next chunk. It trusts nothing in it.
func (j *joiner) add(chunk []byte) error {
	if j.room -= int64(len(chunk)); j.room < 0 || len(chunk) == 0 {
		return damageError("it is too large, or a chunk is empty")
	}
	d := change.Decoder{Rest: chunk}
	for len(d.Rest) > 0 && !d.Failed {
		switch d.Byte() {
		case 1:
			if j.left > 0 {
				return damageError("a record is cut short")
			}
			o := change.Op{Ref: d.Ref(), Post: &change.Image{Mode: fs.FileMode(d.Uvarint())}}
			j.left = d.Uvarint()
			if j.left > change.MaxText+maxChunk {
				return damageError("a record has %d bytes", j.left)
			}
			j.ops, j.w = append(j.ops, o), j.to(o.Ref)
		case 0:
			if j.left == 0 || len(j.ops) == 0 {
				return damageError("a record is too long")
			}
		default:
			d.Failed = true
		}
		piece := d.Bytes(d.Uvarint())
		if d.Failed || uint64(len(piece)) > j.left {
			break
		}
		j.left -= uint64(len(piece))
		if j.w != nil {
			if _, err := j.w.Write(piece); err != nil {
				return err
			}
			continue
		}
		image := j.ops[len(j.ops)-1].Post
		if image.Data == nil {
			image.Data = make([]byte, 0, min(j.left+uint64(len(piece)), 64<<20))
		}
		image.Data = append(image.Data, piece...)
	}
	if d.Failed {
		return damageError("a chunk is cut short or too long")
	}
	return nil
}

// The hashes of a session's chunks are themselves cut into nodes, and the hashes of the nodes into nodes above them, up
// to a single root. So a state of a long session that differs little from its predecessor has few nodes of its own. A
// node is a list of hashes. The format is frozen.
const (
	minNode = 32 // hashes; no earlier cut
	maxNode = 1024
	cutNode = 63 // bits of the first byte of a hash: one hash in 64 is a cut

	maxChunks = 1 << 20 // of a state: enough for any session of 64 GiB
)

// nodes cuts a list of hashes into nodes.
func nodes(list []hash, emit func(node []byte) (hash, error)) (above []hash, err error) {
	var node []byte
	n := 0
	for i, h := range list {
		node = append(node, h[:]...)
		if n++; i == len(list)-1 || n >= minNode && h[0]&cutNode == 0 || n >= maxNode {
			up, err := emit(node)
			if err != nil {
				return nil, err
			}
			above, node, n = append(above, up), node[:0], 0
		}
	}
	return above, nil
}

func splitNode(node []byte) ([]hash, error) {
	if len(node) == 0 || len(node)%len(hash{}) != 0 || len(node) > maxNode*len(hash{}) {
		return nil, damageError("a node has %d bytes", len(node))
	}
	list := make([]hash, len(node)/len(hash{}))
	for i := range list {
		copy(list[i][:], node[i*len(hash{}):])
	}
	return list, nil
}
