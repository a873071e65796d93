package session

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Unquote is the text of a JSON string; "" for what is none.
func Unquote(raw []byte) string {
	b, err := jsontext.AppendUnquote(nil, raw)
	if err != nil && len(b) == 0 { // invalid UTF-8 comes with the replaced text
		return ""
	}
	return string(b)
}

// Names are the names of the members of the object at path, sorted; nil where
// there is no object.
func Names(data []byte, path ...string) []string {
	raw, ok := Field(data, path...)
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
	return names
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
	raw, ok := Field(data, path...)
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
	found, ok := elements(m.raw, s.at+m.value)
	if !ok {
		return nil, fmt.Errorf("editing field %q: it is no list", name)
	}
	for _, e := range slices.Backward(found) {
		if drop(data[e.start:e.end]) {
			data = cutMember(data, e.start, e.end)
		}
	}
	return data, nil
}
