package jsonedit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// Get is the text of the value at path, and whether data is an object that
// has one there. Of two equal names the last is meant, as in the agent.
func Get(data []byte, path ...string) ([]byte, bool) {
	if len(path) == 0 {
		return nil, false
	}
	v := Parse(data)
	for _, name := range path {
		v = v.Get(name)
	}
	return v.Raw(), v.Kind() != 0
}

// Set returns data with the value at path replaced by raw, which must be
// one JSON value, and every other byte as it was. Where the last name of the
// path is missing it is added behind the last member, with that object's own
// white space, or in an empty object with one step more than that of the object
// around it; the objects above it must be there. Of two equal names the last is
// meant, as in the agent.
//
// The error says that data is not an object, or that a step of the path is
// missing or is no object.
func Set(data, raw []byte, path ...string) ([]byte, error) {
	s, err := descend(data, path)
	if err != nil {
		return nil, err
	}
	name := path[len(path)-1]
	if m, ok := s.obj.get(name); ok {
		return splice(data, s.at+m.value, s.at+m.end, raw), nil
	}
	quoted := Quote(name)
	ms := s.obj
	if len(ms) == 0 {
		return s.fill(data, quoted, raw), nil
	}
	indent := whiteBefore(data, s.at+ms[0].start)
	last := ms[len(ms)-1]
	end := s.at + last.end
	return splice(data, end, end, slices.Concat([]byte(","), indent, quoted, colonOf(data, s.at, last), raw)), nil
}

// Remove returns data without the member at path, and with every other
// byte as it was, but for the comma and the white space that belonged to it.
// Without such a member data comes back unchanged. Errors as of [Set].
func Remove(data []byte, path ...string) ([]byte, error) {
	s, err := descend(data, path)
	if err != nil {
		return nil, err
	}
	name := path[len(path)-1]
	if _, ok := s.obj.get(name); !ok {
		return data, nil
	}
	// All of them: of two equal names the first would count once the last is gone.
	return s.without(data, map[string]bool{name: true}), nil
}

// without is data without the object's members of those names.
func (s *site) without(data []byte, names map[string]bool) []byte {
	all := make([]element, len(s.obj))
	for i, m := range s.obj {
		all[i] = element{s.at + m.start, s.at + m.end}
	}
	return without(data, all, func(i int) bool { return names[string(s.obj[i].name)] })
}

// EditMembers returns the object that data is with the values of its members as edit
// returns them, and without the members that edit does not keep: every other byte is
// as [Set] and [Remove] leave it. Of equal names edit gets the last. The
// error says that data is not an object.
func EditMembers(data []byte, edit func(name string, raw []byte) (to []byte, keep bool)) ([]byte, error) {
	obj, err := parseObject(data)
	if err != nil {
		return nil, fmt.Errorf("editing an object: %w", err)
	}
	last := make(map[string]int, len(obj))
	for i, m := range obj {
		last[string(m.name)] = i
	}
	var out []byte
	at, gone := 0, map[string]bool{}
	for i, m := range obj {
		if last[string(m.name)] != i {
			continue
		}
		to, keep := edit(string(m.name), data[m.value:m.end])
		if !keep {
			gone[string(m.name)] = true
			continue
		}
		out, at = append(append(out, data[at:m.value]...), to...), m.end
	}
	out = append(out, data[at:]...)
	if len(gone) == 0 {
		return out, nil
	}
	if obj, err = parseObject(out); err != nil {
		return nil, fmt.Errorf("editing an object: %w", err)
	}
	return (&site{obj: obj}).without(out, gone), nil
}

// A site is the object that holds the last name of a path: the object taken
// apart, and where in the text it begins.
type site struct {
	obj object
	at  int

	// What an empty object takes its white space from: that before and within
	// the member that holds it, which stands depth objects deep.
	indent, colon []byte
	depth         int
}

func descend(data []byte, path []string) (site, error) {
	if len(path) == 0 {
		return site{}, errors.New("editing a field: no name given")
	}
	obj, err := parseObject(data)
	if err != nil {
		return site{}, fmt.Errorf("editing field %q: %w", path[0], err)
	}
	s := site{obj: obj, colon: []byte(":")}
	for _, name := range path[:len(path)-1] {
		m, ok := s.obj.get(name)
		if !ok {
			return site{}, fmt.Errorf("editing field %q: it is missing", name)
		}
		if s.obj, err = parseObject(data[s.at+m.value : s.at+m.end]); err != nil {
			return site{}, fmt.Errorf("editing field %q: %w", name, err)
		}
		s.indent, s.colon = whiteBefore(data, s.at+m.start), colonOf(data, s.at, m)
		s.at += m.value
		s.depth++
	}
	return s, nil
}

// fill puts the first member into an object that has none.
func (s *site) fill(data, name, raw []byte) []byte {
	open := s.at + bytes.IndexByte(data[s.at:], '{') + 1
	member := slices.Concat(name, s.colon, raw)
	line := bytes.LastIndexByte(s.indent, '\n')
	if line < 0 || data[open] != '}' {
		return splice(data, open, open, member)
	}
	step := s.indent[line+1:]
	step = step[:len(step)/s.depth]
	return splice(data, open, open, slices.Concat(s.indent, step, member, s.indent))
}

// colonOf is what stands between the name and the value of a member of the
// object that begins at at.
func colonOf(data []byte, at int, m member) []byte {
	text := data[at+m.start : at+m.value]
	i := bytes.LastIndexByte(text, ':')
	return text[i-len(whiteBefore(text, i)):]
}

func whiteBefore(data []byte, at int) []byte {
	i := at
	for i > 0 && bytes.IndexByte([]byte(" \t\r\n"), data[i-1]) >= 0 {
		i--
	}
	return data[i:at]
}

func splice(data []byte, from, to int, with []byte) []byte {
	return slices.Concat(data[:from], with, data[to:])
}
