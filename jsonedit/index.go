package jsonedit

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// A Value is one value of a parsed text. The zero Value stands for none: of a text
// that is not JSON, or of a member that is missing. Its methods can be called.
type Value struct {
	of *index
	at int32 // its node
}

// Parse parses text, which must be one JSON value with nothing but white space around
// it, and returns that value; the zero Value if text is anything else. It accepts
// what JavaScript's JSON.parse accepts, and bytes that are not UTF-8 in strings, but
// no text of more than 2 GB, nor one that nests deeper than [MaxDepth].
//
// The Value refers to text, which must not change while it is in use.
func Parse(text []byte) Value {
	if x := newIndex(text, 0); x != nil {
		return Value{x, 0}
	}
	return Value{}
}

// Source returns the whole text that was given to [Parse], nil for none.
func (v Value) Source() []byte {
	if v.of == nil {
		return nil
	}
	return v.of.text
}

// Raw returns the text of the value, nil for none. It aliases the parsed text.
func (v Value) Raw() jsontext.Value {
	if v.of == nil {
		return nil
	}
	n := &v.of.nodes[v.at]
	return jsontext.Value(v.of.text[n.start:n.end:n.end])
}

// Kind returns the kind of the value, 0 for none.
func (v Value) Kind() jsontext.Kind {
	if v.of == nil {
		return 0
	}
	c := v.of.text[v.of.nodes[v.at].start]
	if c == '-' || '0' <= c && c <= '9' {
		c = '0'
	}
	return jsontext.Kind(c)
}

// Text returns the content of a string, and whether the value is one. Bytes that are
// not UTF-8 become U+FFFD.
func (v Value) Text() (text string, ok bool) {
	b, ok := v.Bytes()
	return string(b), ok
}

// Bytes is [Value.Text] without a copy: the result may alias the parsed text, and must
// not be changed.
func (v Value) Bytes() (text []byte, ok bool) {
	if v.Kind() != '"' {
		return nil, false
	}
	return unquote(v.Raw()), true
}

// Int returns a number without its fraction, and whether the value is a number of at
// most 2⁵³.
func (v Value) Int() (n int64, ok bool) {
	if v.Kind() != '0' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v.Raw()), 64)
	if err != nil || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// Children returns an iterator over the members of an object with their names, or
// over the elements of a list with nil for a name, in the order of the text. Of
// members with equal names it yields all. A name is not to be changed.
func (v Value) Children() iter.Seq2[[]byte, Value] {
	return func(yield func([]byte, Value) bool) {
		x, i, end := v.children()
		for ; i < end; i = x.nodes[i].next {
			if !yield(x.name(i), Value{x, i}) {
				return
			}
		}
	}
}

// Get returns the member of an object with that name, of equal names the last. It
// returns the zero Value if there is none, or if v is no object.
func (v Value) Get(name string) (member Value) {
	if v.Kind() != '{' {
		return Value{}
	}
	x, i, end := v.children()
	for i < end {
		n := &x.nodes[i]
		if n.name < 0 && string(x.name(i)) == name ||
			n.name >= 0 && int(n.nameEnd-n.name) == len(name) && string(x.text[n.name:n.nameEnd]) == name {
			member = Value{x, i}
		}
		i = n.next
	}
	return member
}

// children returns the range of the nodes of what is inside the value.
func (v Value) children() (x *index, from, to int32) {
	if v.of == nil {
		return nil, 0, 0
	}
	n := &v.of.nodes[v.at]
	if n.next > v.at+1 {
		return v.of, v.at + 1, n.next
	}
	raw := v.Raw()
	if raw[0] != '{' && raw[0] != '[' || skipWhite(raw, 1) == len(raw)-1 {
		return nil, 0, 0
	}
	x = newIndex(v.of.text[:n.end], int(n.start)) // the first index does not reach into the value
	x.text = v.of.text
	return x, 1, int32(len(x.nodes))
}

// An index lists the positions of the values of a text, down to indexDepth.
type index struct {
	text  []byte
	nodes []node
	names [][]byte // that are not in the text as they are, since they have escapes
}

// A node is the position of a value in a text. The nodes of what is inside the value
// follow it.
type node struct {
	name, nameEnd int32 // of a member, between the quotes; or name is the complement of its number in names
	start, end    int32
	next          int32 // the node after the value and all that is inside it
}

// An index lists what is at most indexDepth levels deep, and no more than about
// maxNodes values inside any value but the outermost. What it does not list is
// parsed each time that it is asked for.
const (
	indexDepth = 4
	maxNodes   = 1 << 10
)

// newIndex returns nil if text is not one JSON value from the byte at start on.
func newIndex(text []byte, start int) *index {
	if len(text) > math.MaxInt32 {
		return nil
	}
	if nodes := scanNodes(text, start); nodes != nil {
		return &index{text: text, nodes: nodes}
	}
	l := library{x: &index{text: text}, d: newDecoder(text[start:]), start: start}
	if l.read() != nil {
		return nil
	}
	if _, err := l.d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil
	}
	return l.x
}

func (x *index) name(i int32) []byte {
	n := &x.nodes[i]
	if n.name < 0 {
		return x.names[^n.name]
	}
	return x.text[n.name:n.nameEnd]
}

// A scanner makes the nodes of a text, except where that is left to the library.
type scanner struct {
	text  []byte
	nodes []node
}

// tooMany is the end of a value of which too much would be listed.
const tooMany = -2

var scanners = sync.Pool{New: func() any { return new(scanner) }}

// scanNodes returns nil for what is left to the library.
func scanNodes(text []byte, start int) (nodes []node) {
	s := scanners.Get().(*scanner)
	s.text = text
	if end := s.value(node{start: int32(skipWhite(text, start))}, 0); end >= 0 && skipWhite(text, end) == len(text) {
		nodes = slices.Clone(s.nodes)
	}
	if s.text, s.nodes = nil, s.nodes[:0]; cap(s.nodes) <= maxNodes {
		scanners.Put(s)
	}
	return nodes
}

// value adds the value that begins at n.start, and returns its end, -1 if there is
// none, or none that this code reads.
func (s *scanner) value(n node, depth int) (end int) {
	at, i := len(s.nodes), int(n.start)
	s.nodes = append(s.nodes, n)
	end = tooMany
	if i < len(s.text) && depth < indexDepth {
		switch s.text[i] {
		case '{':
			end = s.object(i, depth+1)
		case '[':
			end = s.list(i, depth+1)
		}
	}
	if end == tooMany {
		s.nodes = s.nodes[:at+1]
		end = skipValue(s.text, i, depth)
	}
	s.nodes[at].end, s.nodes[at].next = int32(end), int32(len(s.nodes))
	return end
}

// limit returns how many nodes there may be once what is inside a value is listed.
func (s *scanner) limit(depth int) int {
	if depth <= 1 {
		return math.MaxInt
	}
	return len(s.nodes) + maxNodes
}

func (s *scanner) object(i, depth int) (end int) {
	text, limit := s.text, s.limit(depth)
	i = skipWhite(text, i+1)
	if i < len(text) && text[i] == '}' {
		return i + 1
	}
	for i < len(text) && text[i] == '"' {
		nameEnd := skipString(text, i+1)
		if nameEnd < 0 || !plainASCII(text[i+1:nameEnd-1]) {
			return -1
		}
		m := node{name: int32(i + 1), nameEnd: int32(nameEnd - 1)}
		if i = skipWhite(text, nameEnd); i >= len(text) || text[i] != ':' {
			return -1
		}
		m.start = int32(skipWhite(text, i+1))
		if i = s.value(m, depth); i < 0 {
			return -1
		}
		var closed bool
		if i, closed = skipComma(text, i, '}'); closed || i < 0 {
			return i
		}
		if len(s.nodes) > limit {
			return tooMany
		}
	}
	return -1
}

func (s *scanner) list(i, depth int) (end int) {
	text, limit := s.text, s.limit(depth)
	i = skipWhite(text, i+1)
	if i < len(text) && text[i] == ']' {
		return i + 1
	}
	for {
		if i = s.value(node{start: int32(i)}, depth); i < 0 {
			return -1
		}
		var closed bool
		if i, closed = skipComma(text, i, ']'); closed || i < 0 {
			return i
		}
		if len(s.nodes) > limit {
			return tooMany
		}
	}
}

// A library makes an index with the JSON library, one level deep.
type library struct {
	x     *index
	d     *jsontext.Decoder
	start int // where in the text it began to read
}

// read reads the outermost value.
func (l *library) read() error {
	kind := l.d.PeekKind()
	if kind != '{' && kind != '[' {
		return l.add(node{})
	}
	if _, err := l.d.ReadToken(); err != nil {
		return err
	}
	l.x.nodes = append(l.x.nodes, node{start: l.offset() - 1})
	for l.d.PeekKind() != kind+2 { // the bracket that closes it
		var n node
		if kind == '{' {
			name, err := l.d.ReadValue()
			if err != nil {
				return err
			}
			n.name = ^int32(len(l.x.names))
			l.x.names = append(l.x.names, bytes.Clone(unquote(name)))
		}
		if err := l.add(n); err != nil {
			return err
		}
	}
	_, err := l.d.ReadToken()
	l.x.nodes[0].end, l.x.nodes[0].next = l.offset(), int32(len(l.x.nodes))
	return err
}

// add reads a value into n, and appends that to the nodes.
func (l *library) add(n node) error {
	raw, err := l.d.ReadValue()
	n.end = l.offset()
	n.start, n.next = n.end-int32(len(raw)), int32(len(l.x.nodes)+1)
	l.x.nodes = append(l.x.nodes, n)
	return err
}

// offset returns how far the text is read.
func (l *library) offset() int32 { return int32(l.start) + int32(l.d.InputOffset()) }
