package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"unicode/utf8"

	"mend/change"
	"mend/session"
)

// A shown is an image as lines of text: JSON is indented, whatever its own white
// space; of a row the columns are shown below the data; what is no text is shown by
// its size. The lines are made one at a time, since together they may be many times
// as long as the image.
type shown struct {
	data []byte
	raw  bool // data is not indented
	cols []session.Col
}

func newShown(i *change.Image) shown {
	s := shown{data: i.Data}
	if row, err := change.RowOf(session.Ref{}, i); err == nil {
		s.data, s.cols = row.Data, row.Cols
	}
	if s.raw = deep(s.data) || !json.Valid(s.data); s.raw && (!utf8.Valid(s.data) || bytes.IndexByte(s.data, 0) >= 0) {
		s.data = fmt.Appendf(nil, "(%s that are no text)", size(int64(len(s.data))))
	}
	return s
}

// lines calls yield for each line, with its end. The line is valid until yield returns.
// It is same if what of it comes from data does so from the first prefix or the last
// suffix bytes.
func (s shown) lines(prefix, suffix int, yield func(line []byte, same bool)) {
	l := newLineCutter(yield)
	in := indenter{raw: s.raw}
	var piece []byte
	for at := 0; at < len(s.data); {
		if n := in.plain(s.data[at:]); n > 0 {
			l.write(s.data[at : at+n])
			at += n
			continue
		}
		l.same = at < prefix || l.begun >= len(s.data)-suffix
		l.at = at
		piece = in.step(piece[:0], s.data[at])
		l.write(piece)
		at++
	}
	l.same, l.at = false, 0
	l.write([]byte{'\n'})
	for _, c := range s.cols {
		l.write(fmt.Appendf(nil, "%s = %s\n", c.Name, colText(c)))
	}
}

// changedLines is the lines of both, without most of those that both have at the
// beginning and at the end.
func changedLines(pre, post shown) (before, after []byte) {
	prefix, suffix := pre.common(post)
	return pre.near(prefix, suffix), post.near(prefix, suffix)
}

// common is how many bytes both have in common at the beginning and at the end, where
// these make the same lines in both.
func (s shown) common(o shown) (prefix, suffix int) {
	if s.raw != o.raw {
		return 0, 0
	}
	most := min(len(s.data), len(o.data))
	for prefix < most && s.data[prefix] == o.data[prefix] {
		prefix++
	}
	for suffix < most-prefix && s.data[len(s.data)-1-suffix] == o.data[len(o.data)-1-suffix] {
		suffix++
	}
	a, b := s.state(len(s.data)-suffix), o.state(len(o.data)-suffix)
	for ; a != b && suffix > 0; suffix-- {
		c := s.data[len(s.data)-suffix]
		a.step(nil, c)
		b.step(nil, c)
	}
	return prefix, suffix
}

// state is that of the indenter behind n bytes.
func (s shown) state(n int) indenter {
	in := indenter{raw: s.raw}
	var piece []byte
	for at := 0; at < n; {
		if skip := in.plain(s.data[at:n]); skip > 0 {
			at += skip
			continue
		}
		piece = in.step(piece[:0], s.data[at])
		at++
	}
	return in
}

// contextLines is how many lines a diff shows before and behind a change.
const contextLines = 3

// near is the lines, of those that are the same at the beginning and at the end only
// as many as a diff can show.
func (s shown) near(prefix, suffix int) (text []byte) {
	var last [contextLines][]byte // of the same lines
	run := 0
	flush := func() {
		for i := max(contextLines, run-contextLines); i < run; i++ {
			text = append(text, last[i%contextLines]...)
		}
		run = 0
	}
	s.lines(prefix, suffix, func(line []byte, same bool) {
		switch {
		case !same:
			flush()
			text = append(text, line...)
		case run < contextLines:
			text = append(text, line...)
			run++
		default:
			kept := &last[run%contextLines]
			*kept = append((*kept)[:0], line...)
			run++
		}
	})
	flush()
	return text
}

// An indenter indents valid JSON as [json.Indent] does, a byte at a time. The zero
// value is at the beginning of a text.
type indenter struct {
	raw           bool // nothing is indented
	depth         int
	due           bool // a line ends before the next byte, unless that ends an empty object or list
	str, esc, any bool // inside a string, behind its backslash; behind the first byte that is no white space
}

// plain is how many bytes at the beginning of data are written as they are, end no line
// and do not change the state.
func (in *indenter) plain(data []byte) int {
	special := "\n"
	switch {
	case in.raw:
	case in.esc || in.due || !in.any:
		return 0
	case in.str:
		special = `"\`
	default:
		special = "{}[],:\" \t\r\n"
	}
	if n := bytes.IndexAny(data, special); n >= 0 {
		return n
	}
	return len(data)
}

// step appends to b what the byte becomes.
func (in *indenter) step(b []byte, c byte) []byte {
	switch {
	case in.raw:
	case in.esc:
		in.esc = false
	case in.str:
		in.str, in.esc = c != '"', c == '\\'
	case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		if in.depth > 0 || in.due || !in.any {
			return b
		}
	default:
		return in.token(b, c)
	}
	return append(b, c)
}

// token is step for a byte that is neither in a string nor white space.
func (in *indenter) token(b []byte, c byte) []byte {
	in.any = true
	end := c == '}' || c == ']'
	switch {
	case in.due && end:
		in.due = false
	case in.due:
		in.due = false
		in.depth++
		b = in.newline(b)
	case end:
		in.depth--
		b = in.newline(b)
	}
	b = append(b, c)
	switch c {
	case '{', '[':
		in.due = true
	case ',':
		b = in.newline(b)
	case ':':
		b = append(b, ' ')
	case '"':
		in.str = true
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

// A lineCutter cuts a text into lines. It holds as much of a line as a diff shows, with
// a checksum in the place of the rest, so that lines differ as before.
type lineCutter struct {
	yield func(line []byte, same bool)
	line  []byte
	sum   hash.Hash
	long  bool // the line is longer than is held; sum has all of it

	same  bool // set by the caller, for the lines that end now
	at    int  // where in the data the caller is
	begun int  // where it was when the line began
}

func newLineCutter(yield func([]byte, bool)) *lineCutter {
	return &lineCutter{yield: yield, sum: sha256.New()}
}

// mostShown is how many bytes of a line can be shown.
const mostShown = maxLine * utf8.UTFMax

// write takes the next bytes of the text.
func (l *lineCutter) write(b []byte) {
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

func (l *lineCutter) add(b []byte) {
	if !l.long && len(l.line)+len(b) > mostShown+2*sha256.Size+1 {
		l.long = true
		l.sum.Reset()
		l.sum.Write(l.line)
	}
	if !l.long {
		l.line = append(l.line, b...)
		return
	}
	l.sum.Write(b)
	if room := mostShown - len(l.line); room > 0 {
		l.line = append(l.line, b[:min(room, len(b))]...)
	}
}

func (l *lineCutter) end() {
	if l.long {
		l.line = fmt.Appendf(l.line[:mostShown], "%x\n", l.sum.Sum(nil))
	}
	l.yield(l.line, l.same)
	l.line, l.long, l.begun = l.line[:0], false, l.at
}
