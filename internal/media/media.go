// Package media tells from base64 data whether it is an image that a model can be sent:
// its type by content, its dimensions, and whether its structure is complete.
//
// No pixel is decoded. Work is linear in the length of the data and memory is constant,
// whatever the image says of its size.
package media

import (
	"bytes"
	"sync"
)

// The media types that are known by their content.
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

// A Fault is a reason why data cannot be decoded as an image. The zero Fault is none.
type Fault uint8

// The faults.
const (
	Empty     Fault = iota + 1 // there are no bytes
	NotBase64                  // the data is not base64
	Unknown                    // the bytes are of no known type
	Damaged                    // the type is known, and its structure is not valid
	Truncated                  // the data ends before the image does
)

// Info is what data holds.
type Info struct {
	Type string // by content; "" if it is not known
	// Width and Height are those of a PNG, JPEG, GIF or WebP, 0 if they are not known.
	Width, Height int
	Size          int   // in bytes, decoded
	Fault         Fault // of a type with a known structure: PNG, JPEG, GIF, WebP
}

// Image reports whether the data is a PNG, JPEG, GIF or WebP without a fault.
func (i Info) Image() bool {
	return i.Fault == 0 && (i.Type == PNG || i.Type == JPEG || i.Type == GIF || i.Type == WebP)
}

// Matches reports whether a declared media type is that of the content.
func (i Info) Matches(mime string) bool {
	return mime == i.Type || mime == "image/jpg" && i.Type == JPEG
}

// A File inspects its data once. It may be used concurrently.
type File struct{ info func() Info }

// NewFile returns a File of base64 data, which must not change.
func NewFile(base64 []byte) *File {
	return &File{sync.OnceValue(func() Info { return Inspect(base64) })}
}

// Info returns what the data holds.
func (f *File) Info() Info { return f.info() }

// Inspect returns what base64 data holds. Padding is optional, white space is ignored, and
// both alphabets are accepted.
func Inspect(base64 []byte) Info {
	r := newReader(base64)
	head := r.peek(sniffed)
	info := Info{}
	if len(head) == 0 && !r.invalid {
		return Info{Fault: Empty}
	}
	info.Type = sniff(head)
	if walk := walks[info.Type]; walk != nil {
		info.Width, info.Height, info.Fault = walk(r)
	} else if info.Type == "" {
		info.Fault = Unknown
	}
	r.discard()
	if r.invalid {
		info.Fault = NotBase64
	}
	info.Size = r.read
	return info
}

var walks = map[string]func(*reader) (width, height int, f Fault){PNG: walkPNG, JPEG: walkJPEG, GIF: walkGIF, WebP: walkWebP}

// sniffed is how many bytes [sniff] looks at.
const sniffed = 1024

// sniff returns the media type of data by its first bytes, "" if it is not known.
func sniff(head []byte) string {
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
