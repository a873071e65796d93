package jsonedit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// newDecoder reads as the agent's JSON.parse does: the last of two equal names
// counts, and bytes that are not UTF-8 become U+FFFD instead of an error.
func newDecoder(data []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(data), // a Buffer is read in place
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// object is a JSON object taken apart one level deep: its members as they stand
// in the text.
type object []member

// A member is where one member of an object stands in the text: name, colon and
// value with the white space between them, from start to end; the value from
// value to end.
type member struct {
	name              []byte
	start, value, end int
}

// get is the member of that name, of equal names the last, and whether there is one.
func (o object) get(name string) (member, bool) {
	for i := range slices.Backward(o) {
		if string(o[i].name) == name {
			return o[i], true
		}
	}
	return member{}, false
}

// CheckObject returns nil if data is one JSON object and nothing else, else an error
// that says why not, and at which byte.
func CheckObject(data []byte) error {
	_, err := parseObject(data)
	return err
}

var errNotObject = errors.New("not a JSON object")

// parseObject takes apart data, which must be one JSON object and nothing else.
// The whole text is checked, so that a truncated document is always an error.
func parseObject(data []byte) (object, error) {
	if obj, ok := scanObject(data); ok {
		return obj, nil
	}
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
		obj = append(obj, member{[]byte(name), nameStart(data, nameEnd), end - len(raw), end})
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

// scanObject is parseObject, but for what it leaves to the library: then ok is
// false.
func scanObject(data []byte) (obj object, ok bool) {
	nodes := scanNodes(data, 0)
	if nodes == nil || data[nodes[0].start] != '{' {
		return nil, false
	}
	obj = object{}
	for i := int32(1); i < nodes[0].next; i = nodes[i].next {
		n := &nodes[i]
		obj = append(obj, member{data[n.name:n.nameEnd], int(n.name) - 1, int(n.start), int(n.end)})
	}
	return obj, true
}
