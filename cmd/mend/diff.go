package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"mend/change"
	"mend/session"
)

// maxLine is how much of one line of a diff is shown: a stored message is one
// line, however long.
const maxLine = 160

// printOps shows what the ops do, record by record, as coloured diffs.
func (a *app) printOps(ops []change.Op) {
	defer a.atOnce()()
	for _, o := range ops {
		a.printf("  %s %s %s\n", bold(verbMark(o)+" "+o.Verb()), o.Ref.Kind, o.Ref)
		if o.Ref.Kind != session.KindFolder {
			a.printDiff(o.Pre, o.Post)
		}
	}
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

// printDiff shows how one image becomes the other.
func (a *app) printDiff(pre, post *change.Image) {
	for _, line := range diffLines(pre, post) {
		shown := oneDiffLine(line)
		switch line[0] {
		case '+':
			shown = added(shown)
		case '-':
			shown = gone(shown)
		default:
			shown = faint(shown)
		}
		a.printf("      %s\n", shown)
	}
}

// diffLines is the difference of two images, a line each, without the head that
// names files.
func diffLines(pre, post *change.Image) []string {
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
	switch {
	case json.Indent(&b, data, "", "  ") == nil:
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		fmt.Fprintf(&b, "(%s that are no text)", size(int64(len(data))))
	default:
		b.Write(data)
	}
	b.WriteByte('\n')
	for _, c := range cols {
		fmt.Fprintf(&b, "%s = %s\n", c.Name, colText(c))
	}
	return b.Bytes()
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
	if utf8.RuneCountInString(line) > maxLine {
		line = string([]rune(line)[:maxLine]) + "…"
	}
	return printable(line)
}
