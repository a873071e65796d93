package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// newDecoder reads as the agent's JSON.parse does: the last of two equal names
// counts, and bytes that are not UTF-8 become U+FFFD instead of an error.
func newDecoder(data []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(data), // a Buffer is read in place
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// object is a JSON object taken apart one level deep.
type object map[string]member

// A member is where one member of an object stands in the text: name, colon and
// value with the white space between them, from start to end; the value from
// value to end.
type member struct {
	start, value, end int
	raw               jsontext.Value
}

var errNotObject = errors.New("not a JSON object")

// parseObject takes apart data, which must be one JSON object and nothing else.
// The whole text is checked, so that a truncated document is always an error.
func parseObject(data []byte) (object, error) {
	d := newDecoder(data)
	obj, err := readMembers(d, data)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("more text behind the object, at byte %d", d.InputOffset())
	}
	return obj, nil
}

func readMembers(d *jsontext.Decoder, data []byte) (object, error) {
	tok, err := d.ReadToken()
	if err != nil {
		return nil, parseError(d, err)
	}
	if tok.Kind() != '{' {
		return nil, errNotObject
	}
	obj := object{}
	for {
		tok, err := d.ReadToken()
		if err != nil {
			return nil, parseError(d, err)
		}
		if tok.Kind() == '}' {
			return obj, nil
		}
		name := tok.String()
		nameEnd := int(d.InputOffset())
		raw, err := d.ReadValue()
		if err != nil {
			return nil, parseError(d, err)
		}
		end := int(d.InputOffset())
		obj[name] = member{
			start: nameStart(data, nameEnd), value: end - len(raw), end: end,
			raw: jsontext.Value(data[end-len(raw) : end]),
		}
	}
}

// nameStart finds where the string that ends before end begins: at the last
// quote before it that no odd number of backslashes precedes.
func nameStart(data []byte, end int) int {
	for i := end - 2; i >= 0; i-- {
		if data[i] != '"' {
			continue
		}
		n := 0
		for n < i && data[i-1-n] == '\\' {
			n++
		}
		if n%2 == 0 {
			return i
		}
	}
	return 0
}

func parseError(d *jsontext.Decoder, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the text ends early, at byte %d", d.InputOffset())
	}
	return fmt.Errorf("not JSON at byte %d", d.InputOffset())
}

// str is the member as a string, and whether it is one.
func (o object) str(name string) (string, bool) {
	m, ok := o[name]
	if !ok || m.raw.Kind() != '"' {
		return "", false
	}
	b, err := jsontext.AppendUnquote(nil, m.raw)
	if err != nil && len(b) == 0 { // invalid UTF-8 comes with the replaced text
		return "", false
	}
	return string(b), true
}

// int is the member as a whole number of milliseconds or the like, and whether
// it is a number that an int64 holds.
func (o object) int(name string) (int64, bool) {
	m, ok := o[name]
	if !ok || m.raw.Kind() != '0' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(m.raw), 64)
	if err != nil || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// isTrue reports whether the member is the literal true.
func (o object) isTrue(name string) bool {
	return o[name].raw.Kind() == 't'
}

// sub is the member taken apart as an object, and whether it is one.
func (o object) sub(name string) (object, bool) {
	m, ok := o[name]
	if !ok || m.raw.Kind() != '{' {
		return nil, false
	}
	sub, err := parseObject(m.raw)
	return sub, err == nil
}

// SetField returns data with the value at path replaced by raw, which must be
// one JSON value, and every other byte as it was. Where the last name of the
// path is missing it is added behind the last member, with that object's own
// white space; the objects above it must be there. Of two equal names the last
// is meant, as in the agent.
//
// The error says that data is not an object, or that a step of the path is
// missing or is no object.
func SetField(data, raw []byte, path ...string) ([]byte, error) {
	obj, at, err := descend(data, path)
	if err != nil {
		return nil, err
	}
	name := path[len(path)-1]
	if m, ok := obj[name]; ok {
		return splice(data, at+m.value, at+m.end, raw), nil
	}
	quoted, err := jsontext.AppendQuote(nil, name)
	if err != nil {
		return nil, fmt.Errorf("setting field %q: %w", name, err)
	}
	ms := obj.inOrder()
	if len(ms) == 0 {
		open := at + bytes.IndexByte(data[at:], '{') + 1
		return splice(data, open, open, slices.Concat(quoted, []byte(":"), raw)), nil
	}
	first, last := ms[0], ms[len(ms)-1]
	indent := whiteBefore(data, at+first.start)
	colon := data[at+last.start : at+last.value]
	colon = colon[bytes.LastIndexByte(colon, ':'):]
	end := at + last.end
	return splice(data, end, end, slices.Concat([]byte(","), indent, quoted, colon, raw)), nil
}

// RemoveField returns data without the member at path, and with every other
// byte as it was, but for the comma and the white space that belonged to it.
// Without such a member data comes back unchanged. Errors as of [SetField].
func RemoveField(data []byte, path ...string) ([]byte, error) {
	obj, at, err := descend(data, path)
	if err != nil {
		return nil, err
	}
	m, ok := obj[path[len(path)-1]]
	if !ok {
		return data, nil
	}
	// Of two equal names the first would count once the last is gone.
	return RemoveField(cutMember(data, at+m.start, at+m.end), path...)
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

// descend takes apart the object that holds the last name of path, and tells
// where in data that object begins.
func descend(data []byte, path []string) (obj object, at int, err error) {
	if len(path) == 0 {
		return nil, 0, errors.New("editing a field: no name given")
	}
	if obj, err = parseObject(data); err != nil {
		return nil, 0, fmt.Errorf("editing field %q: %w", path[0], err)
	}
	for _, name := range path[:len(path)-1] {
		m, ok := obj[name]
		if !ok {
			return nil, 0, fmt.Errorf("editing field %q: it is missing", name)
		}
		at += m.value
		if obj, err = parseObject(m.raw); err != nil {
			return nil, 0, fmt.Errorf("editing field %q: %w", name, err)
		}
	}
	return obj, at, nil
}

// inOrder lists the members as they stand in the text.
func (o object) inOrder() []member {
	ms := make([]member, 0, len(o))
	for _, m := range o {
		ms = append(ms, m)
	}
	slices.SortFunc(ms, func(a, b member) int { return a.start - b.start })
	return ms
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
