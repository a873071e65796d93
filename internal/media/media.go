// Package media inspects base64 data: its type by content, and the size and completeness of an image.
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
	"sync"
)

// The media types that are recognised by content.
const (
	PNG  = "image/png"
	JPEG = "image/jpeg"
	GIF  = "image/gif"
	WebP = "image/webp"
	SVG  = "image/svg+xml"
	BMP  = "image/bmp"
	TIFF = "image/tiff"
	ICO  = "image/x-icon"
	HEIC = "image/heic"
	AVIF = "image/avif"
	PDF  = "application/pdf"
)

// A Fault is a reason why data cannot be decoded as an image. The zero Fault means none.
type Fault uint8

// The faults.
const (
	Empty     Fault = iota + 1 // there are no bytes
	NotBase64                  // the data is not base64
	Unknown                    // the type of the bytes is unknown
	Damaged                    // the type is known, but its structure is invalid
	Truncated                  // the data ends before the image does
)

// Info describes data.
type Info struct {
	Type string // by content; "" if unknown
	// Width and Height are the size of a PNG, JPEG, GIF or WebP, 0 if unknown.
	Width, Height int
	Fault         Fault // Damaged and Truncated only for a PNG, JPEG, GIF or WebP
}

// Image reports whether the data is a PNG, JPEG, GIF or WebP without a fault.
func (i Info) Image() bool {
	return i.Fault == 0 && (i.Type == PNG || i.Type == JPEG || i.Type == GIF || i.Type == WebP)
}

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
	info := Info{Type: sniff(plain)}
	switch inspect := inspectors[info.Type]; {
	case !ok:
		info.Fault = NotBase64
	case len(plain) == 0:
		info.Fault = Empty
	case info.Type == "":
		info.Fault = Unknown
	case inspect != nil:
		whole := false
		if info.Width, info.Height, whole = inspect(plain); !whole {
			info.Fault = Truncated
		} else if info.Width == 0 {
			info.Fault = Damaged
		}
	}
	return info
}

// decode decodes base64 up to the first character that is not base64. ok reports whether there is no such character.
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

// inspectors has a function for each type that can be sent to a model. It returns the size in the header, 0 if that is
// invalid, and whether the end of the image is there. More bytes may follow the end.
var inspectors = map[string]func(plain []byte) (width, height int, whole bool){
	PNG: inspectPNG, JPEG: inspectJPEG, GIF: inspectGIF, WebP: inspectWebP,
}

func inspectPNG(plain []byte) (width, height int, whole bool) {
	if len(plain) < 33 || string(plain[12:16]) != "IHDR" {
		return 0, 0, len(plain) >= 33
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

// sniff returns the media type of data by its first bytes, "" if unknown.
func sniff(head []byte) string {
	head = head[:min(len(head), 1024)]
	for _, magic := range [...]struct{ prefix, mime string }{
		{"\x89PNG\r\n\x1a\n", PNG},
		{"\xff\xd8\xff", JPEG},
		{"GIF87a", GIF},
		{"GIF89a", GIF},
		{"BM", BMP},
		{"II*\x00", TIFF},
		{"MM\x00*", TIFF},
		{"\x00\x00\x01\x00", ICO},
		{"%PDF-", PDF},
	} {
		if bytes.HasPrefix(head, []byte(magic.prefix)) {
			return magic.mime
		}
	}
	if len(head) >= 12 {
		switch kind := string(head[4:12]); {
		case string(head[:4]) == "RIFF" && kind[4:] == "WEBP":
			return WebP
		case kind == "ftypavif":
			return AVIF
		case kind == "ftypheic", kind == "ftypheix", kind == "ftypmif1":
			return HEIC
		}
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff")))
	if bytes.HasPrefix(text, []byte("<")) && bytes.Contains(text, []byte("<svg")) {
		return SVG
	}
	return ""
}
