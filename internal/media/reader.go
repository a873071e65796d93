package media

import (
	"encoding/base64"
	"encoding/binary"
)

// A reader decodes base64 block by block.
type reader struct {
	src     []byte // what is not decoded yet
	buf     [3 << 10]byte
	out     []byte // what is decoded and not read yet, in buf
	read    int    // bytes decoded so far
	invalid bool   // a character is not base64: nothing more is decoded
	clean   [4 << 10]byte
}

func newReader(src []byte) *reader { return &reader{src: src} }

// fill decodes the next block if none is left. It returns false at the end.
func (r *reader) fill() bool {
	for len(r.out) == 0 {
		if r.invalid || len(r.src) == 0 {
			return false
		}
		r.decode()
	}
	return true
}

// decode decodes the next block. Most data is plain base64, which needs no copy.
func (r *reader) decode() {
	if len(r.src) >= len(r.clean) {
		if n, err := base64.StdEncoding.Decode(r.buf[:], r.src[:len(r.clean)]); err == nil && n == len(r.buf) {
			r.src, r.out = r.src[len(r.clean):], r.buf[:n]
			r.read += n
			return
		}
	}
	used, filled := 0, 0
	for used < len(r.src) && filled < len(r.clean) {
		c := r.src[used]
		used++
		switch digit := digits[c]; digit {
		case skip:
		case pad:
			r.invalid = r.invalid || !onlyPadding(r.src[used:])
			used = len(r.src)
		default: // an invalid character stays as it is
			r.clean[filled] = digit
			filled++
		}
	}
	r.src = r.src[used:]
	n, err := base64.RawStdEncoding.Decode(r.buf[:], r.clean[:filled])
	r.out = r.buf[:n]
	r.read += n
	r.invalid = r.invalid || err != nil
}

// What digits holds of characters that are no digits.
const (
	skip = 0
	pad  = 1
)

// digits maps characters to the standard alphabet.
var digits = func() (to [256]byte) {
	for i := range to {
		to[i] = '!'
	}
	for _, c := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/" {
		to[c] = byte(c)
	}
	to['-'], to['_'], to['='] = '+', '/', pad
	for _, c := range " \t\r\n" {
		to[c] = skip
	}
	return to
}()

func onlyPadding(rest []byte) bool {
	for _, c := range rest {
		if digits[c] != pad && digits[c] != skip {
			return false
		}
	}
	return true
}

// peek returns up to n bytes without reading them. n is at most the length of the first
// block, and nothing has been read yet.
func (r *reader) peek(n int) []byte {
	r.fill()
	return r.out[:min(n, len(r.out))]
}

// take reads len(p) bytes. It returns false if the data ends before.
func (r *reader) take(p []byte) bool {
	for len(p) > 0 {
		if !r.fill() {
			return false
		}
		n := copy(p, r.out)
		p, r.out = p[n:], r.out[n:]
	}
	return true
}

// skip reads n bytes, and gives them to each.
func (r *reader) skip(n uint64, each func([]byte)) bool {
	for n > 0 {
		if !r.fill() {
			return false
		}
		part := r.out[:min(n, uint64(len(r.out)))]
		if each != nil {
			each(part)
		}
		r.out = r.out[len(part):]
		n -= uint64(len(part))
	}
	return true
}

// discard reads all that is left.
func (r *reader) discard() {
	for r.fill() {
		r.out = nil
	}
}

// byte reads one byte.
func (r *reader) byte() (b byte, ok bool) {
	if !r.fill() {
		return 0, false
	}
	b, r.out = r.out[0], r.out[1:]
	return b, true
}

// uint16 reads two bytes, the higher one first.
func (r *reader) uint16() (uint16, bool) {
	var b [2]byte
	ok := r.take(b[:])
	return binary.BigEndian.Uint16(b[:]), ok
}
