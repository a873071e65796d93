package jsonedit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// readOptions accept duplicate names, and bytes that are not UTF-8.
var readOptions = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

func newDecoder(data []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(data), readOptions) // a Buffer is read without a copy
}

// MaxDepth is the deepest nesting of objects and lists that is read. It is the limit of encoding/json and of
// jsontext. JSON.parse has none.
const MaxDepth = 10_000

// TooDeep reports whether objects and lists in data nest deeper than [MaxDepth], before the first byte that is
// not JSON. A byte order mark at the start is skipped.
func TooDeep(data []byte) bool {
	if len(data) <= MaxDepth {
		return false
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	d := newDecoder(data)
	for {
		if _, err := d.ReadToken(); err != nil {
			next := bytes.TrimLeft(data[d.InputOffset():], ",: \t\r\n")
			return d.StackDepth() >= MaxDepth && len(next) > 0 && (next[0] == '{' || next[0] == '[')
		}
	}
}

// CheckObject returns nil if data is one JSON object, apart from surrounding white space. Otherwise the error explains
// what data is instead, or at which byte it is wrong.
func CheckObject(data []byte) error {
	if len(data) > math.MaxInt32 {
		return errors.New("longer than 2 GB")
	}
	d := newDecoder(data)
	tok, err := d.ReadToken()
	if err != nil {
		return parseError(d, err)
	}
	if tok.Kind() != '{' {
		return errNotObject
	}
	for {
		tok, err := d.ReadToken() // a name, or the end
		if err != nil {
			return parseError(d, err)
		}
		if tok.Kind() == '}' {
			break
		}
		if _, err := d.ReadValue(); err != nil {
			return parseError(d, err)
		}
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more text after the object, at byte %d", d.InputOffset())
	}
	return nil
}

// First returns the JSON value at the beginning of data, after white space, and the offset of its end. If there is no
// value, it returns nil and the offset of the wrong byte.
func First(data []byte) (value []byte, end int) {
	d := newDecoder(data)
	value, err := d.ReadValue()
	var bad *jsontext.SyntacticError
	switch {
	case err == nil:
		return value, int(d.InputOffset())
	case errors.As(err, &bad):
		return nil, int(bad.ByteOffset)
	}
	return nil, len(data)
}

// damage has the bytes that may be between the objects of a damaged text.
const damage = "\x00 \t\r\n\ufeff"

// Split returns the parts of a damaged text: the complete objects in it, and the bytes between them. An object begins
// at the start of the text, after another object, or at an occurrence of begin.
func Split(text, begin []byte) (parts [][]byte) {
	for tries := 64; len(text) > 0; { // limits the attempts at objects that have no end
		end := len(text) - len(bytes.TrimLeft(text, damage))
		if end == 0 && tries > 0 {
			value, n := First(text)
			if end = n; len(value) == 0 || value[0] != '{' {
				tries, end = tries-1, 0
			}
		}
		if next := bytes.Index(text[1:], begin); end == 0 && next >= 0 {
			end = next + 1
		} else if end == 0 {
			end = len(text)
		}
		parts, text = append(parts, text[:end]), text[end:]
	}
	return parts
}

var errNotObject = errors.New("not a JSON object")

func parseError(d *jsontext.Decoder, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the text ends early, at byte %d", d.InputOffset())
	}
	return fmt.Errorf("not JSON at byte %d", d.InputOffset())
}
