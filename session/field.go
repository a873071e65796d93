package session

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Field is the text of the value at path, and whether data is an object that
// has one there. Of two equal names the last is meant, as in the agent.
func Field(data []byte, path ...string) ([]byte, bool) {
	o := NewOutline(data)
	if o == nil || len(path) == 0 {
		return nil, false
	}
	v := o.Root()
	for _, name := range path {
		v = v.Get(name)
	}
	return v.Raw(), v.Kind() != 0
}

// SetField returns data with the value at path replaced by raw, which must be
// one JSON value, and every other byte as it was. Where the last name of the
// path is missing it is added behind the last member, with that object's own
// white space, or in an empty object with one step more than that of the object
// around it; the objects above it must be there. Of two equal names the last is
// meant, as in the agent.
//
// The error says that data is not an object, or that a step of the path is
// missing or is no object.
func SetField(data, raw []byte, path ...string) ([]byte, error) {
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

// RemoveField returns data without the member at path, and with every other
// byte as it was, but for the comma and the white space that belonged to it.
// Without such a member data comes back unchanged. Errors as of [SetField].
func RemoveField(data []byte, path ...string) ([]byte, error) {
	s, err := descend(data, path)
	if err != nil {
		return nil, err
	}
	m, ok := s.obj.get(path[len(path)-1])
	if !ok {
		return data, nil
	}
	// Of two equal names the first would count once the last is gone.
	return RemoveField(cutMember(data, s.at+m.start, s.at+m.end), path...)
}

func cutMember(data []byte, start, end int) []byte {
	white := len(whiteBefore(data, start))
	if before := start - white - 1; before >= 0 && data[before] == ',' {
		return splice(data, before, end, nil)
	}
	next := bytes.TrimLeft(data[end:], " \t\r\n")
	if len(next) > 0 && next[0] == ',' { // the first of several: what follows takes its place
		rest := bytes.TrimLeft(next[1:], " \t\r\n")
		return splice(data, start, len(data)-len(rest), nil)
	}
	return splice(data, start-white, len(data)-len(next), nil)
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
		if s.obj, err = parseObject(m.raw); err != nil {
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

// Quote is s as a JSON string, escaped as the agent's own JSON.stringify does
// it: nothing more than quotes, backslashes and control characters.
func Quote(s string) []byte {
	b, _ := jsontext.AppendQuote(nil, s) // the error tells of invalid UTF-8, which is replaced
	return b
}
