// Package show prints plans, diffs, journal entries and sessions as text, and converts them to JSON. It opens no store
// and no journal.
//
// It may import agent, change, cmd/mend/internal/agents, internal/jsonedit, internal/keep, internal/mend,
// internal/term, journal and repair. Read [Entry] and [EntryJSON] first.
package show

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/term"
)

// maxLine is the number of characters of a line that a diff shows. A stored message is a single line.
const maxLine = 160

// HasDiff reports whether a diff is shown for changes of the record.
func HasDiff(r change.Ref) bool {
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
	EachDiffLine(pre, post, func(line []byte) {
		t.Printf("      %s\n", colorLine(line[0], ShortenLine(string(line))))
	})
}

// colorLine returns a diff line in the colour of its sign.
func colorLine(sign byte, line string) term.Text {
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
	EachDiffLine(pre, post, func(line []byte) { lines = append(lines, string(line)) })
	return lines
}

// imageData returns the data of an image, and for a row its other columns.
func imageData(i *change.Image) ([]byte, change.Cols) {
	if i == nil {
		return nil, change.Cols{}
	}
	if row, err := change.RowOf(change.Ref{}, i); err == nil {
		return row.Data, row.Cols
	}
	return i.Data, change.Cols{}
}

// shownText returns the data, or its size if it is not text.
func shownText(data []byte) []byte {
	if utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
		return data
	}
	return fmt.Appendf(nil, "(%s of binary data)", term.Size(int64(len(data))))
}

// cutBytes returns the part of a line that is shown.
func cutBytes(line []byte) []byte {
	const most = maxLine * utf8.UTFMax
	if len(line) <= most {
		return line
	}
	return append(line[:most:most], "…"...)
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

// ShortenLine cuts a line of a diff that is too long to read.
func ShortenLine(line string) string {
	n := 0 // characters
	for i := range line {
		if n++; n > maxLine {
			line = string([]rune(line[:i])) + "…"
			break
		}
	}
	return line
}

// A structDiff compares two records value by value, and shows each removed and added value with its path.
type structDiff struct {
	yield func(line []byte)
	path  []byte // of the current value
	shown bool   // a line was yielded
}

// EachDiffLine calls yield for each line of the diff of two images; nil means that the record does not exist. The line
// is valid until yield returns.
func EachDiffLine(pre, post *change.Image, yield func(line []byte)) {
	d := structDiff{yield: yield}
	x, xCols := imageData(pre)
	y, yCols := imageData(post)
	switch a, b := jsonedit.Parse(x), jsonedit.Parse(y); {
	case bytes.Equal(x, y):
	case a.Kind() == 0 && b.Kind() == 0:
		d.texts(shownText(x), shownText(y))
	case a.Kind() == 0 && pre != nil:
		d.line('-', shownText(x))
		d.leaves('+', b)
	case b.Kind() == 0 && post != nil:
		d.leaves('-', a)
		d.line('+', shownText(y))
	default:
		d.value(a, b)
	}
	if !d.shown && !bytes.Equal(x, y) {
		d.line(' ', []byte("the values are the same: the white space or the order of the members differs"))
	}
	diffCols(xCols, yCols, yield)
	if pre != nil && post != nil && pre.Mode != post.Mode {
		yield(fmt.Appendf(nil, "-mode %v", pre.Mode))
		yield(fmt.Appendf(nil, "+mode %v", post.Mode))
	}
}

// diffCols calls yield for the columns that differ.
func diffCols(pre, post change.Cols, yield func(line []byte)) {
	line := func(sign byte, c change.Col) {
		yield(cutBytes(fmt.Appendf(nil, "%c%s = %s", sign, c.Name, formatCol(c))))
	}
	added := slices.Collect(post.All)
	for c := range pre.All {
		i := slices.IndexFunc(added, func(o change.Col) bool { return o.Name == c.Name })
		if i >= 0 && added[i].Class == c.Class && bytes.Equal(added[i].Bytes, c.Bytes) {
			added = slices.Delete(added, i, i+1)
			continue
		}
		line('-', c)
		if i >= 0 {
			line('+', added[i])
			added = slices.Delete(added, i, i+1)
		}
	}
	for _, c := range added {
		line('+', c)
	}
}

// value compares two values at the same path; the zero Value means that there is none.
func (d *structDiff) value(x, y jsonedit.Value) {
	switch {
	case bytes.Equal(x.Raw(), y.Raw()):
	case d.isDeep():
		d.texts(x.Raw(), y.Raw())
	case x.Kind() == '{' && y.Kind() == '{':
		d.members(x, y)
	case x.Kind() == '[' && y.Kind() == '[':
		d.elements(children(x), children(y))
	case x.Kind() == '"' && y.Kind() == '"':
		d.texts(x.Raw(), y.Raw())
	default:
		d.leaves('-', x)
		d.leaves('+', y)
	}
}

// members compares two objects. If several members have the same name, only the last is compared.
func (d *structDiff) members(x, y jsonedit.Value) {
	before, after := map[string]jsonedit.Value{}, map[string]jsonedit.Value{}
	for name, v := range x.Children() {
		before[string(name)] = v
	}
	for name, v := range y.Children() {
		after[string(name)] = v
	}
	for name, v := range x.Children() {
		d.withMember(name, func() { d.value(v, after[string(name)]) })
	}
	for name, v := range y.Children() {
		if _, ok := before[string(name)]; !ok {
			d.withMember(name, func() { d.leaves('+', v) })
		}
	}
}

// nearby is how many elements are searched for the point where two lists are equal again.
const nearby = 64

// elements compares two lists.
func (d *structDiff) elements(x, y []jsonedit.Value) {
	for i, j := 0, 0; i < len(x) || j < len(y); {
		removed, added := nextEqual(x[i:], y[j:])
		if removed == 0 && added == 0 {
			i, j = i+1, j+1
			continue
		}
		for ; removed > 0 && added > 0; removed, added = removed-1, added-1 {
			d.withIndex(j, func() { d.value(x[i], y[j]) })
			i, j = i+1, j+1
		}
		for ; removed > 0; removed-- {
			d.withIndex(i, func() { d.leaves('-', x[i]) })
			i++
		}
		for ; added > 0; added-- {
			d.withIndex(j, func() { d.leaves('+', y[j]) })
			j++
		}
	}
}

// nextEqual returns how many elements to skip in each list until the next ones are equal, or both lists end.
func nextEqual(x, y []jsonedit.Value) (inX, inY int) {
	equal := func(i, j int) bool {
		return i < len(x) && j < len(y) && bytes.Equal(x[i].Raw(), y[j].Raw())
	}
	for n := range nearby {
		switch {
		case equal(n, 0):
			return n, 0
		case equal(0, n):
			return 0, n
		case equal(n, n):
			return n, n
		}
	}
	if len(x) <= nearby || len(y) <= nearby {
		return len(x), len(y)
	}
	return nearby, nearby
}

func children(v jsonedit.Value) (all []jsonedit.Value) {
	for _, c := range v.Children() {
		all = append(all, c)
	}
	return all
}

// leaves shows an added or removed value, with one line for each text, number and empty list in it.
func (d *structDiff) leaves(sign byte, v jsonedit.Value) {
	i := 0
	for name, c := range v.Children() {
		if d.isDeep() {
			break
		}
		if v.Kind() == '[' {
			d.withIndex(i, func() { d.leaves(sign, c) })
		} else {
			d.withMember(name, func() { d.leaves(sign, c) })
		}
		i++
	}
	if i == 0 && v.Kind() != 0 {
		d.line(sign, v.Raw())
	}
}

// isDeep reports whether the path is so long that the value is shown as one text.
func (d *structDiff) isDeep() bool { return len(d.path) > maxLine }

// texts shows two texts, beginning shortly before the point where they differ.
func (d *structDiff) texts(x, y []byte) {
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	for n = max(n-maxLine/4, 0); n > 0 && n < len(x) && !utf8.RuneStart(x[n]); {
		n--
	}
	for _, t := range []struct {
		sign byte
		text []byte
	}{{'-', x}, {'+', y}} {
		if n > 0 {
			t.text = append([]byte("…"), cutBytes(t.text[n:])...)
		}
		if len(x) > 0 || t.sign == '+' {
			d.line(t.sign, t.text)
		}
	}
}

// withMember calls fn with a member's name added to the path.
func (d *structDiff) withMember(name []byte, fn func()) {
	n := len(d.path)
	if n > 0 {
		d.path = append(d.path, '.')
	}
	d.path = append(d.path, name...)
	fn()
	d.path = d.path[:n]
}

// withIndex calls fn with an element's index added to the path.
func (d *structDiff) withIndex(i int, fn func()) {
	n := len(d.path)
	d.path = fmt.Appendf(d.path, "[%d]", i)
	fn()
	d.path = d.path[:n]
}

// line yields a line with the path.
func (d *structDiff) line(sign byte, text []byte) {
	d.shown = true
	b := []byte{sign}
	if path := d.path; len(path) > 0 {
		if over := len(path) - maxLine/2; over > 0 {
			b, path = append(b, "…"...), path[over:]
		}
		b = append(append(b, path...), ": "...)
	}
	d.yield(bytes.ReplaceAll(append(b, cutBytes(text)...), []byte{'\n'}, []byte{' '}))
}

// OpWord returns a word for the change of an op.
func OpWord(o change.Op) string {
	switch {
	case o.Ref.Kind == change.KindFile && o.Post == nil:
		return "move away"
	case o.Ref.Kind == change.KindFile:
		return "put back"
	}
	return o.Verb()
}

// Ops prints the diff of each op.
func Ops(t *term.Terminal, ops []change.Op) {
	defer t.Buffer()()
	for _, o := range ops {
		if o.Ref.Kind == change.KindFile { // a user file: its content is not shown
			i := cmp.Or(o.Pre, o.Post)
			t.Printf("  %s file %s  %s\n", term.Bold(opMark(o)+" "+OpWord(o)), o.Ref, term.Faint(term.Size(int64(len(i.Data)))+", mode "+i.Mode.String()))
			continue
		}
		t.Printf("  %s %s\n", term.Bold(opMark(o)+" "+o.Verb()), o.Ref)
		if HasDiff(o.Ref) {
			printDiff(t, o.Pre, o.Post)
		}
	}
}
