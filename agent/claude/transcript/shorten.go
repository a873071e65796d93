package transcript

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"

	"mend/jsonedit"
)

// largestImage is the size of the largest image that is sent, as base64.
const largestImage = 5 << 20

// longText is how many bytes of a text [Shorten] keeps.
const longText = 512

// Shorten reads a transcript and returns it with its long texts cut and with records that are not
// in the chain as empty ones, so that a scan needs little memory. A diagnosis of it finds the
// same as one of the whole transcript. Lines that cannot be read whole stay as they are, and so
// does an image that is too large to be sent.
func Shorten(r io.Reader) (out []byte, err error) {
	_, err = eachLine(r, func(line []byte, ended bool) bool {
		out = appendShort(slices.Grow(out, len(line)+1), line)
		if ended {
			out = append(out, '\n')
		}
		return true
	})
	return out, err
}

// eachLine calls f for each line, without its newline, until f returns false; ended says that the
// line has one. A line is valid during the call. It reports whether f returned true for all.
func eachLine(r io.Reader, f func(line []byte, ended bool) bool) (whole bool, err error) {
	kept := lineBuffers.Get().(*[]byte)
	buf, n := *kept, 0
	defer func() {
		*kept = buf
		lineBuffers.Put(kept)
	}()
	for {
		if n == len(buf) {
			bigger := make([]byte, 2*n)
			copy(bigger, buf)
			buf = bigger
		}
		read, err := r.Read(buf[n:])
		start, from := 0, n
		for n += read; ; {
			end := bytes.IndexByte(buf[from:n], '\n')
			if end < 0 {
				break
			}
			if !f(buf[start:from+end], true) {
				return false, nil
			}
			start, from = from+end+1, from+end+1
		}
		if start > 0 {
			n = copy(buf, buf[start:n])
		}
		switch {
		case errors.Is(err, io.EOF):
			return n == 0 || f(buf[:n], false), nil
		case err != nil:
			return false, err
		}
	}
}

// lineBuffers has buffers into which files are read.
var lineBuffers = sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}

var (
	nameOfID   = []byte(`"uuid"`)
	nameOfLeaf = []byte(`"leafUuid"`)
)

func appendShort(out, line []byte) []byte {
	if len(line) <= longText || jsonedit.CheckObject(line) != nil {
		return append(out, line...)
	}
	if !bytes.Contains(line, nameOfID) && !bytes.Contains(line, nameOfLeaf) {
		return append(out, "{}"...)
	}
	copied := 0
	for at := 0; ; {
		i := bytes.IndexByte(line[at:], '"')
		if i < 0 {
			return append(out, line[copied:]...)
		}
		i, at = at+i, endOfText(line, at+i)
		if at-i > longText {
			out = append(out, line[copied:i]...)
			out = appendShortText(out, line[i:at])
			copied = at
		}
	}
}

// endOfText returns where a JSON string that begins at i ends.
func endOfText(line []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(line[i:], '"')
		escapes := 0
		for line[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

// appendShortText appends a JSON string, of a long one the beginning, if that is not blank.
func appendShortText(out, text []byte) []byte {
	if len(text) <= longText || len(text) > largestImage {
		return append(out, text...)
	}
	cut := longText
	for cut > longText-16 && (text[cut]&0xc0 == 0x80 || bytes.IndexByte(text[cut-6:cut], '\\') >= 0) {
		cut--
	}
	before := len(out)
	out = append(append(out, text[:cut]...), '"')
	if short, ok := jsonedit.Text(out[before:]); !ok || IsBlank(short) {
		return append(out[:before], text...)
	}
	return out
}
