package sqlstore

import (
	"encoding/binary"
	"strings"
	"testing"
)

// TestPageCheck: a page that is read although the free list has it is damage, in the database or in the -wal. The pages have
// 512 bytes, 16 of them reserved, and the free list has the pages 2, 3 and 200.
func TestPageCheck(t *testing.T) {
	const size = 512
	leaf := make([]byte, size)
	leaf[0] = 13
	binary.BigEndian.PutUint16(leaf[5:], size-16) // its cells begin where the reserved bytes do
	listed := func(count uint32) *pageCheck {
		p := &pageCheck{}
		first := append(make([]byte, 0, size), leaf...)
		copy(first, "SQLite format 3\x00")
		binary.BigEndian.PutUint16(first[16:], size)
		first[20] = 16
		binary.BigEndian.PutUint32(first[28:], 200)
		binary.BigEndian.PutUint32(first[32:], 2)
		first[100] = 13
		binary.BigEndian.PutUint16(first[105:], size-16)
		p.readDB(first, 0)
		trunk := make([]byte, size)
		binary.BigEndian.PutUint32(trunk[4:], count)
		binary.BigEndian.PutUint32(trunk[8:], 3)
		binary.BigEndian.PutUint32(trunk[12:], 200)
		p.readDB(trunk, size)
		p.listed = true
		return p
	}
	frame := func(n uint32, at int64) func([]byte, int64) (int, error) {
		return func(b []byte, off int64) (int, error) {
			if off != at {
				t.Errorf("the frame is read at %d, want %d", off, at)
			}
			binary.BigEndian.PutUint32(b, n)
			return len(b), nil
		}
	}
	const header, frameHeader = 32, 24
	third := int64(header + 2*(frameHeader+size)) // of the -wal
	for name, c := range map[string]struct {
		read  func(p *pageCheck)
		fault string
	}{
		"nothing":               {func(*pageCheck) {}, ""},
		"a page in use":         {func(p *pageCheck) { p.readDB(leaf, 3*size) }, ""},
		"the trunk page":        {func(p *pageCheck) { p.readDB(leaf, 1*size) }, "page 2 is in use and on the free list"},
		"a free page":           {func(p *pageCheck) { p.readDB(leaf, 199*size) }, "page 200 is in use and on the free list"},
		"a part of a free page": {func(p *pageCheck) { p.readDB(leaf[:8], 199*size+100) }, "page 200 is in use and on the free list"},
		"a page past the end":   {func(p *pageCheck) { p.readDB(leaf, 300*size) }, ""},
		"a free page, logged":   {func(p *pageCheck) { p.readWAL(leaf, third+frameHeader, frame(200, third)) }, "page 200 is in use and on the free list"},
		"a used page, logged":   {func(p *pageCheck) { p.readWAL(leaf, third+frameHeader, frame(4, third)) }, ""},
		"a header of the log":   {func(p *pageCheck) { p.readWAL(leaf, third, frame(200, third)) }, ""},
		"a part of a frame":     {func(p *pageCheck) { p.readWAL(leaf[:24], third+frameHeader, frame(200, third)) }, ""},
		"a malformed page":      {func(p *pageCheck) { p.readDB(append([]byte{13, 0xff}, leaf[2:]...), 3*size) }, "page 4"},
		"only the first damage": {func(p *pageCheck) { p.readDB(leaf, 199*size); p.readDB(leaf, 2*size) }, "page 200 is"},
	} {
		p := listed(2)
		c.read(p)
		if p.fault != c.fault && (c.fault == "" || !strings.HasPrefix(p.fault, c.fault)) {
			t.Errorf("%s: %q, want %q", name, p.fault, c.fault)
		}
	}
	if p := listed(1 << 31); p.fault != "" || !p.isFree(200) || p.isFree(199) {
		t.Errorf("a trunk page with a wrong length: %q", p.fault)
	}
	unknown := &pageCheck{}
	unknown.readDB(make([]byte, 100), 0)
	unknown.readWAL(leaf, third+frameHeader, frame(1, third))
	if unknown.fault != "" || unknown.size != 0 {
		t.Errorf("a file without a page size: %q", unknown.fault)
	}
}
