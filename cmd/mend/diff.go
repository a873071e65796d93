package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"mend/change"
	"mend/internal/term"
)

// maxLine is the number of characters of a line that a diff shows. A stored message is one
// line.
const maxLine = 160

// indent is the indentation of one level of JSON.
const indent = "  "

// hasDiff reports whether changes of the record are shown as a diff.
func hasDiff(r change.Ref) bool {
	return r.Kind != change.KindFolder && r.Kind != change.KindFile
}

func opMark(o change.Op) string {
	switch {
	case o.Pre == nil:
		return "+"
	case o.Post == nil:
		return "-"
	}
	return "~"
}

// printDiff prints the diff of two images.
func printDiff(t *term.Terminal, pre, post *change.Image) {
	if t.JSON {
		return
	}
	var text []byte
	eachDiffLine(pre, post, func(line []byte) {
		text = append(append(append(text[:0], "      "...), colorLine(line[0], shortenLine(string(line)))...), '\n')
		_, _ = t.Write(text) // Lost reports it
	})
}

// colorLine returns a diff line in the colour of its sign.
func colorLine(sign byte, line string) string {
	switch sign {
	case '+':
		return term.Added(line)
	case '-':
		return term.Removed(line)
	}
	return term.Faint(line)
}

// diffLines returns the lines of the diff of two images, without its header.
func diffLines(pre, post *change.Image) (lines []string) {
	eachDiffLine(pre, post, func(line []byte) { lines = append(lines, string(line)) })
	return lines
}

// eachDiffLine calls yield for each line of the diff of two images; nil is no record. The line
// is valid until yield returns.
func eachDiffLine(pre, post *change.Image, yield func(line []byte)) {
	if before, after, ok := imageTexts(pre, post); ok {
		eachLineDiff(before, after, yield)
	} else {
		diffValues(pre, post, yield)
	}
	if pre != nil && post != nil && pre.Mode != post.Mode {
		yield(fmt.Appendf(nil, "-mode %v", pre.Mode))
		yield(fmt.Appendf(nil, "+mode %v", post.Mode))
	}
}

// eachLineDiff calls yield for each line of the diff of two texts.
func eachLineDiff(before, after []byte, yield func(line []byte)) {
	n := 0
	for line := range bytes.Lines(diff.Diff("before", before, "after", after)) {
		if n++; n > 3 && !bytes.HasPrefix(line, []byte("@@")) && len(line) > 1 {
			yield(cutBytes(bytes.TrimSuffix(line, []byte("\n"))))
		}
	}
}

// imageTexts returns the text forms of two images, and whether they are short enough for a
// diff of lines.
func imageTexts(pre, post *change.Image) (before, after []byte, ok bool) {
	x, _ := imageData(pre)
	y, _ := imageData(post)
	if len(x)+len(y) > maxDiffText {
		return nil, nil, false
	}
	before, after = imageText(pre), imageText(post)
	return before, after, len(before)+len(after) <= maxDiffText
}

// imageText returns the text form of an image, nil for nil: JSON is indented, binary data is
// replaced by its size, and the columns of a row follow.
func imageText(i *change.Image) []byte {
	if i == nil {
		return nil
	}
	data, cols := imageData(i)
	var text bytes.Buffer
	if tooDeep(data) || json.Indent(&text, data, "", indent) != nil {
		text.Write(shownText(data))
	}
	text.WriteByte('\n')
	text.Write(colsText(cols))
	return text.Bytes()
}

// imageData returns the data of an image, and the columns of a row beside it.
func imageData(i *change.Image) ([]byte, change.Cols) {
	if i == nil {
		return nil, change.Cols{}
	}
	if row, err := change.RowOf(change.Ref{}, i); err == nil {
		return row.Data, row.Cols
	}
	return i.Data, change.Cols{}
}

// shownText returns the data, or its size if it is no text.
func shownText(data []byte) []byte {
	if utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
		return data
	}
	return fmt.Appendf(nil, "(%s that are no text)", term.Size(int64(len(data))))
}

func colsText(cols change.Cols) (text []byte) {
	for c := range cols.All {
		text = append(append(text, cutBytes(fmt.Appendf(nil, "%s = %s", c.Name, formatCol(c)))...), '\n')
	}
	return text
}

// cutBytes returns as much of a line as may be shown.
func cutBytes(line []byte) []byte {
	const most = maxLine * utf8.UTFMax
	if len(line) <= most {
		return line
	}
	return append(line[:most:most], "…"...)
}

// tooDeep reports whether the text is nested so deeply that its indented lines would show only
// white space. Indented, it would be as long as the square of the depth.
func tooDeep(data []byte) bool {
	open, inString := 0, false
	for i := 0; i < len(data) && open <= maxLine/len(indent); i++ {
		switch c := data[i]; {
		case c == '"':
			inString = !inString
		case c == '\\' && inString:
			i++ // skip the escaped byte
		case inString:
		case c == '{' || c == '[':
			open++
		case c == '}' || c == ']':
			open--
		}
	}
	return open > maxLine/len(indent)
}

func formatCol(c change.Col) string {
	if n, ok := c.Int(); ok {
		return fmt.Sprint(n)
	}
	switch c.Class {
	case change.ClassNull:
		return "NULL"
	case change.ClassText:
		return string(c.Bytes)
	default:
		return fmt.Sprintf("x'%x'", c.Bytes)
	}
}

func shortenLine(line string) string {
	n := 0 // characters
	for i := range line {
		if n++; n > maxLine {
			line = string([]rune(line[:i])) + "…"
			break
		}
	}
	return term.Escape(line)
}
