package main

import (
	"bytes"
	"fmt"

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
	defer a.bufferOutput()()
	for _, o := range ops {
		if o.Ref.Kind == session.KindFile {
			a.printFile(o)
			continue
		}
		a.printf("  %s %s %s\n", bold(opMark(o)+" "+o.Verb()), o.Ref.Kind, o.Ref)
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
	a.printf("  %s file %s  %s\n", bold(opMark(o)+" "+verb), o.Ref, faint(size(int64(len(i.Data)))+", mode "+i.Mode.String()))
}

// hasDiff reports whether what an op does to the record is shown as a diff.
func hasDiff(r session.Ref) bool {
	return r.Kind != session.KindFolder && r.Kind != session.KindFile
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

// printDiff shows how one image becomes the other.
func (a *app) printDiff(pre, post *change.Image) {
	if a.asJSON {
		return
	}
	var text []byte
	eachDiffLine(pre, post, func(line []byte) {
		text = append(append(append(text[:0], "      "...), colorLine(line[0], shortenLine(string(line)))...), '\n')
		_, _ = a.Write(text) // a.lost has the error
	})
}

// colorLine is a line in the colour that its sign has in a diff.
func colorLine(sign byte, line string) string {
	switch {
	case color.NoColor: // the rest costs as much as making the line
		return line
	case sign == '+':
		return added(line)
	case sign == '-':
		return removed(line)
	}
	return faint(line)
}

// diffLines is the difference of two images, a line each, without the head that
// names files.
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

// eachPrefixed calls yield for each line of the image, behind the sign.
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

// tooDeep reports whether the objects and lists of the text lie in each other so deep
// that their lines, indented, would show nothing but white space; together those
// are as long as the square of the depth.
func tooDeep(data []byte) bool {
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

func formatCol(c session.Col) string {
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
