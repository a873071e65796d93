package wire

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mend/session"
)

// parse reads data as JSON.parse does; it is nil for what is not one value. Of
// two equal names the last counts, and bytes that are not UTF-8 are replaced.
func parse(data []byte) *value {
	if v := scan(data); v != nil {
		return v
	}
	d := decoder(data)
	v, err := take(d, data)
	if err != nil {
		return nil
	}
	if _, err = d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil
	}
	return v
}

// scan is parse for the objects and lists that agents write, several times faster;
// it is nil for all else.
func scan(data []byte) *value {
	var room [24]element
	inner, ok := room[:0], false
	data = bytes.Trim(data, " \t\r\n")
	switch {
	case bytes.HasPrefix(data, []byte("{")):
		ok = session.EachMember(data, func(name, raw []byte) bool {
			inner = append(inner, element{name, value{raw: raw}})
			return true
		})
	case bytes.HasPrefix(data, []byte("[")):
		ok = session.EachElement(data, func(raw []byte) bool {
			inner = append(inner, element{value: value{raw: raw}})
			return true
		})
	}
	if !ok {
		return nil
	}
	return &value{raw: data, inner: slices.Clone(inner), taken: true}
}

func decoder(data []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(data), // a Buffer is read in place
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// take reads the next value of data, an object or a list one level deep.
func take(d *jsontext.Decoder, data []byte) (*value, error) {
	kind := d.PeekKind()
	if kind != '{' && kind != '[' {
		raw, err := next(d, data)
		return &value{raw: raw, taken: true}, err
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	start := int(d.InputOffset()) - 1
	v := &value{taken: true}
	for d.PeekKind() != kind+2 { // the bracket that closes it
		var m element
		var err error
		if kind == '{' {
			if m.raw, err = next(d, data); err != nil {
				return nil, err
			}
			m.name = unquote(m.raw)
		}
		if m.raw, err = next(d, data); err != nil {
			return nil, err
		}
		v.inner = append(v.inner, m)
	}
	_, err := d.ReadToken()
	v.raw = data[start:d.InputOffset()]
	return v, err
}

// next is the next value as it stands in data.
func next(d *jsontext.Decoder, data []byte) (jsontext.Value, error) {
	raw, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	end := int(d.InputOffset())
	return data[end-len(raw) : end], nil
}

// unquote is what a JSON string says. It is not copied where it stands as it is.
func unquote(raw jsontext.Value) []byte {
	if plain := raw[1 : len(raw)-1]; bytes.IndexByte(plain, '\\') < 0 && utf8.Valid(plain) {
		return plain
	}
	b, _ := jsontext.AppendUnquote(nil, raw) // an error: invalid UTF-8, which is replaced
	return b
}
