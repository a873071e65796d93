package wire

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// A value is the text of one JSON value, nil where there is none; what is asked
// of it is what a program in JavaScript asks, which is how the agent comes to
// its answers. See [session.Field] for where the two ways of reading agree.
type value jsontext.Value

// An object is a JSON object taken apart one level deep.
type object map[string]value

// parse reads data as JSON.parse does, and reports whether it is one value.
// Of two equal names the last counts, and bytes that are not UTF-8 are replaced.
func parse(data []byte) (value, bool) {
	d := decoder(data)
	raw, err := d.ReadValue()
	if err != nil {
		return nil, false
	}
	end := int(d.InputOffset())
	_, err = d.ReadToken()
	return data[end-len(raw) : end], errors.Is(err, io.EOF)
}

func decoder(data []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(data), // a Buffer is read in place
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// kind is the first byte of the value in jsontext's manner, 0 for none.
func (v value) kind() jsontext.Kind {
	if len(v) == 0 {
		return 0
	}
	return jsontext.Value(v).Kind()
}

// null reports whether reading a member of v would throw: null, or not there.
func (v value) null() bool { return v.kind() == 0 || v.kind() == 'n' }

// truthy reports whether an if would take v for true.
func (v value) truthy() bool {
	switch v.kind() {
	case 0, 'n', 'f':
		return false
	case '"':
		return len(v) > 2
	case '0':
		f, err := strconv.ParseFloat(string(v), 64)
		return f != 0 || err != nil
	default:
		return true
	}
}

// object is v taken apart. What is no object has no members.
func (v value) object() object {
	if v.kind() != '{' {
		return nil
	}
	o := object{}
	d := decoder(v)
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return o
		}
		key := name.String()
		raw, err := d.ReadValue()
		if err != nil {
			return o
		}
		end := int(d.InputOffset())
		o[key] = v[end-len(raw) : end]
	}
	return o
}

// list is the elements of v, and whether it is a list.
func (v value) list() ([]value, bool) {
	if v.kind() != '[' {
		return nil, false
	}
	var all []value
	d := decoder(v)
	if _, err := d.ReadToken(); err != nil {
		return nil, false
	}
	for d.PeekKind() != ']' {
		raw, err := d.ReadValue()
		if err != nil {
			return all, true
		}
		end := int(d.InputOffset())
		all = append(all, v[end-len(raw):end])
	}
	return all, true
}

// str is v as a string, and whether it is one.
func (v value) str() (string, bool) {
	if v.kind() != '"' {
		return "", false
	}
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil && len(b) == 0 { // invalid UTF-8 comes with the replaced text
		return "", false
	}
	return string(b), true
}

// compact is v without the white space between its tokens, as JSON.stringify
// writes it.
func (v value) compact() string {
	c := jsontext.Value(bytes.Clone(v))
	if err := c.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return string(v)
	}
	return string(c)
}

// text is v as a string joined to another one would be.
func (v value) text() string {
	switch v.kind() {
	case 0:
		return "undefined"
	case '{':
		return "[object Object]"
	default:
	}
	if s, ok := v.str(); ok {
		return s
	}
	return string(v)
}
