// Package media inspects images in base64: the type by content, the size, and whether the image is complete.
//
// It does no I/O. It imports nothing of mend. Read [Inspect] first.
//
// Pixels are not decoded: the size is in the header, and an image counts as complete if its end is there. Damage in the
// middle of an image is not found. Work and memory are linear in the length of the data.
package media

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"math"
	"strings"
	"sync"
)

// The types of images that can be sent to a model.
const (
	PNG  = "image/png"
	JPEG = "image/jpeg"
	GIF  = "image/gif"
	WebP = "image/webp"
)

// Info describes an image. The zero Info means that the data is not a complete PNG, JPEG, GIF or WebP.
type Info struct {
	Type          string // by content
	Width, Height int    // in pixels
}

// Image reports whether the data is a complete PNG, JPEG, GIF or WebP.
func (i Info) Image() bool { return i.Type != "" }

// Matches reports whether a declared media type is the type of the content.
func (i Info) Matches(mime string) bool {
	return mime == i.Type || mime == "image/jpg" && i.Type == JPEG
}

// A File inspects its data once. It may be used concurrently.
type File struct{ info func() Info }

// NewFile returns a File of base64 data, which must not change.
func NewFile(base64 []byte) *File {
	return &File{sync.OnceValue(func() Info { return Inspect(base64) })}
}

// Info returns the description of the data.
func (f *File) Info() Info { return f.info() }

// Inspect describes base64 data. Padding is optional, white space is ignored, and both alphabets are accepted.
func Inspect(data []byte) Info {
	plain, ok := decode(data)
	info, whole := Info{}, false
	switch head := string(plain[:min(len(plain), 12)]); {
	case strings.HasPrefix(head, "\x89PNG\r\n\x1a\n"):
		info.Type = PNG
		info.Width, info.Height, whole = inspectPNG(plain)
	case strings.HasPrefix(head, "\xff\xd8\xff"):
		info.Type = JPEG
		info.Width, info.Height, whole = inspectJPEG(plain)
	case strings.HasPrefix(head, "GIF87a"), strings.HasPrefix(head, "GIF89a"):
		info.Type = GIF
		info.Width, info.Height, whole = inspectGIF(plain)
	case strings.HasPrefix(head, "RIFF") && strings.HasSuffix(head, "WEBP"):
		info.Type = WebP
		info.Width, info.Height, whole = inspectWebP(plain)
	}
	if !ok || !whole || info.Width == 0 {
		return Info{}
	}
	return info
}

// decode decodes base64, and reports whether data is base64.
func decode(data []byte) (plain []byte, ok bool) {
	plain = make([]byte, base64.StdEncoding.DecodedLen(len(data)))
	if n, err := base64.StdEncoding.Decode(plain, data); err == nil {
		return plain[:n], true
	}
	digits := make([]byte, 0, len(data)) // in the standard alphabet, without padding
	for _, c := range data {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '-':
			c = '+'
		case '_':
			c = '/'
		}
		digits = append(digits, c)
	}
	digits = bytes.TrimRight(digits, "=")
	n, err := base64.RawStdEncoding.Decode(digits, digits)
	return digits[:n], err == nil
}

// The functions below return the size in an image's header, 0 if that is invalid, and whether the end of the image is
// there. More bytes may follow the end.

func inspectPNG(plain []byte) (width, height int, whole bool) {
	if len(plain) < 33 || string(plain[12:16]) != "IHDR" {
		return 0, 0, false
	}
	w, h := binary.BigEndian.Uint32(plain[16:]), binary.BigEndian.Uint32(plain[20:])
	if w > math.MaxInt32 || h == 0 || h > math.MaxInt32 ||
		crc32.ChecksumIEEE(plain[12:29]) != binary.BigEndian.Uint32(plain[29:]) {
		w, h = 0, 0
	}
	return int(w), int(h), bytes.Contains(plain, []byte("\x00\x00\x00\x00IEND\xaeB`\x82"))
}

// inspectJPEG reads the segments up to the first scan, because a thumbnail before it has an end of its own.
func inspectJPEG(plain []byte) (width, height int, whole bool) {
	at := 2
	for at+9 <= len(plain) && plain[at] == 0xff {
		switch marker := plain[at+1]; {
		case marker == 0xff:
			at++
			continue
		case marker == 0xda:
			return width, height, bytes.Contains(plain[at:], []byte("\xff\xd9"))
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc: // a frame
			height, width = int(binary.BigEndian.Uint16(plain[at+5:])), int(binary.BigEndian.Uint16(plain[at+7:]))
		}
		at += 2 + int(binary.BigEndian.Uint16(plain[at+2:]))
	}
	return width, height, false
}

func inspectGIF(plain []byte) (width, height int, whole bool) {
	if len(plain) < 13 {
		return 0, 0, false
	}
	width, height = int(binary.LittleEndian.Uint16(plain[6:])), int(binary.LittleEndian.Uint16(plain[8:]))
	return width, height, bytes.HasSuffix(bytes.TrimRight(plain, "\x00\r\n"), []byte(";"))
}

// inspectWebP reads the first chunk, which has the size.
func inspectWebP(plain []byte) (width, height int, whole bool) {
	if len(plain) < 30 {
		return 0, 0, false
	}
	chunk := plain[20:]
	switch string(plain[12:16]) {
	case "VP8 ":
		width, height = int(binary.LittleEndian.Uint16(chunk[6:])&0x3fff), int(binary.LittleEndian.Uint16(chunk[8:])&0x3fff)
	case "VP8L":
		bits := binary.LittleEndian.Uint32(chunk[1:])
		width, height = int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1
	case "VP8X":
		width, height = int(binary.LittleEndian.Uint32(chunk[4:])&0xffffff)+1, int(binary.LittleEndian.Uint32(chunk[6:])>>8)+1
	}
	return width, height, uint64(binary.LittleEndian.Uint32(plain[4:]))+8 <= uint64(len(plain))
}
