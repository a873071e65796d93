package transcript

import (
	"bytes"

	"mend/internal/jsonedit"
)

// largeFile is the size in bytes from which the program skips NUL bytes before a record.
const largeFile = 5 << 20

// A Line is a line of a transcript, or several lines that hold one record.
type Line struct {
	Start, End int     // in the file, without the newline
	Raw        []byte  // the bytes between
	Record     *Record // nil if the program cannot read the line
	Rest       []byte  // what follows the record on the line, which the program does not read
	Several    bool    // the record is spread over several lines
	Marked     bool    // a byte order mark is before the record
}

// Parse returns the lines of a file. What they hold aliases data.
func Parse(data []byte) []Line {
	size := int64(len(data))
	lines := make([]Line, 0, bytes.Count(data, newline)+1)
	budget := joinedShare * len(data)
	var last *Record
	for start := 0; start < len(data); {
		end := start + bytes.IndexByte(data[start:], '\n')
		if end < start {
			end = len(data)
		}
		l := Line{Start: start, End: end, Raw: data[start:end]}
		l.Marked = start == 0 && bytes.HasPrefix(l.Raw, byteOrderMark)
		l.parse(data, size, &budget, last)
		if l.Record != nil {
			last = l.Record
		}
		lines = append(lines, l)
		start = l.End + 1
	}
	return lines
}

// NewLine returns a line that is to be appended.
func NewLine(raw []byte) Line {
	l := Line{End: len(raw), Raw: raw}
	l.parse(raw, int64(len(raw)), new(int), nil)
	return l
}

// joinedShare limits how much is read of records that are perhaps spread over several lines, as a
// share of the file: each torn line may begin one that reaches to the end.
const joinedShare = 4

var newline = []byte("\n")

// byteOrderMark is what some editors put before a text. The program skips it at the beginning of a
// file.
var byteOrderMark = []byte("\ufeff")

// parse finds the record of a line. budget is how many bytes after torn lines may still be read; before
// is the record of an earlier line, nil for none.
func (l *Line) parse(data []byte, size int64, budget *int, before *Record) {
	text := l.Raw
	if l.Marked {
		text = text[len(byteOrderMark):]
	}
	text = bytes.TrimSpace(text)
	if size > largeFile {
		text = bytes.TrimLeft(text, "\x00")
	}
	if len(text) == 0 || text[0] != '{' {
		return
	}
	object := jsonedit.Parse(text)
	if object.Kind() == 0 {
		value, n := jsonedit.First(text)
		if value == nil {
			l.parseSeveral(data, budget, before)
			return
		}
		l.Rest = text[n:]
		object = jsonedit.Parse(value)
	}
	if object.Kind() == '{' {
		l.Record = newRecord(object, before)
	}
}

// parseSeveral reads a record that goes on after the end of the line.
func (l *Line) parseSeveral(data []byte, budget *int, before *Record) {
	if *budget <= 0 || l.End >= len(data) || len(l.Raw) > 2 && l.Raw[len(l.Raw)-1] > '~' {
		return
	}
	value, n := jsonedit.First(data[l.Start:])
	*budget -= n
	object := jsonedit.Parse(value)
	if object.Kind() != '{' {
		return
	}
	end := l.Start + n
	if next := bytes.IndexByte(data[end:], '\n'); next >= 0 {
		end += next
	} else {
		end = len(data)
	}
	l.End, l.Raw, l.Several = end, data[l.Start:end], true
	l.Record = newRecord(object, before)
}
