package salvage

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
)

// A Source is the database to read: its file, and its -wal, which may be nil.
type Source struct {
	DB      io.ReaderAt
	Size    int64
	WAL     io.ReaderAt
	WALSize int64
}

// The layout of the file header (sqlite.org/fileformat2.html).
const (
	magic      = "SQLite format 3\x00"
	headerSize = 100
	minPage    = 512
	maxPage    = 65536
)

// A Header is the file header; implausible fields are zero.
type Header struct {
	Intact        bool // the magic, the page size and the constants are right
	Rollback      bool // not in WAL mode
	Pages         uint32
	FreeHead      uint32 // first trunk page of the freelist
	FreeCount     uint32
	AutoVacuum    bool
	Incremental   bool
	UserVersion   int32
	ApplicationID int32
	UTF16         bool // according to the header, which may be damaged

	reserved int
	pageSize int
	changes  uint32 // number of writes of the first page, at least one in each run of a program that writes the file
	schema   uint32 // number of schema changes
}

// A file is a database that is read page by page.
type file struct {
	src      Source
	header   Header
	pageSize int
	usable   int
	pages    uint32           // number of existing pages, in the file or in the -wal
	frames   map[uint32]int64 // offset in the -wal of a page's newest content
	walPages uint32           // pages of the database after the last commit in the -wal, 0 if there is none
	moment   Moment           // relation of the -wal to the file
	failed   map[uint32]bool  // pages that the disk could not read
}

// openFile reads the headers. withWAL sets whether the -wal is used.
func openFile(src Source, withWAL bool) *file {
	f := &file{src: src, failed: map[uint32]bool{}}
	head := make([]byte, headerSize)
	n, _ := src.DB.ReadAt(head, 0)
	f.header = parseHeader(head[:n])
	if f.pageSize = f.header.pageSize; f.pageSize == 0 || !hasPages(src, f.pageSize) {
		f.pageSize = cmp.Or(findPageSize(src), f.pageSize, 4096)
	}
	if f.pageSize != f.header.pageSize {
		f.header = Header{} // its page size is damaged
	}
	if withWAL {
		f.readWAL()
		if at, ok := f.frames[1]; ok { // the newest first page
			if n, _ := src.WAL.ReadAt(head, at); n == headerSize {
				if h := parseHeader(head); h.Intact && h.pageSize == f.pageSize {
					f.header = h
				}
			}
		}
	}
	f.usable = f.pageSize - f.header.reserved
	f.pages = uint32(min((src.Size+int64(f.pageSize)-1)/int64(f.pageSize), 1<<32-2))
	for n := range f.frames {
		f.pages = max(f.pages, n)
	}
	return f
}

func parseHeader(h []byte) Header {
	if len(h) < headerSize {
		return Header{}
	}
	size := int(binary.BigEndian.Uint16(h[16:]))
	if size == 1 {
		size = maxPage
	}
	u32 := func(at int) uint32 { return binary.BigEndian.Uint32(h[at:]) }
	if !bytes.HasPrefix(h, []byte(magic)) || !isPageSize(size) || h[21] != 64 || h[22] != 32 || h[23] != 32 || int(h[20]) > size-480 {
		return Header{}
	}
	hd := Header{
		Intact: true, pageSize: size, reserved: int(h[20]), Rollback: h[18] == 1 && h[19] == 1,
		FreeHead: u32(32), FreeCount: u32(36), AutoVacuum: u32(52) != 0, Incremental: u32(64) != 0,
		UserVersion: int32(u32(60)), ApplicationID: int32(u32(68)), //nolint:gosec // signed fields
	}
	hd.UTF16 = u32(56) == 2 || u32(56) == 3
	hd.changes, hd.schema = u32(24), u32(40)
	if u32(24) == u32(92) { // otherwise the writer was a version of SQLite that does not set the number of pages
		hd.Pages = u32(28)
	}
	return hd
}

func isPageSize(n int) bool { return n >= minPage && n <= maxPage && n&(n-1) == 0 }

// HasPages reports whether a file has pages of a database, even if its beginning is damaged.
func HasPages(src Source) bool { return findPageSize(src) > 0 }

// findPageSize returns the page size of a file, 0 for a file without pages of a database. It tries the largest size
// first, because pages never fit a larger size than their own.
func findPageSize(src Source) int {
	for size := maxPage; size >= minPage; size /= 2 {
		if hasPages(src, size) {
			return size
		}
	}
	return 0
}

// hasPages reports whether a sample of the pages of the given size has the page of a tree: its last cell ends at the
// end of the page.
func hasPages(src Source, size int) bool {
	const sample = 1024
	f := &file{src: src, pageSize: size, usable: size, failed: map[uint32]bool{}}
	f.pages = uint32(min(src.Size/int64(size), 1<<32-2))
	buf := make([]byte, size)
	for n := uint32(2); n <= f.pages && n > 0; n += max(1, f.pages/sample) {
		p := f.read(n, buf)
		if c, ok := p.lastCell(f); ok && c.end == f.usable {
			return true
		}
	}
	return false
}

// read reads page n into buf, which has the size of a page. Missing bytes are zero.
func (f *file) read(n uint32, buf []byte) page {
	p := page{n: n, data: buf[:f.pageSize]}
	if n == 1 {
		p.start = headerSize
	}
	var got int
	var err error
	if frame, ok := f.frames[n]; ok {
		got, err = f.src.WAL.ReadAt(p.data, frame)
	} else {
		got, err = f.src.DB.ReadAt(p.data, int64(n-1)*int64(f.pageSize))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		f.failed[n] = true
		got = 0
	}
	clear(p.data[got:])
	p.avail = min(got, f.usable)
	return p
}

// size returns the number of pages of the database; the file may have more.
func (f *file) size() uint32 {
	switch {
	case f.walPages > 0:
		return min(f.walPages, f.pages)
	case f.header.Pages > 0:
		return min(f.header.Pages, f.pages)
	}
	return f.pages
}
