package main

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"mend/change"
	"mend/internal/jsonedit"
)

// maxDiffText is the maximum size in bytes of two texts that are compared line by line. A
// comparison needs about twenty times as much memory.
const maxDiffText = 1 << 20

// A structDiff compares two records that are too long for a diff of lines, value by value:
// it shows the path and the value of what was removed and added.
type structDiff struct {
	yield func(line []byte)
	path  []byte // of the value
	shown bool   // something was yielded
}

// diffValues calls yield for each line of the structural diff of two images; nil is no record.
func diffValues(pre, post *change.Image, yield func(line []byte)) {
	d := structDiff{yield: yield}
	x, xCols := imageData(pre)
	y, yCols := imageData(post)
	if a, b := parseShown(x), parseShown(y); (a.Kind() != 0 || pre == nil) && (b.Kind() != 0 || post == nil) {
		d.value(a, b)
	} else if !bytes.Equal(x, y) {
		d.texts(shownText(x), shownText(y))
	}
	if !d.shown && !bytes.Equal(x, y) {
		d.line(' ', []byte("the values are the same: the white space or the order of the members differs"))
	}
	eachLineDiff(colsText(xCols), colsText(yCols), yield)
}

// parseShown parses data, unless it is nested so deeply that a path would show nothing.
func parseShown(data []byte) jsonedit.Value {
	if tooDeep(data) {
		return jsonedit.Value{}
	}
	return jsonedit.Parse(data)
}

// value compares two values at the same path; a zero Value is none.
func (d *structDiff) value(x, y jsonedit.Value) {
	switch {
	case bytes.Equal(x.Raw(), y.Raw()):
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

// members compares two objects. Of members with equal names the last counts.
func (d *structDiff) members(x, y jsonedit.Value) {
	was, is := map[string]jsonedit.Value{}, map[string]jsonedit.Value{}
	for name, v := range x.Children() {
		was[string(name)] = v
	}
	for name, v := range y.Children() {
		is[string(name)] = v
	}
	for name, v := range x.Children() {
		d.below(name, func() { d.value(v, is[string(name)]) })
	}
	for name, v := range y.Children() {
		if _, ok := was[string(name)]; !ok {
			d.below(name, func() { d.leaves('+', v) })
		}
	}
}

// nearby is how many elements of a list are looked at for the one with which two lists go on
// alike.
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
			d.belowIndex(j, func() { d.value(x[i], y[j]) })
			i, j = i+1, j+1
		}
		for ; removed > 0; removed-- {
			d.belowIndex(i, func() { d.leaves('-', x[i]) })
			i++
		}
		for ; added > 0; added-- {
			d.belowIndex(j, func() { d.leaves('+', y[j]) })
			j++
		}
	}
}

// nextEqual returns how many elements to skip in each list for the next ones to be equal, or to
// reach the end of both.
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

func children(v jsonedit.Value) []jsonedit.Value {
	n := 0
	for range v.Children() {
		n++
	}
	all := make([]jsonedit.Value, 0, n)
	for _, c := range v.Children() {
		all = append(all, c)
	}
	return all
}

// leaves shows a value that was added or removed, each text, number and empty list in it on a line.
func (d *structDiff) leaves(sign byte, v jsonedit.Value) {
	i := 0
	for name, c := range v.Children() {
		if v.Kind() == '[' {
			d.belowIndex(i, func() { d.leaves(sign, c) })
		} else {
			d.below(name, func() { d.leaves(sign, c) })
		}
		i++
	}
	if i == 0 && v.Kind() != 0 {
		d.line(sign, v.Raw())
	}
}

// texts shows two texts from a little before they differ.
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

// below calls fn with a member's name added to the path.
func (d *structDiff) below(name []byte, fn func()) {
	n := len(d.path)
	if n > 0 {
		d.path = append(d.path, '.')
	}
	d.path = append(d.path, name...)
	fn()
	d.path = d.path[:n]
}

// belowIndex calls fn with an element's index added to the path.
func (d *structDiff) belowIndex(i int, fn func()) {
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
