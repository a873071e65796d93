package jsonedit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/go-json-experiment/json/jsontext"
)

// newDecoder returns a decoder that accepts equal names, and bytes that are not UTF-8.
func newDecoder(data []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(data), // a Buffer is read in place
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// MaxDepth is the deepest nesting of objects and lists that is read. It is the limit of
// encoding/json and of jsontext. JSON.parse has none.
const MaxDepth = 10_000

// TooDeep reports whether objects and lists in data nest deeper than [MaxDepth], before
// anything that is not JSON. A byte order mark at the start is skipped.
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

// CheckObject returns nil if data is one JSON object with nothing but white space
// around it, else an error that says what data is instead, or at which byte it is wrong.
func CheckObject(data []byte) error {
	if len(data) > math.MaxInt32 {
		return errors.New("longer than 2 GB")
	}
	if i := skipWhite(data, 0); i < len(data) && data[i] == '{' {
		if end := skipObject(data, i, 1); end >= 0 && skipWhite(data, end) == len(data) {
			return nil
		}
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
		return fmt.Errorf("more text behind the object, at byte %d", d.InputOffset())
	}
	return nil
}

// First returns the JSON value with which data begins, behind white space, and where it ends. If
// there is none it returns nil, and where it saw that.
func First(data []byte) (value []byte, end int) {
	start := skipWhite(data, 0)
	if end := skipValue(data, start, 0); end >= 0 {
		return data[start:end:end], end
	}
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

var errNotObject = errors.New("not a JSON object")

func parseError(d *jsontext.Decoder, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the text ends early, at byte %d", d.InputOffset())
	}
	return fmt.Errorf("not JSON at byte %d", d.InputOffset())
}

// decodeIndex makes an index with the library, one level deep. It returns nil if text
// is not one JSON value from the byte at start on.
func decodeIndex(text []byte, start int) *index {
	r := reader{x: &index{text: text}, d: newDecoder(text[start:]), start: start}
	if r.read() != nil {
		return nil
	}
	if _, err := r.d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil
	}
	return r.x
}

// A reader reads a text with the library into x.
type reader struct {
	x     *index
	d     *jsontext.Decoder
	start int // where in the text d begins
}

// read reads the outermost value.
func (r *reader) read() error {
	kind := r.d.PeekKind()
	if kind != '{' && kind != '[' {
		return r.add(node{})
	}
	if _, err := r.d.ReadToken(); err != nil {
		return err
	}
	r.x.nodes = append(r.x.nodes, node{start: r.offset() - 1})
	for r.d.PeekKind() != kind+2 { // the bracket that closes it
		var n node
		if kind == '{' {
			name, err := r.d.ReadValue()
			if err != nil {
				return err
			}
			n.name, n.nameEnd = r.offset()-int32(len(name))+1, ^int32(len(r.x.names))
			r.x.names = append(r.x.names, bytes.Clone(unquote(name)))
		}
		if err := r.add(n); err != nil {
			return err
		}
	}
	_, err := r.d.ReadToken()
	r.x.nodes[0].end, r.x.nodes[0].next = r.offset(), int32(len(r.x.nodes))
	return err
}

// add reads a value into n, and appends that to the nodes.
func (r *reader) add(n node) error {
	raw, err := r.d.ReadValue()
	n.end = r.offset()
	n.start, n.next = n.end-int32(len(raw)), int32(len(r.x.nodes)+1)
	r.x.nodes = append(r.x.nodes, n)
	return err
}

// offset returns how far the text is read.
func (r *reader) offset() int32 { return int32(r.start) + int32(r.d.InputOffset()) }
