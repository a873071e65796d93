package transcript

import (
	"bytes"

	"mend/internal/jsonedit"
)

// largeFile is the size in bytes above which Claude Code skips NUL bytes before a record, and does not load the
// records before the last compaction.
const largeFile = 5 << 20

// A Line is a line of a transcript.
type Line struct {
	Start, End int     // in the file, without the newline
	Raw        []byte  // the bytes of the line
	Record     *Record // nil if Claude Code cannot read the line
	Rest       []byte  // bytes after the record, which Claude Code does not read
	Marked     bool    // a byte order mark is before the record
}

// Parse returns the lines of a file. They share the bytes of data.
func Parse(data []byte) []Line {
	large := len(data) > largeFile
	lines := make([]Line, 0, bytes.Count(data, newline)+1)
	for start := 0; start < len(data); {
		end := start + bytes.IndexByte(data[start:], '\n')
		if end < start {
			end = len(data)
		}
		l := Line{Start: start, End: end, Raw: data[start:end]}
		l.Marked = start == 0 && bytes.HasPrefix(l.Raw, byteOrderMark)
		l.parse(large)
		lines = append(lines, l)
		start = end + 1
	}
	return lines
}

// NewLine parses a single line, which is not at the beginning of a file.
func NewLine(raw []byte) Line {
	l := Line{End: len(raw), Raw: raw}
	l.parse(len(raw) > largeFile)
	return l
}

var newline = []byte("\n")

// byteOrderMark is written by some editors before a text. Claude Code skips it at the beginning of a file.
var byteOrderMark = []byte("\ufeff")

// parse finds the record of the line in a file that may be large.
func (l *Line) parse(large bool) {
	text := l.Raw
	if l.Marked {
		text = text[len(byteOrderMark):]
	}
	text = bytes.TrimSpace(text)
	if large {
		text = bytes.TrimLeft(text, "\x00")
	}
	if len(text) == 0 || text[0] != '{' {
		return
	}
	object := jsonedit.Parse(text)
	if object.Kind() == 0 {
		value, n := jsonedit.First(text)
		if value == nil {
			return
		}
		l.Rest = text[n:]
		object = jsonedit.Parse(value)
	}
	if object.Kind() == '{' {
		l.Record = newRecord(object)
	}
}
