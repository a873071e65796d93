package transcript

import (
	"bytes"
	"encoding/json"
	"io"

	"mend/jsonedit"
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
}

// Parse returns the lines of a file. What they hold aliases data.
func Parse(data []byte) []Line {
	var lines []Line
	for start := 0; start < len(data); {
		end := start + bytes.IndexByte(data[start:], '\n')
		if end < start {
			end = len(data)
		}
		l := Line{Start: start, End: end, Raw: data[start:end]}
		l.parse(data)
		lines = append(lines, l)
		start = l.End + 1
	}
	return lines
}

// NewLine returns a line that is to be appended.
func NewLine(raw []byte) Line {
	l := Line{End: len(raw), Raw: raw}
	l.parse(raw)
	return l
}

// parse finds the record of a line.
func (l *Line) parse(data []byte) {
	text := bytes.TrimSpace(l.Raw)
	if len(data) > largeFile {
		text = bytes.TrimLeft(text, "\x00")
	}
	if len(text) == 0 || text[0] != '{' {
		return
	}
	switch {
	case json.Valid(text):
	default:
		value, n := firstValue(text)
		if value == nil {
			l.parseSeveral(data)
			return
		}
		text, l.Rest = value, text[n:]
	}
	if jsonedit.CheckObject(text) == nil {
		l.Record = newRecord(text)
	}
}

// parseSeveral reads a record that goes on behind the end of the line.
func (l *Line) parseSeveral(data []byte) {
	if l.End >= len(data) || len(l.Raw) > 2 && l.Raw[len(l.Raw)-1] > '~' {
		return
	}
	value, n := firstValue(data[l.Start:])
	if value == nil || jsonedit.CheckObject(value) != nil {
		return
	}
	end := l.Start + n
	if next := bytes.IndexByte(data[end:], '\n'); next >= 0 {
		end += next
	} else {
		end = len(data)
	}
	l.End, l.Raw, l.Several = end, data[l.Start:end], true
	l.Record = newRecord(value)
}

// firstValue returns the JSON value with which data begins, nil if there is none, and where
// it ends.
func firstValue(data []byte) ([]byte, int) {
	var raw json.RawMessage
	d := json.NewDecoder(io.Reader(bytes.NewReader(data)))
	if d.Decode(&raw) != nil {
		return nil, 0
	}
	return raw, int(d.InputOffset())
}

// FirstObject returns the JSON object with which data begins, nil if there is none, and what
// follows it.
func FirstObject(data []byte) (object, rest []byte) {
	value, n := firstValue(data)
	if value == nil || jsonedit.CheckObject(value) != nil {
		return nil, data
	}
	return value, data[n:]
}
