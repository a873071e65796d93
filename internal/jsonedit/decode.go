package jsonedit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// readOptions accept equal names, and bytes that are not UTF-8.
var readOptions = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

func newDecoder(data []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(data), readOptions) // a Buffer is read in place
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

// A reader makes the nodes of a text.
type reader struct {
	dec   jsontext.Decoder
	src   bytes.Buffer
	start int // where in the text src begins
	nodes []node
	names [][]byte
}

var readers = sync.Pool{New: func() any { return new(reader) }}

// readIndex returns nil if text is not one JSON value from the byte at start on.
func readIndex(text []byte, start int) *index {
	r := readers.Get().(*reader)
	r.src, r.start = *bytes.NewBuffer(text[start:]), start
	r.dec.Reset(&r.src, readOptions)
	var x *index
	if r.value(node{}, 0) == nil {
		if _, err := r.dec.ReadToken(); errors.Is(err, io.EOF) {
			x = &index{text: text, nodes: slices.Clone(r.nodes), names: r.names}
		}
	}
	r.src = bytes.Buffer{}
	r.dec.Reset(&r.src)
	r.nodes, r.names = r.nodes[:0], nil
	if cap(r.nodes) <= maxNodes {
		readers.Put(r)
	}
	return x
}

// value reads a value into n, adds that to the nodes, and what is inside it. It is in depth objects
// and lists.
func (r *reader) value(n node, depth int) error {
	at := len(r.nodes)
	r.nodes = append(r.nodes, n)
	kind := r.dec.PeekKind()
	var err error
	if depth < indexDepth && (kind == '{' || kind == '[') {
		if _, err = r.dec.ReadToken(); err == nil {
			r.nodes[at].start = r.offset() - 1
			err = r.inside(kind, at, depth+1)
		}
	} else {
		var raw jsontext.Value
		raw, err = r.dec.ReadValue()
		r.nodes[at].start = r.offset() - int32(len(raw))
	}
	r.nodes[at].end, r.nodes[at].next = r.offset(), int32(len(r.nodes))
	return err
}

// inside reads what is inside the object or the list that is node at, and the bracket that closes it.
func (r *reader) inside(kind jsontext.Kind, at, depth int) error {
	for r.dec.PeekKind() != kind+2 {
		if depth > 1 && len(r.nodes)-at > maxNodes {
			r.nodes = r.nodes[:at+1]
			return r.skip(kind)
		}
		var n node
		if kind == '{' {
			name, err := r.dec.ReadValue()
			if err != nil {
				return err
			}
			n.nameEnd = r.offset() - 1
			n.name = n.nameEnd - int32(len(name)) + 2
			if bytes.IndexByte(name, '\\') >= 0 || !utf8.Valid(name) {
				n.nameEnd = ^int32(len(r.names))
				r.names = append(r.names, unquote(name))
			}
		}
		if err := r.value(n, depth); err != nil {
			return err
		}
	}
	_, err := r.dec.ReadToken()
	return err
}

// skip reads the rest of an object or a list.
func (r *reader) skip(kind jsontext.Kind) error {
	for r.dec.PeekKind() != kind+2 {
		if err := r.dec.SkipValue(); err != nil {
			return err
		}
	}
	_, err := r.dec.ReadToken()
	return err
}

// offset returns how far the text is read.
func (r *reader) offset() int32 { return int32(r.start) + int32(r.dec.InputOffset()) }
