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
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/term"
)

// maxValue is the number of characters of a value that a diff shows. A stored message is a single line.
const maxValue = 160

// maxPath is the number of bytes of a path up to which the value at the path is shown member by member.
const maxPath = 160

// hasDiff reports whether a diff is shown for changes of the record.
func hasDiff(r change.Ref) bool {
	return r.Kind != change.KindFolder && r.Kind != change.KindFile
}

// printDiff prints the diff of two images.
func printDiff(t *term.Terminal, pre, post *change.Image) {
	if t.JSON {
		return
	}
	eachDiffLine(pre, post, func(line string) {
		switch line[0] {
		case '+':
			t.Printf("      %s\n", term.Added(line))
		case '-':
			t.Printf("      %s\n", term.Removed(line))
		default:
			t.Printf("      %s\n", term.Faint(line))
		}
	})
}

// diffLines returns the lines of the diff of two images.
func diffLines(pre, post *change.Image) (lines []string) {
	eachDiffLine(pre, post, func(line string) { lines = append(lines, line) })
	return lines
}

// A leaf is a text, a number or an empty list in a record, or a column of its row. In its path the elements of a list
// have no number, so that an added element changes no other path.
type leaf struct{ path, value []byte }

func (l leaf) equal(o leaf) bool { return bytes.Equal(l.value, o.value) && bytes.Equal(l.path, o.path) }

// leavesOf returns the leaves of an image, none for nil, with its mode if modes is set. Data that is not JSON is one leaf.
func leavesOf(i *change.Image, modes bool) iter.Seq[leaf] {
	return func(yield func(leaf) bool) {
		if i == nil {
			return
		}
		data, cols := i.Data, change.Cols{}
		if row, err := change.RowOf(change.Ref{}, i); err == nil {
			data, cols = row.Data, row.Cols
		}
		more := true
		switch v := jsonedit.Parse(data); {
		case v.Kind() != 0:
			more = eachLeaf(nil, v, yield)
		case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
			more = yield(leaf{value: fmt.Appendf(nil, "(%s of binary data)", term.Size(int64(len(data))))})
		case len(data) > 0:
			more = yield(leaf{value: data})
		}
		for c := range cols.All {
			more = more && yield(leaf{[]byte(c.Name), formatCol(c)})
		}
		if more && modes {
			yield(leaf{[]byte("mode"), []byte(i.Mode.String())})
		}
	}
}

// eachLeaf calls yield for each leaf of a value until it returns false, and reports whether all were yielded.
func eachLeaf(path []byte, v jsonedit.Value, yield func(leaf) bool) bool {
	empty := true
	if len(path) <= maxPath {
		element := append(path[:len(path):len(path)], "[]"...)
		for name, c := range v.Children() {
			at := element
			if v.Kind() == '{' {
				at = bytes.TrimPrefix(slices.Concat(path, []byte{'.'}, name), []byte{'.'})
			}
			if empty = false; !eachLeaf(at, c, yield) {
				return false
			}
		}
	}
	return !empty || yield(leaf{path, v.Raw()})
}

func formatCol(c change.Col) []byte {
	if n, ok := c.Int(); ok {
		return fmt.Append(nil, n)
	}
	switch c.Class {
	case change.ClassNull:
		return []byte("NULL")
	case change.ClassText:
		return c.Bytes
	default:
		return fmt.Appendf(nil, "x'%x'", c.Bytes)
	}
}

// A window has the next leaves of a record: at most nearby, because a record may have millions.
type window struct {
	leaves []leaf
	next   func() (leaf, bool)
}

func newWindow(all iter.Seq[leaf]) (w *window, stop func()) {
	w = &window{}
	w.next, stop = iter.Pull(all)
	w.skip(0)
	return w, stop
}

// skip moves the window by n leaves.
func (w *window) skip(n int) {
	for w.leaves = w.leaves[n:]; len(w.leaves) < nearby; {
		l, ok := w.next()
		if !ok {
			return
		}
		w.leaves = append(w.leaves, l)
	}
}

// eachDiffLine calls yield for each line of the diff of two images; nil means that the record does not exist.
func eachDiffLine(pre, post *change.Image, yield func(line string)) {
	modes := pre != nil && post != nil && pre.Mode != post.Mode
	x, stopX := newWindow(leavesOf(pre, modes))
	defer stopX()
	y, stopY := newWindow(leavesOf(post, modes))
	defer stopY()
	shown := false
	line := func(sign string, l leaf) {
		shown = true
		yield(sign + l.text())
	}
	for len(x.leaves) > 0 || len(y.leaves) > 0 {
		removed, added := nextEqual(x.leaves, y.leaves)
		before, after := x.leaves[:removed], y.leaves[:added]
		x.skip(removed)
		y.skip(added)
		for len(before) > 0 || len(after) > 0 {
			switch {
			case len(before) > 0 && len(after) > 0 && bytes.Equal(before[0].path, after[0].path):
				a, b := cutCommon(before[0], after[0])
				line("-", a)
				line("+", b)
				before, after = before[1:], after[1:]
			case len(before) > 0:
				line("-", before[0])
				before = before[1:]
			default:
				line("+", after[0])
				after = after[1:]
			}
		}
		for len(x.leaves) > 0 && len(y.leaves) > 0 && x.leaves[0].equal(y.leaves[0]) {
			x.skip(1)
			y.skip(1)
		}
	}
	if !shown && pre != nil && post != nil && !pre.Equal(post) {
		yield(" no value shown here differs: the white space, the nesting, a type or binary data does")
	}
}

// nearby is how many leaves are searched for the point where two records are equal again.
const nearby = 64

// nextEqual returns how many leaves to skip in each record until the next ones are equal, or both records end.
func nextEqual(x, y []leaf) (inX, inY int) {
	for n := range nearby {
		for i := range n + 1 {
			if j := n - i; i < len(x) && j < len(y) && x[i].equal(y[j]) {
				return i, j
			}
		}
	}
	return min(nearby, len(x)), min(nearby, len(y))
}

// cutCommon removes the common beginning of two values, except for a few characters before the point where they differ.
func cutCommon(x, y leaf) (leaf, leaf) {
	n := 0
	for n < len(x.value) && n < len(y.value) && x.value[n] == y.value[n] {
		n++
	}
	for n = max(n-maxValue/4, 0); n > 0 && !utf8.RuneStart(x.value[n]); {
		n--
	}
	if n == 0 {
		return x, y
	}
	return leaf{x.path, slices.Concat([]byte("…"), x.value[n:])}, leaf{y.path, slices.Concat([]byte("…"), y.value[n:])}
}

// text returns the leaf as a line, with the end of a long path and the beginning of a long value.
func (l leaf) text() string {
	const most = maxValue * utf8.UTFMax
	value := []rune(string(l.value[:min(len(l.value), most)]))
	text := string(value[:min(len(value), maxValue)])
	if len(value) > maxValue || len(l.value) > most {
		text += "…"
	}
	path := string(l.path)
	if over := len(path) - maxPath/2; over > 0 {
		path = "…" + path[over:]
	}
	if path != "" {
		text = path + ": " + text
	}
	return strings.ReplaceAll(text, "\n", " ")
}

// Ops prints the diff of each op.
func Ops(t *term.Terminal, ops []change.Op) {
	defer t.Buffer()()
	for _, o := range ops {
		if o.Ref.Kind == change.KindFile { // a user file: its content is not shown
			i, what := cmp.Or(o.Pre, o.Post), "+ put back"
			if o.Post == nil {
				what = "- move away"
			}
			t.Printf("  %s file %s  %s\n", term.Bold(what), o.Ref, term.Faint(term.Size(int64(len(i.Data)))+", mode "+i.Mode.String()))
			continue
		}
		mark := map[string]string{"create": "+", "delete": "-", "change": "~"}[o.Verb()]
		t.Printf("  %s %s\n", term.Bold(mark+" "+o.Verb()), o.Ref)
		if hasDiff(o.Ref) {
			printDiff(t, o.Pre, o.Post)
		}
	}
}
