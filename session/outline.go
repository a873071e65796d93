package session

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// An Outline is a JSON text taken apart: where its values stand, down to a depth
// that all of what a diagnosis asks for is above. It is made in one pass, and by the
// library where the text is not as agents write it.
type Outline struct {
	text  []byte
	spots []spot
	names [][]byte // those that do not stand in the text as they are
}

// A spot is where a value stands in the text.
type spot struct {
	name, nameEnd int32 // of a member what its quotes enclose, or the complement of its number in names
	from, to      int32
	next          int32 // the spot behind the value and all that is inside it
}

// How deep an Outline goes, and how many values it lists of what is inside the text's
// one. What is beyond that is taken apart anew each time that something in it is
// asked for.
const (
	outlineDepth = 4
	outlineSize  = 1 << 10
)

// NewOutline takes apart text, which must not change: one JSON value and nothing
// else, as the agent's JSON.parse reads it. It is nil for anything else.
func NewOutline(text []byte) *Outline {
	if len(text) > math.MaxInt32 {
		return nil
	}
	if spots := outlined(text); spots != nil {
		return &Outline{text: text, spots: spots}
	}
	o, d := &Outline{text: text}, newDecoder(text)
	if o.take(d) != nil {
		return nil
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil
	}
	return o
}

// Root is the value that the text is.
func (o *Outline) Root() Value { return Value{o, 0} }

// A Value is one value of an [Outline], or none: the zero Value.
type Value struct {
	of *Outline
	at int32
}

// Raw is the text of the value, nil for none.
func (v Value) Raw() jsontext.Value {
	if v.of == nil {
		return nil
	}
	s := &v.of.spots[v.at]
	return jsontext.Value(v.of.text[s.from:s.to:s.to])
}

// Kind is the first byte of the value in jsontext's manner, 0 for none.
func (v Value) Kind() jsontext.Kind {
	if v.of == nil {
		return 0
	}
	c := v.of.text[v.of.spots[v.at].from]
	if c == '-' || '0' <= c && c <= '9' {
		c = '0'
	}
	return jsontext.Kind(c)
}

// Bytes is what a string says, which may be bytes of the text, and whether the value
// is one. Bytes that are not UTF-8 become U+FFFD.
func (v Value) Bytes() (text []byte, ok bool) {
	if v.Kind() != '"' {
		return nil, false
	}
	return says(v.Raw()), true
}

// Inside are the members of an object with their names, of equal names all, or the
// elements of a list, without.
func (v Value) Inside() iter.Seq2[[]byte, Value] {
	return func(yield func([]byte, Value) bool) {
		o, i, end := v.inside()
		for ; i < end; i = o.spots[i].next {
			if !yield(o.name(i), Value{o, i}) {
				return
			}
		}
	}
}

// Get is the member of that name, of equal names the last. What is no object has
// none.
func (v Value) Get(name string) (member Value) {
	if v.Kind() != '{' {
		return Value{}
	}
	o, i, end := v.inside()
	for i < end {
		s := &o.spots[i]
		if s.name < 0 && string(o.name(i)) == name ||
			s.name >= 0 && int(s.nameEnd-s.name) == len(name) && string(o.text[s.name:s.nameEnd]) == name {
			member = Value{o, i}
		}
		i = s.next
	}
	return member
}

// inside is where the spots are of what is in the value.
func (v Value) inside() (o *Outline, from, to int32) {
	if v.of == nil {
		return nil, 0, 0
	}
	s := &v.of.spots[v.at]
	if s.next > v.at+1 {
		return v.of, v.at + 1, s.next
	}
	raw := v.Raw()
	if raw[0] != '{' && raw[0] != '[' || skipWhite(raw, 1) == len(raw)-1 {
		return nil, 0, 0
	}
	o = NewOutline(raw) // it was too deep
	return o, 1, int32(len(o.spots))
}

func (o *Outline) name(i int32) []byte {
	s := &o.spots[i]
	if s.name < 0 {
		return o.names[^s.name]
	}
	return o.text[s.name:s.nameEnd]
}

// An outliner makes an outline of a text, but for what it leaves to the library.
type outliner struct {
	text  []byte
	spots []spot
}

// tooMany is where a value ends of which too much would be listed.
const tooMany = -2

var outliners = sync.Pool{New: func() any { return new(outliner) }}

// outlined are the spots of a text, nil if it is left to the library.
func outlined(text []byte) (spots []spot) {
	s := outliners.Get().(*outliner)
	s.text = text
	if end := s.value(spot{from: int32(skipWhite(text, 0))}, 0); end >= 0 && skipWhite(text, end) == len(text) {
		spots = slices.Clone(s.spots)
	}
	if s.text, s.spots = nil, s.spots[:0]; cap(s.spots) <= outlineSize {
		outliners.Put(s)
	}
	return spots
}

// value notes the value that begins at v.from, and returns where it ends, -1 for
// none, or none that this code reads.
func (s *outliner) value(v spot, depth int) (end int) {
	at, i := len(s.spots), int(v.from)
	s.spots = append(s.spots, v)
	end = tooMany
	if i < len(s.text) && depth < outlineDepth {
		switch s.text[i] {
		case '{':
			end = s.object(i, depth+1)
		case '[':
			end = s.list(i, depth+1)
		}
	}
	if end == tooMany {
		s.spots = s.spots[:at+1]
		end = skipValue(s.text, i, depth)
	}
	s.spots[at].to, s.spots[at].next = int32(end), int32(len(s.spots))
	return end
}

// most is how many spots there may be once what is inside a value is listed.
func (s *outliner) most(depth int) int {
	if depth <= 1 {
		return math.MaxInt
	}
	return len(s.spots) + outlineSize
}

func (s *outliner) object(i, depth int) (end int) {
	text, most := s.text, s.most(depth)
	i = skipWhite(text, i+1)
	if i < len(text) && text[i] == '}' {
		return i + 1
	}
	for i < len(text) && text[i] == '"' {
		nameEnd := skipString(text, i+1)
		if nameEnd < 0 || !plainASCII(text[i+1:nameEnd-1]) {
			return -1
		}
		m := spot{name: int32(i + 1), nameEnd: int32(nameEnd - 1)}
		if i = skipWhite(text, nameEnd); i >= len(text) || text[i] != ':' {
			return -1
		}
		m.from = int32(skipWhite(text, i+1))
		if i = s.value(m, depth); i < 0 {
			return -1
		}
		var closed bool
		if i, closed = behind(text, i, '}'); closed || i < 0 {
			return i
		}
		if len(s.spots) > most {
			return tooMany
		}
	}
	return -1
}

func (s *outliner) list(i, depth int) (end int) {
	text, most := s.text, s.most(depth)
	i = skipWhite(text, i+1)
	if i < len(text) && text[i] == ']' {
		return i + 1
	}
	for {
		if i = s.value(spot{from: int32(i)}, depth); i < 0 {
			return -1
		}
		var closed bool
		if i, closed = behind(text, i, ']'); closed || i < 0 {
			return i
		}
		if len(s.spots) > most {
			return tooMany
		}
	}
}

// take is for what the outliner leaves to the library: one level deep.
func (o *Outline) take(d *jsontext.Decoder) error {
	kind := d.PeekKind()
	if kind != '{' && kind != '[' {
		return o.next(d, spot{})
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	o.spots = append(o.spots, spot{from: int32(d.InputOffset()) - 1})
	for d.PeekKind() != kind+2 { // the bracket that closes it
		var v spot
		if kind == '{' {
			name, err := d.ReadValue()
			if err != nil {
				return err
			}
			v.name = ^int32(len(o.names))
			o.names = append(o.names, bytes.Clone(says(name)))
		}
		if err := o.next(d, v); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	o.spots[0].to, o.spots[0].next = int32(d.InputOffset()), int32(len(o.spots))
	return err
}

// next notes the library's next value.
func (o *Outline) next(d *jsontext.Decoder, v spot) error {
	raw, err := d.ReadValue()
	v.to = int32(d.InputOffset())
	v.from, v.next = v.to-int32(len(raw)), int32(len(o.spots)+1)
	o.spots = append(o.spots, v)
	return err
}
