package jsonedit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// A path has the names of nested members, and the indexes of list elements: "0" is the first.

// Get returns the text of the value at path, which aliases data, and whether it exists. If several members have the
// same name, the last one counts. An empty path finds nothing.
func Get(data []byte, path ...string) ([]byte, bool) {
	v := find(data, path)
	return v.Raw(), v.Kind() != 0
}

// find returns the value at path, or the zero Value.
func find(data []byte, path []string) Value {
	if len(path) == 0 {
		return Value{}
	}
	v := Parse(data)
	for _, name := range path {
		v = v.step(name)
	}
	return v
}

// step returns the member of an object with that name, or the element of a list with that index; or the zero Value.
func (v Value) step(name string) Value {
	n, err := strconv.Atoi(name)
	if v.Kind() != '[' || err != nil {
		return v.Get(name)
	}
	for e := range v.Elements() {
		if n == 0 {
			return e
		}
		n--
	}
	return Value{}
}

// Names returns the names of the members of the object at path, sorted and each once; nil if it is not an object.
func Names(data []byte, path ...string) []string {
	v := find(data, path)
	if v.Kind() != '{' {
		return nil
	}
	var names []string
	for name := range v.Children() {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Elements returns the texts of the elements of the list at path, and whether there is a list. Without a path, data
// itself is the list. The texts alias data.
func Elements(data []byte, path ...string) ([][]byte, bool) {
	v := Parse(data)
	if len(path) > 0 {
		v = find(data, path)
	}
	if v.Kind() != '[' {
		return nil, false
	}
	var all [][]byte
	for e := range v.Elements() {
		all = append(all, e.Raw())
	}
	return all, true
}

// Set returns data with the value at path replaced by raw, which must be one JSON value. Every other byte is
// unchanged. If the last name of the path is missing, Set adds it after the last member, without white space. The
// objects and lists around it must exist. If several members have the same name, the last one counts.
//
// It returns an error if data, or a value on the path before the last one, is missing or neither an object nor a list.
func Set(data, raw []byte, path ...string) ([]byte, error) {
	parent, err := findParent(data, path)
	if err != nil {
		return nil, err
	}
	name := path[len(path)-1]
	if v := parent.step(name); v.Kind() != 0 {
		n := v.node()
		return splice(data, int(n.start), int(n.end), raw), nil
	}
	if parent.Kind() == '[' {
		return nil, fmt.Errorf("editing field %q: %w", name, errMissing)
	}
	at, comma := int(parent.node().start)+1, ""
	for _, v := range parent.Children() {
		at, comma = int(v.node().end), ","
	}
	return splice(data, at, at, slices.Concat([]byte(comma), Quote(name), []byte{':'}, raw)), nil
}

// Remove returns data without the member or element at path, or without all members if several have the name. Only the
// commas and the white space around them change, too. If there is no such value it returns data itself. Errors are as
// for [Set].
func Remove(data []byte, path ...string) ([]byte, error) {
	parent, err := findParent(data, path)
	if err != nil {
		return nil, err
	}
	name := path[len(path)-1]
	v := parent.step(name)
	if v.Kind() == 0 {
		return data, nil
	}
	element := parent.Kind() == '['
	return parent.edit(func(n string, e Value) ([]byte, bool) {
		return e.Raw(), element && e.node().start != v.node().start || !element && n != name
	}), nil
}

// Edit returns data with the value at path replaced by the result of edit, or removed if the result is nil. The error
// is as for [Set], comes from edit, or means that the value is missing.
func Edit(data []byte, edit func(raw []byte) ([]byte, error), path ...string) ([]byte, error) {
	raw, ok := Get(data, path...)
	if !ok {
		return nil, fmt.Errorf("editing field %q: %w", path, errMissing)
	}
	edited, err := edit(raw)
	switch {
	case err != nil:
		return nil, err
	case edited == nil:
		return Remove(data, path...)
	}
	return Set(data, edited, path...)
}

// EditMembers returns the object in data with the values of its members replaced by the results of edit, and without
// the members that edit does not keep. Every other byte is as after [Set] and [Remove]. If several members have the
// same name, edit gets the last one, and the others stay if edit keeps it. raw aliases data. It returns an error if
// data is not an object.
func EditMembers(data []byte, edit func(name string, raw []byte) (edited []byte, keep bool)) ([]byte, error) {
	obj := Parse(data)
	if obj.Kind() != '{' {
		return nil, fmt.Errorf("editing an object: %w", CheckObject(data))
	}
	type member struct {
		value  Value
		edited []byte
		keep   bool
	}
	last := map[string]*member{}
	for name, v := range obj.Children() {
		last[string(name)] = &member{value: v}
	}
	for name, v := range obj.Children() {
		if m := last[string(name)]; m.value == v {
			m.edited, m.keep = edit(string(name), v.Raw())
		}
	}
	return obj.edit(func(name string, v Value) ([]byte, bool) {
		if m := last[name]; m.value == v || !m.keep {
			return m.edited, m.keep
		}
		return v.Raw(), true
	}), nil
}

// EditElements returns the list in data with every element replaced by the result of edit, and without the elements for
// which it returns nil. Every other byte is as after [Set] and [Remove]. It returns a copy of data if that is not a
// list. raw aliases data.
func EditElements(data []byte, edit func(raw []byte) []byte) []byte {
	list := Parse(data)
	if list.Kind() != '[' {
		return bytes.Clone(data)
	}
	return list.edit(func(_ string, e Value) ([]byte, bool) {
		edited := edit(e.Raw())
		return edited, edited != nil
	})
}

// RemoveElements is [EditElements] that only removes the elements that drop accepts.
func RemoveElements(data []byte, drop func(raw []byte) bool) []byte {
	return EditElements(data, func(raw []byte) []byte {
		if drop(raw) {
			return nil
		}
		return raw
	})
}

var errMissing = errors.New("it is missing")

// findParent returns the object or the list that contains the last name of a path. The object need not have that
// member yet.
func findParent(data []byte, path []string) (Value, error) {
	if len(path) == 0 {
		return Value{}, errors.New("editing a field: no name given")
	}
	v := Parse(data)
	if v.Kind() != '{' && v.Kind() != '[' {
		return Value{}, fmt.Errorf("editing field %q: %w", path[0], CheckObject(data))
	}
	for _, name := range path[:len(path)-1] {
		v = v.step(name)
		switch v.Kind() {
		case 0:
			return Value{}, fmt.Errorf("editing field %q: %w", name, errMissing)
		case '{', '[':
		default:
			return Value{}, fmt.Errorf("editing field %q: %w", name, errNotObject)
		}
	}
	name := path[len(path)-1]
	if _, err := strconv.Atoi(name); err != nil && v.Kind() == '[' {
		return Value{}, fmt.Errorf("editing field %q: %w", name, errNotObject)
	}
	return v, nil
}

// edit returns the whole text with the members or elements of the value replaced by the results of f. It removes
// members or elements that f does not keep, with their commas and white space.
func (v Value) edit(f func(name string, e Value) (edited []byte, keep bool)) []byte {
	data := v.index.text
	out, at, kept := make([]byte, 0, len(data)), 0, false
	cut := func(from, to int) { out, at = append(out, data[at:from]...), to }
	first, end := -1, 0 // start of the elements dropped before the first kept one, and end of the last one
	for name, e := range v.Children() {
		n := e.node()
		start := n.memberStart()
		end = int(n.end)
		edited, keep := f(string(name), e)
		switch {
		case keep:
			if !kept && first >= 0 {
				cut(first, start) // the next element takes its place
			}
			kept = true
			cut(int(n.start), end)
			out = append(out, edited...)
		case kept:
			comma := start - len(spaceBefore(data, start)) - 1
			cut(comma, end)
		case first < 0:
			first = start
		}
	}
	if !kept && first >= 0 {
		cut(first-len(spaceBefore(data, first)), skipWhite(data, end))
	}
	return append(out, data[at:]...)
}

// spaceBefore returns the white space before an offset.
func spaceBefore(data []byte, at int) []byte {
	i := at
	for i > 0 && bytes.IndexByte([]byte(" \t\r\n"), data[i-1]) >= 0 {
		i--
	}
	return data[i:at]
}

func splice(data []byte, from, to int, insert []byte) []byte {
	return slices.Concat(data[:from], insert, data[to:])
}

// skipWhite returns the index after any white space at i.
func skipWhite(data []byte, i int) int {
	const white = 1<<' ' | 1<<'\n' | 1<<'\r' | 1<<'\t'
	for i < len(data) && data[i] <= ' ' && uint64(white)>>data[i]&1 == 1 {
		i++
	}
	return i
}
