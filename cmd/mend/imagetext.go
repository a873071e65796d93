package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"hash/crc32"
	"iter"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"mend/change"
)

// An imageText is the text form of an image. JSON is indented. The columns of a row follow the
// data. Binary data is replaced by its size. Lines are generated one at a time, because all
// lines together may be much larger than the image.
type imageText struct {
	data []byte
	raw  bool // do not indent data
	cols change.Cols
}

func newImageText(i *change.Image) imageText {
	s := imageText{data: i.Data}
	if row, err := change.RowOf(change.Ref{}, i); err == nil {
		s.data, s.cols = row.Data, row.Cols
	}
	if s.raw = tooDeep(s.data) || !json.Valid(s.data); s.raw && (!utf8.Valid(s.data) || bytes.IndexByte(s.data, 0) >= 0) {
		s.data = fmt.Appendf(nil, "(%s that are no text)", size(int64(len(s.data))))
	}
	return s
}

// lines calls yield for each line, including its newline. The line is valid until yield
// returns.
func (s imageText) lines(yield func(line []byte)) {
	l := newLineSplitter(yield)
	in := indenter{raw: s.raw}
	var piece []byte
	for at := 0; at < len(s.data); {
		if n := in.literal(s.data[at:]); n > 0 {
			l.write(s.data[at : at+n])
			at += n
			continue
		}
		piece = in.step(piece[:0], s.data[at])
		l.write(piece)
		at++
	}
	l.write([]byte{'\n'})
	for c := range s.cols.All {
		l.write(fmt.Appendf(nil, "%s = %s\n", c.Name, formatCol(c)))
	}
}

// maxWindow is the maximum size in bytes of two texts that are compared line by line. A
// comparison needs about twenty times as much memory.
const maxWindow = 1 << 20

// eachWindow calls yield for consecutive windows of both texts. Short texts are one window.
// For longer texts it omits most of the common lines, but keeps the context of each change.
// The slices are valid until yield returns.
func eachWindow(x, y imageText, yield func(before, after []byte)) {
	before, after, ok := x.shortTexts(y, maxWindow)
	if ok {
		yield(before, after)
		return
	}
	before, after = nil, nil // of this window
	xs, ys := x.checksums(), y.checksums()
	nextX, stopX := iter.Pull(x.chunks())
	defer stopX()
	nextY, stopY := iter.Pull(y.chunks())
	defer stopY()
	newX, newY := changedChunks(xs, ys)
	for i, j := 0, 0; i < len(xs) || j < len(ys); {
		changedX, changedY := i < len(xs) && newX[i], j < len(ys) && newY[j]
		if changedX {
			chunk, _ := nextX()
			before = append(before, chunk...)
			i++
		}
		if changedY {
			chunk, _ := nextY()
			after = append(after, chunk...)
			j++
		}
		if changedX || changedY {
			if len(before)+len(after) > maxWindow {
				yield(before, after)
				before, after = before[:0], after[:0]
			}
			continue
		}
		same, _ := nextX()
		_, _ = nextY()
		i, j = i+1, j+1
		head, tail := ends(same)
		yield(append(before, head...), append(after, head...))
		before, after = append(before[:0], tail...), append(after[:0], tail...)
	}
	yield(before, after)
}

// shortTexts returns both texts if they have at most limit bytes together.
func (s imageText) shortTexts(o imageText, limit int) (text, other []byte, ok bool) {
	if len(s.data)+len(o.data) > limit {
		return nil, nil, false
	}
	n := 0
	add := func(text *[]byte) func([]byte) {
		return func(line []byte) {
			if n += len(line); n <= limit {
				*text = append(*text, line...)
			}
		}
	}
	s.lines(add(&text))
	o.lines(add(&other))
	return text, other, n <= limit
}

// contextLines is the number of unchanged lines that a diff shows around a change.
const contextLines = 3

// ends returns the first and last contextLines lines of a text.
func ends(text []byte) (head, tail []byte) {
	n := 0
	for range contextLines {
		n += bytes.IndexByte(text[n:], '\n') + 1
	}
	m := len(text)
	for range contextLines {
		m = bytes.LastIndexByte(text[:max(m-1, 0)], '\n') + 1
	}
	return text[:n], text[m:]
}

// The number of lines of a chunk.
const (
	minChunk     = 32
	averageChunk = 128
	maxChunk     = 1024
)

// chunks returns the text in chunks of whole lines. The boundaries depend only on nearby
// lines, so two texts have the same chunks again soon after a change. A chunk is valid until
// the next one.
func (s imageText) chunks() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var chunk []byte
		n, more := 0, true
		end := func() {
			more = more && yield(chunk)
			chunk, n = chunk[:0], 0
		}
		s.lines(func(line []byte) {
			chunk = append(chunk, line...)
			if n++; n == maxChunk || n >= minChunk && crc32.ChecksumIEEE(line)%averageChunk == 0 {
				end()
			}
		})
		if n > 0 {
			end()
		}
	}
}

type checksum [sha256.Size]byte

// checksums returns a checksum for each chunk.
func (s imageText) checksums() (sums []checksum) {
	for chunk := range s.chunks() {
		sums = append(sums, sha256.Sum256(chunk))
	}
	return sums
}

// changedChunks reports which elements of x and y differ. The others are equal and in the same
// order.
func changedChunks(x, y []checksum) (newX, newY []bool) {
	newX, newY = make([]bool, len(x)), make([]bool, len(y))
	i, j := 0, 0
	for n, line := range bytes.Split(diff.Diff("before", checksumLines(x), "after", checksumLines(y)), []byte("\n")) {
		switch {
		case n < 3 || len(line) == 0:
		case line[0] == '@':
			var countX, countY int
			if _, err := fmt.Sscanf(string(line), "@@ -%d,%d +%d,%d @@", &i, &countX, &j, &countY); err != nil {
				panic(fmt.Sprintf("mend: a diff of checksums has the line %q", line))
			}
			i, j = i-min(countX, 1), j-min(countY, 1) // diff counts lines from 1, or from 0 in an empty range
		case line[0] == '-':
			newX[i] = true
			i++
		case line[0] == '+':
			newY[j] = true
			j++
		default:
			i, j = i+1, j+1
		}
	}
	return newX, newY
}

func checksumLines(sums []checksum) (text []byte) {
	for _, s := range sums {
		text = fmt.Appendf(text, "%x\n", s)
	}
	return text
}

// An indenter indents valid JSON as [json.Indent] does, one byte at a time. The zero value is
// ready to use.
type indenter struct {
	raw                        bool // copy the input
	depth                      int
	newlineDue                 bool // after { or [: a newline follows unless the object or array is empty
	inString, escaped, started bool // in a string; after a backslash; after the first byte that is not white space
}

// literal returns the number of bytes at the start of data that are copied unchanged, contain
// no newline and do not change the state.
func (in *indenter) literal(data []byte) int {
	special := "\n"
	switch {
	case in.raw:
	case in.escaped || in.newlineDue || !in.started:
		return 0
	case in.inString:
		special = `"\`
	default:
		special = "{}[],:\" \t\r\n"
	}
	if n := bytes.IndexAny(data, special); n >= 0 {
		return n
	}
	return len(data)
}

// step appends the output for the byte c.
func (in *indenter) step(b []byte, c byte) []byte {
	switch {
	case in.raw:
	case in.escaped:
		in.escaped = false
	case in.inString:
		in.inString, in.escaped = c != '"', c == '\\'
	case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		if in.depth > 0 || in.newlineDue || !in.started {
			return b
		}
	default:
		return in.token(b, c)
	}
	return append(b, c)
}

// token is step for a byte outside of strings that is not white space.
func (in *indenter) token(b []byte, c byte) []byte {
	in.started = true
	end := c == '}' || c == ']'
	switch {
	case in.newlineDue && end:
		in.newlineDue = false
	case in.newlineDue:
		in.newlineDue = false
		in.depth++
		b = in.newline(b)
	case end:
		in.depth--
		b = in.newline(b)
	}
	b = append(b, c)
	switch c {
	case '{', '[':
		in.newlineDue = true
	case ',':
		b = in.newline(b)
	case ':':
		b = append(b, ' ')
	case '"':
		in.inString = true
	}
	return b
}

func (in *indenter) newline(b []byte) []byte {
	b = append(b, '\n')
	for range in.depth {
		b = append(b, indent...)
	}
	return b
}

// A lineSplitter splits a text into lines. It keeps only as much of a long line as a diff
// shows, and a checksum of the whole, so that different lines stay different.
type lineSplitter struct {
	yield func(line []byte)
	line  []byte
	sum   hash.Hash
	long  bool // the line is too long; sum has all of it
}

func newLineSplitter(yield func([]byte)) *lineSplitter {
	return &lineSplitter{yield: yield, sum: sha256.New()}
}

// maxShownBytes is how many bytes of a line can be shown.
const maxShownBytes = maxLine * utf8.UTFMax

// write adds bytes of the text.
func (l *lineSplitter) write(b []byte) {
	for len(b) > 0 {
		n := bytes.IndexByte(b, '\n') + 1
		if n == 0 {
			l.add(b)
			return
		}
		l.add(b[:n])
		l.end()
		b = b[n:]
	}
}

func (l *lineSplitter) add(b []byte) {
	if !l.long && len(l.line)+len(b) > maxShownBytes+2*sha256.Size+1 {
		l.long = true
		l.sum.Reset()
		l.sum.Write(l.line)
	}
	if !l.long {
		l.line = append(l.line, b...)
		return
	}
	l.sum.Write(b)
	if room := maxShownBytes - len(l.line); room > 0 {
		l.line = append(l.line, b[:min(room, len(b))]...)
	}
}

func (l *lineSplitter) end() {
	if l.long {
		l.line = fmt.Appendf(l.line[:maxShownBytes], "%x\n", l.sum.Sum(nil))
	}
	l.yield(l.line)
	l.line, l.long = l.line[:0], false
}
