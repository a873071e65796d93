package salvage

import (
	"bytes"
	"encoding/binary"
	"maps"
)

// A Moment is the relation of a -wal to its database file. The files do not identify each other, so most mismatches
// show only if the first page was written, or pages were added, in between.
type Moment int

const (
	// Fits means that no mismatch was found.
	Fits Moment = iota
	// Older means that the file was written after everything in the -wal: SQLite would read older pages.
	Older
	// Later means that transactions between the file and the -wal are in neither of them.
	Later
)

// WALMoment returns the relation of the -wal to the file; Fits if the files change while it reads them.
func WALMoment(src Source) Moment {
	m := readMoment(src)
	if m != Fits && readMoment(src) != m {
		return Fits
	}
	return m
}

// readMoment reads only the header of the file.
func readMoment(src Source) Moment {
	f := &file{src: src}
	head := make([]byte, headerSize)
	n, _ := src.DB.ReadAt(head, 0)
	if f.header = parseHeader(head[:n]); f.header.Intact {
		f.pageSize = f.header.pageSize
		f.readWAL()
	}
	return f.moment
}

// momentOf returns the relation of the -wal to the file; first and last are the headers in the first and the last copy
// of page 1 in the -wal, if it has any. Each transaction that writes page 1 increments its change counter, or repeats
// the counter if the same run of a program has written it before; each transaction that changes the number of pages
// writes page 1. The file gets its pages from the -wal. So the file's counter is never ahead of the -wal's, and is at
// most one less than the counter in first.
func (f *file) momentOf(first, last Header) Moment {
	own := f.header
	if !own.Intact || f.walPages == 0 {
		return Fits
	}
	if !last.Intact {
		switch {
		case own.Pages > f.walPages:
			return Older
		case own.Pages > 0 && own.Pages < f.walPages:
			return Later
		}
		return Fits
	}
	ahead := int32(own.changes - last.changes) //nolint:gosec // it wraps around
	if ahead > 0 || ahead == 0 && own.schema == last.schema && own.Pages > last.Pages && last.Pages > 0 {
		return Older
	}
	if first.Intact && int32(first.changes-own.changes) > 1 { //nolint:gosec // it wraps around
		return Later
	}
	return Fits
}

// readWAL reads the frames of the -wal as SQLite does: up to the last commit before the first frame that belongs to
// another -wal or has a wrong checksum.
func (f *file) readWAL() {
	if f.src.WAL == nil {
		return
	}
	head := make([]byte, 32)
	if n, _ := f.src.WAL.ReadAt(head, 0); n < len(head) {
		return
	}
	u32 := func(b []byte) uint32 { return binary.BigEndian.Uint32(b) }
	var order binary.ByteOrder = binary.LittleEndian
	switch u32(head) {
	case 0x377f0682:
	case 0x377f0683:
		order = binary.BigEndian
	default:
		return
	}
	size := int(u32(head[8:]))
	sum := checksum(order, [2]uint32{}, head[:24])
	if u32(head[4:]) != 3007000 || !isPageSize(size) || sum != [2]uint32{u32(head[24:]), u32(head[28:])} {
		return
	}
	if f.header.Intact && size != f.pageSize {
		return // it belongs to another database
	}
	f.pageSize = size
	frame := make([]byte, 24+size)
	pending := map[uint32]int64{}
	var first, last, now Header // copies of page 1 in the -wal
	for at := int64(32); at+int64(len(frame)) <= f.src.WALSize; at += int64(len(frame)) {
		if n, _ := f.src.WAL.ReadAt(frame, at); n < len(frame) || !bytes.Equal(frame[8:16], head[16:24]) {
			break
		}
		sum = checksum(order, checksum(order, sum, frame[:8]), frame[24:])
		page, commit := u32(frame), u32(frame[4:])
		if page == 0 || sum != [2]uint32{u32(frame[16:]), u32(frame[20:])} {
			break
		}
		pending[page] = at + 24
		if page == 1 {
			now = parseHeader(frame[24:])
			if first.pageSize == 0 {
				first = now
			}
		}
		if commit > 0 {
			last = now
			if f.frames == nil {
				f.frames = map[uint32]int64{}
			}
			maps.Copy(f.frames, pending)
			clear(pending)
			f.walPages = commit
		}
	}
	for n := range f.frames {
		if n > f.walPages {
			delete(f.frames, n) // the database was truncated after it
		}
	}
	f.moment = f.momentOf(first, last)
}

func checksum(order binary.ByteOrder, s [2]uint32, b []byte) [2]uint32 {
	for ; len(b) >= 8; b = b[8:] {
		s[0] += order.Uint32(b) + s[1]
		s[1] += order.Uint32(b[4:]) + s[0]
	}
	return s
}
