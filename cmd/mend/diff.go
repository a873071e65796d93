package main

import (
	"bytes"
	"fmt"

	"github.com/rogpeppe/go-internal/diff"

	"mend/change"
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
func (a *app) printDiff(pre, post *change.Image) {
	if a.asJSON {
		return
	}
	var text []byte
	eachDiffLine(pre, post, func(line []byte) {
		text = append(append(append(text[:0], "      "...), colorLine(line[0], shortenLine(string(line)))...), '\n')
		_, _ = a.Write(text) // a.writeErr keeps it
	})
}

// colorLine returns a diff line in the colour of its sign.
func colorLine(sign byte, line string) string {
	switch sign {
	case '+':
		return added(line)
	case '-':
		return removed(line)
	}
	return faint(line)
}

// diffLines returns the lines of the diff of two images, without its header.
func diffLines(pre, post *change.Image) (lines []string) {
	eachDiffLine(pre, post, func(line []byte) { lines = append(lines, string(line)) })
	return lines
}

// eachDiffLine calls yield for each line of the diff of two images. The line is valid
// until yield returns.
func eachDiffLine(pre, post *change.Image, yield func(line []byte)) {
	switch {
	case pre == nil:
		eachPrefixed('+', post, yield)
		return
	case post == nil:
		eachPrefixed('-', pre, yield)
		return
	}
	eachWindow(newImageText(pre), newImageText(post), func(before, after []byte) {
		n := 0
		for line := range bytes.Lines(diff.Diff("before", before, "after", after)) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			if n++; n <= 3 || len(line) == 0 || bytes.HasPrefix(line, []byte("@@")) || bytes.HasPrefix(line, []byte(`\ No newline`)) {
				continue
			}
			yield(line)
		}
	})
	if pre.Mode != post.Mode {
		yield(fmt.Appendf(nil, "-mode %v", pre.Mode))
		yield(fmt.Appendf(nil, "+mode %v", post.Mode))
	}
}

// eachPrefixed calls yield for each line of the image, with the sign before it.
func eachPrefixed(sign byte, i *change.Image, yield func(line []byte)) {
	if i == nil {
		return
	}
	signed := []byte{sign}
	newImageText(i).lines(func(line []byte) {
		signed = append(signed[:1], bytes.TrimSuffix(line, []byte("\n"))...)
		yield(signed)
	})
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
	return escape(line)
}
