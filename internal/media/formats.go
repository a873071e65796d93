package media

import (
	"encoding/binary"
	"hash/crc32"
)

// walkPNG reads the chunks up to IEND. As decoders do, it checks the checksums of those
// that a decoder must understand.
func walkPNG(r *reader) (width, height int, f Fault) {
	r.skip(8, nil)
	hasData := false
	for first := true; ; first = false {
		var head [8]byte
		if !r.take(head[:]) {
			return width, height, Truncated
		}
		length, kind := binary.BigEndian.Uint32(head[:4]), string(head[4:])
		if first != (kind == "IHDR") || first && length != 13 || length > 1<<31-1 {
			return width, height, Damaged
		}
		sum := crc32.ChecksumIEEE(head[4:])
		add := func(b []byte) { sum = crc32.Update(sum, crc32.IEEETable, b) }
		if first {
			var header [13]byte
			if !r.take(header[:]) {
				return 0, 0, Truncated
			}
			add(header[:])
			w, h := binary.BigEndian.Uint32(header[:]), binary.BigEndian.Uint32(header[4:])
			if w == 0 || h == 0 || w > 1<<31-1 || h > 1<<31-1 || !validPNGHeader(header) {
				return 0, 0, Damaged
			}
			width, height = int(w), int(h)
		} else if !r.skip(uint64(length), add) {
			return width, height, Truncated
		}
		var stored [4]byte
		if !r.take(stored[:]) {
			return width, height, Truncated
		}
		isCritical := kind[0]&0x20 == 0
		if isCritical && sum != binary.BigEndian.Uint32(stored[:]) {
			return width, height, Damaged
		}
		switch kind {
		case "IDAT":
			hasData = hasData || length > 0
		case "IEND":
			if !hasData {
				return width, height, Damaged
			}
			return width, height, 0
		}
	}
}

// validPNGHeader reports whether depth, colour type, compression, filter and interlacing of
// an IHDR chunk are defined.
func validPNGHeader(h [13]byte) bool {
	depths := map[byte]string{0: "\x01\x02\x04\x08\x10", 2: "\x08\x10", 3: "\x01\x02\x04\x08", 4: "\x08\x10", 6: "\x08\x10"}
	valid := false
	for _, d := range []byte(depths[h[9]]) {
		valid = valid || d == h[8]
	}
	return valid && h[10] == 0 && h[11] == 0 && h[12] <= 1
}

// walkJPEG reads the segments up to the end of the image.
func walkJPEG(r *reader) (width, height int, f Fault) {
	r.skip(2, nil)
	framed := false // a frame header was read
	marker, ok := nextMarker(r)
	for {
		switch {
		case !ok:
			return width, height, Truncated
		case marker == 0xd9 && !framed:
			return 0, 0, Damaged
		case marker == 0xd9:
			return width, height, 0
		case marker == 0xd8, marker == 0x01, marker >= 0xd0 && marker <= 0xd7: // without a segment
			marker, ok = nextMarker(r)
			continue
		}
		length, full := r.uint16()
		if !full {
			return width, height, Truncated
		}
		if length < 2 {
			return width, height, Damaged
		}
		rest := uint64(length) - 2
		isFrame := marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc
		if isFrame && !framed {
			var frame [6]byte
			if rest < 6 {
				return 0, 0, Damaged
			}
			if !r.take(frame[:]) {
				return 0, 0, Truncated
			}
			rest -= 6
			height, width = int(binary.BigEndian.Uint16(frame[1:])), int(binary.BigEndian.Uint16(frame[3:]))
			if framed = true; width == 0 || frame[5] == 0 { // a height of 0 may follow later
				return 0, 0, Damaged
			}
		}
		if marker == 0xda && !framed {
			return 0, 0, Damaged
		}
		if !r.skip(rest, nil) {
			return width, height, Truncated
		}
		if marker == 0xda {
			marker, ok = scanEnd(r)
		} else {
			marker, ok = nextMarker(r)
		}
	}
}

// nextMarker reads up to the next marker.
func nextMarker(r *reader) (marker byte, ok bool) {
	for b, ok := r.byte(); ; b, ok = r.byte() {
		if !ok {
			return 0, false
		}
		if b != 0xff {
			continue
		}
		for b == 0xff {
			if b, ok = r.byte(); !ok {
				return 0, false
			}
		}
		if b != 0 {
			return b, true
		}
	}
}

// scanEnd reads the entropy-coded data of a scan, up to the marker behind it.
func scanEnd(r *reader) (marker byte, ok bool) {
	for {
		if marker, ok = nextMarker(r); !ok || marker < 0xd0 || marker > 0xd7 {
			return marker, ok
		}
	}
}

// walkGIF reads the blocks up to the end of the first picture.
func walkGIF(r *reader) (width, height int, f Fault) {
	var screen [13]byte
	if !r.take(screen[:]) {
		return 0, 0, Truncated
	}
	width, height = int(binary.LittleEndian.Uint16(screen[6:])), int(binary.LittleEndian.Uint16(screen[8:]))
	if !skipColors(r, screen[10]) {
		return width, height, Truncated
	}
	for {
		kind, ok := r.byte()
		switch {
		case !ok:
			return width, height, Truncated
		case kind == 0x21: // an extension
			if !r.skip(1, nil) || !skipSubBlocks(r) {
				return width, height, Truncated
			}
		case kind == 0x2c: // a picture
			var picture [9]byte
			if !r.take(picture[:]) || !skipColors(r, picture[8]) || !r.skip(1, nil) || !skipSubBlocks(r) {
				return width, height, Truncated
			}
			width = max(width, int(binary.LittleEndian.Uint16(picture[4:])))
			height = max(height, int(binary.LittleEndian.Uint16(picture[6:])))
			if width == 0 || height == 0 {
				return 0, 0, Damaged
			}
			return width, height, 0
		default:
			return width, height, Damaged
		}
	}
}

// skipColors reads the table of colours that the flags announce.
func skipColors(r *reader, flags byte) bool {
	if flags&0x80 == 0 {
		return true
	}
	return r.skip(3<<(flags&7+1), nil)
}

func skipSubBlocks(r *reader) bool {
	for {
		n, ok := r.byte()
		if !ok || n == 0 {
			return ok
		}
		if !r.skip(uint64(n), nil) {
			return false
		}
	}
}

// walkWebP reads the chunks.
func walkWebP(r *reader) (width, height int, f Fault) {
	var riff [12]byte
	r.take(riff[:])
	left := uint64(binary.LittleEndian.Uint32(riff[4:]))
	if left < 4 {
		return 0, 0, Damaged
	}
	left -= 4
	hasPicture := false
	for left >= 8 {
		var head [8]byte
		if !r.take(head[:]) {
			return width, height, Truncated
		}
		left -= 8
		size := uint64(binary.LittleEndian.Uint32(head[4:]))
		padded := size + size&1
		if size > left {
			return width, height, Damaged
		}
		n := min(size, 10)
		var start [10]byte
		if !r.take(start[:n]) {
			return width, height, Truncated
		}
		w, h, valid := webpSize(string(head[:4]), start[:n])
		if !valid {
			return width, height, Damaged
		}
		if width == 0 {
			width, height = w, h
		}
		switch string(head[:4]) {
		case "VP8 ", "VP8L", "ANMF":
			hasPicture = true
		}
		padded = min(padded, left)
		if !r.skip(padded-n, nil) {
			return width, height, Truncated
		}
		left -= padded
	}
	if !hasPicture {
		return width, height, Damaged
	}
	return width, height, 0
}

// webpSize returns the size in the first bytes of a chunk, 0 if it has none, and whether
// they are valid.
func webpSize(kind string, b []byte) (width, height int, valid bool) {
	switch kind {
	case "VP8 ":
		if len(b) < 10 || b[0]&1 != 0 || string(b[3:6]) != "\x9d\x01\x2a" {
			return 0, 0, false
		}
		width, height = int(binary.LittleEndian.Uint16(b[6:])&0x3fff), int(binary.LittleEndian.Uint16(b[8:])&0x3fff)
		return width, height, width > 0 && height > 0
	case "VP8L":
		if len(b) < 5 || b[0] != 0x2f {
			return 0, 0, false
		}
		bits := binary.LittleEndian.Uint32(b[1:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1, true
	case "VP8X":
		if len(b) < 10 {
			return 0, 0, false
		}
		uint24 := func(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
		return uint24(b[4:]) + 1, uint24(b[7:]) + 1, true
	}
	return 0, 0, true
}
