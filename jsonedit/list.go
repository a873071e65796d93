package jsonedit

import (
	"fmt"
	"slices"
)

// Names are the names of the members of the object at path, sorted; nil where
// there is no object.
func Names(data []byte, path ...string) []string {
	raw, ok := Get(data, path...)
	if !ok {
		return nil
	}
	obj, err := parseObject(raw)
	if err != nil {
		return nil
	}
	var names []string
	for _, m := range obj {
		names = append(names, string(m.name))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// An element is where an element of a list stands in the text.
type element struct{ start, end int }

// elements takes apart the list that begins at byte at of a text.
func elements(raw []byte, at int) ([]element, bool) {
	d := newDecoder(raw)
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '[' {
		return nil, false
	}
	var all []element
	for d.PeekKind() != ']' {
		v, err := d.ReadValue()
		if err != nil {
			return nil, false
		}
		end := at + int(d.InputOffset())
		all = append(all, element{end - len(v), end})
	}
	return all, true
}

// Elements are the texts of the elements of the list at path, and whether there
// is a list.
func Elements(data []byte, path ...string) ([][]byte, bool) {
	raw, ok := Get(data, path...)
	if !ok {
		return nil, false
	}
	found, ok := elements(raw, 0)
	var all [][]byte
	for _, e := range found {
		all = append(all, raw[e.start:e.end])
	}
	return all, ok
}

// EachElement calls f for the text of each element of a JSON list, until f returns
// false. It reports whether it came to the end: data is a list and nothing else. It
// may call f before it sees that data is no list.
func EachElement(data []byte, f func(value []byte) bool) bool {
	i := skipWhite(data, 0)
	if i >= len(data) || data[i] != '[' {
		return false
	}
	end := skipList(data, i, 1, f)
	return end >= 0 && skipWhite(data, end) == len(data)
}

// EditElements returns the list that data is with every element as edit returns it,
// and with every other byte as it was. What is no list comes back as it is.
func EditElements(data []byte, edit func(raw []byte) []byte) []byte {
	found, _ := elements(data, 0)
	var out []byte
	at := 0
	for _, e := range found {
		out = append(append(out, data[at:e.start]...), edit(data[e.start:e.end])...)
		at = e.end
	}
	return append(out, data[at:]...)
}

// RemoveElements returns data without the elements of the list at path that drop
// chooses, and with every other byte as it was, but for the commas and the white
// space that belonged to them. The error says that there is no list there.
func RemoveElements(data []byte, drop func(raw []byte) bool, path ...string) ([]byte, error) {
	s, err := descend(data, path)
	if err != nil {
		return nil, err
	}
	name := path[len(path)-1]
	m, ok := s.obj.get(name)
	if !ok {
		return nil, fmt.Errorf("editing field %q: it is missing", name)
	}
	found, ok := elements(data[s.at+m.value:s.at+m.end], s.at+m.value)
	if !ok {
		return nil, fmt.Errorf("editing field %q: it is no list", name)
	}
	return without(data, found, func(i int) bool { return drop(data[found[i].start:found[i].end]) }), nil
}

// without returns data without those of the members of one object, or of the elements
// of one list, that drop chooses: with every other byte as it was, but for the commas
// and the white space that belonged to them.
func without(data []byte, all []element, drop func(i int) bool) []byte {
	out, at, kept := make([]byte, 0, len(data)), 0, false
	cut := func(from, to int) { out, at = append(out, data[at:from]...), to }
	first := -1 // of those dropped before any that is kept
	for i, e := range all {
		switch dropped := drop(i); {
		case dropped && kept:
			comma := e.start - len(whiteBefore(data, e.start)) - 1
			cut(comma, e.end)
		case dropped && first < 0:
			first = i
		case !dropped:
			if !kept && first >= 0 {
				cut(all[first].start, e.start) // what follows takes its place
			}
			kept = true
		}
	}
	if !kept && first >= 0 {
		start := all[first].start
		cut(start-len(whiteBefore(data, start)), skipWhite(data, all[len(all)-1].end))
	}
	return append(out, data[at:]...)
}
