package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fatih/color"
	"github.com/rogpeppe/go-internal/diff"

	"mend/change"
	"mend/session"
)

// maxLine is how much of one line of a diff is shown: a stored message is one
// line, however long.
const maxLine = 160

// indent is what each level of JSON is indented by.
const indent = "  "

// printOps shows what the ops do, record by record, as coloured diffs.
func (a *app) printOps(ops []change.Op) {
	defer a.atOnce()()
	for _, o := range ops {
		if o.Ref.Kind == session.KindFile {
			a.printFile(o)
			continue
		}
		a.printf("  %s %s %s\n", bold(verbMark(o)+" "+o.Verb()), o.Ref.Kind, o.Ref)
		if hasDiff(o.Ref) {
			a.printDiff(o.Pre, o.Post)
		}
	}
}

// printFile shows what becomes of a file of the user's own, whose contents are theirs
// and may be anything.
func (a *app) printFile(o change.Op) {
	verb, i := "move away", o.Pre
	if i == nil {
		verb, i = "put back", o.Post
	}
	a.printf("  %s file %s  %s\n", bold(verbMark(o)+" "+verb), o.Ref, faint(size(int64(len(i.Data)))+", mode "+i.Mode.String()))
}

// hasDiff reports whether what an op does to the record is shown as a diff.
func hasDiff(r session.Ref) bool {
	return r.Kind != session.KindFolder && r.Kind != session.KindFile
}

func verbMark(o change.Op) string {
	switch {
	case o.Pre == nil:
		return "+"
	case o.Post == nil:
		return "-"
	}
	return "~"
}

// printDiff shows how one image becomes the other. There are many lines, so they
// are put together by hand.
func (a *app) printDiff(pre, post *change.Image) {
	if a.asJSON {
		return
	}
	lines := diffLines(pre, post)
	text := make([]byte, 0, len(lines)*maxLine/2)
	for _, line := range lines {
		text = append(append(append(text, "      "...), painted(line[0], oneDiffLine(line))...), '\n')
	}
	_, _ = a.Write(text) // a.lost has the error
}

// painted is a line in the colour that its sign has in a diff.
func painted(sign byte, line string) string {
	switch {
	case color.NoColor: // the rest costs as much as making the line
		return line
	case sign == '+':
		return added(line)
	case sign == '-':
		return gone(line)
	}
	return faint(line)
}

// diffLines is the difference of two images, a line each, without the head that
// names files.
func diffLines(pre, post *change.Image) []string {
	switch {
	case pre == nil:
		return signed("+", lines(post))
	case post == nil:
		return signed("-", lines(pre))
	}
	text := diff.Diff("before", lines(pre), "after", lines(post))
	var out []string
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if i < 3 || line == "" || strings.HasPrefix(line, "@@") || strings.HasPrefix(line, `\ No newline`) {
			continue
		}
		out = append(out, line)
	}
	if pre != nil && post != nil && pre.Mode != post.Mode {
		out = append(out, fmt.Sprintf("-mode %v", pre.Mode), fmt.Sprintf("+mode %v", post.Mode))
	}
	return out
}

// signed is the lines of the text, each behind the sign.
func signed(sign string, text []byte) []string {
	var out []string
	for line := range strings.Lines(string(text)) {
		out = append(out, sign+strings.TrimSuffix(line, "\n"))
	}
	return out
}

// lines is an image as text of many lines: JSON is indented, whatever its own
// white space; of a row the columns are shown below the data; what is no text is
// told by its size.
func lines(i *change.Image) []byte {
	if i == nil {
		return nil
	}
	data := i.Data
	var cols []session.Col
	if row, err := change.RowOf(session.Ref{}, i); err == nil {
		data, cols = row.Data, row.Cols
	}
	var b bytes.Buffer
	b.Grow(len(data) + len(data)/2)
	switch {
	case !deep(data) && json.Indent(&b, data, "", indent) == nil:
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		fmt.Fprintf(&b, "(%s that are no text)", size(int64(len(data))))
	default:
		b.Write(data)
	}
	b.WriteByte('\n')
	for _, c := range cols {
		fmt.Fprintf(&b, "%s = %s\n", c.Name, colText(c))
	}
	return shortLines(b.Bytes())
}

// shortLines is the text with a checksum in the place of what is never shown of long
// lines, so that lines differ as before and a diff holds no copies of them.
func shortLines(text []byte) []byte {
	const most = maxLine * utf8.UTFMax
	short := make([]byte, 0, min(len(text), 1<<16))
	for line := range bytes.Lines(text) {
		if len(line) <= most+2*sha256.Size+1 {
			short = append(short, line...)
			continue
		}
		short = fmt.Appendf(append(short, line[:most]...), "%x\n", sha256.Sum256(line))
	}
	return short
}

// deep reports whether the objects and lists of the text lie in each other so deep
// that their lines, indented, would show nothing but white space; together those
// are as long as the square of the depth.
func deep(data []byte) bool {
	open, inString := 0, false
	for i := 0; i < len(data) && open <= maxLine/len(indent); i++ {
		switch c := data[i]; {
		case c == '"':
			inString = !inString
		case c == '\\' && inString:
			i++ // what it escapes is no quote
		case inString:
		case c == '{' || c == '[':
			open++
		case c == '}' || c == ']':
			open--
		}
	}
	return open > maxLine/len(indent)
}

func colText(c session.Col) string {
	if n, ok := c.Int(); ok {
		return fmt.Sprint(n)
	}
	switch c.Class {
	case session.ClassNull:
		return "NULL"
	case session.ClassText:
		return string(c.Bytes)
	default:
		return fmt.Sprintf("x'%x'", c.Bytes)
	}
}

func oneDiffLine(line string) string {
	n := 0 // characters
	for i := range line {
		if n++; n > maxLine {
			line = string([]rune(line[:i])) + "…"
			break
		}
	}
	return printable(line)
}
