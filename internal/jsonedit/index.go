package jsonedit

import (
	"iter"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// A Value is one value of a parsed text. The zero Value is a missing value: the text is not JSON or
// a member is missing. All methods can be called on it.
type Value struct {
	index *index
	at    int32 // its node
}

// Parse parses text, which must be one JSON value apart from surrounding white space, and returns the value; otherwise
// the zero Value. It accepts what JavaScript's JSON.parse accepts, and also bytes in strings that are not UTF-8. It
// refuses a text that has more than 2 GB or nests deeper than [MaxDepth].
//
// The Value refers to text, which must not change while it is in use.
func Parse(text []byte) Value {
	if x := readIndex(text, 0); x != nil {
		return Value{x, 0}
	}
	return Value{}
}

// Raw returns the text of the value, or nil. It aliases the parsed text.
func (v Value) Raw() jsontext.Value {
	if v.index == nil {
		return nil
	}
	n := v.node()
	return jsontext.Value(v.index.text[n.start:n.end:n.end])
}

// Kind returns the kind of the value, 0 if it is missing.
func (v Value) Kind() jsontext.Kind {
	if v.index == nil {
		return 0
	}
	c := v.index.text[v.node().start]
	if c == '-' || '0' <= c && c <= '9' {
		c = '0'
	}
	return jsontext.Kind(c)
}

// Text returns the content of a string, and whether the value is a string. Bytes that are not UTF-8
// become U+FFFD.
func (v Value) Text() (text string, ok bool) {
	b, ok := v.Bytes()
	return string(b), ok
}

// TextAt returns the content of the string at a path of members, "" for anything else.
func (v Value) TextAt(path ...string) string {
	for _, name := range path {
		v = v.Get(name)
	}
	text, _ := v.Text()
	return text
}

// Bytes is [Value.Text] without a copy: the result may alias the parsed text, and must not be
// changed.
func (v Value) Bytes() (text []byte, ok bool) {
	if v.Kind() != '"' {
		return nil, false
	}
	return unquote(v.Raw()), true
}

// Int returns a number without its fraction, and whether the value is a number of at most 2⁵³.
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

// Children returns an iterator over the members of an object with their names, or over the elements of a list with an
// empty name, in the order of the text. If several members have the same name, it yields all of them. The caller must
// not change the names.
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

// Elements returns an iterator over the elements of a list. It is empty if v is not a list.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != '[' {
			return
		}
		for _, e := range v.Children() {
			if !yield(e) {
				return
			}
		}
	}
}

// Get returns the member of an object with that name, the last one if several have it. It returns the zero Value if the
// member is missing, or if v is not an object.
func (v Value) Get(name string) (member Value) {
	if v.Kind() != '{' {
		return Value{}
	}
	x, i, end := v.children()
	for i < end {
		n := &x.nodes[i]
		if (int(n.nameEnd-n.name) == len(name) || n.nameEnd < 0) && string(x.name(i)) == name {
			member = Value{x, i}
		}
		i = n.next
	}
	return member
}

func (v Value) node() *node { return &v.index.nodes[v.at] }

// children returns the range of the nodes inside the value.
func (v Value) children() (x *index, from, to int32) {
	if v.index == nil {
		return nil, 0, 0
	}
	n := v.node()
	if n.next > v.at+1 {
		return v.index, v.at + 1, n.next
	}
	raw := v.Raw()
	if raw[0] != '{' && raw[0] != '[' || skipWhite(raw, 1) == len(raw)-1 {
		return nil, 0, 0
	}
	x = readIndex(v.index.text[:n.end], int(n.start)) // the values inside are not in the first index
	x.text = v.index.text
	return x, 1, int32(len(x.nodes))
}

// An index lists the positions of the values of a text, down to indexDepth.
type index struct {
	text  []byte
	nodes []node
	names [][]byte // unescaped names, if a name in the text has escapes
}

// A node is the position of a value in a text. The nodes of the values inside it follow.
type node struct {
	name       int32 // start of a member's name, after its first quote; 0 for an element
	nameEnd    int32 // before its last quote, or the complement of an index in names
	start, end int32
	next       int32 // the node after the value and everything inside it
}

// memberStart returns the start of the value's member or element.
func (n *node) memberStart() int {
	if n.name > 0 {
		return int(n.name) - 1
	}
	return int(n.start)
}

// An index lists values that are at most indexDepth levels deep. Inside any value but the outermost, it lists about
// maxNodes values at most. Other values are parsed each time they are read.
const (
	indexDepth = 7
	maxNodes   = 1 << 12
)

func (x *index) name(i int32) []byte {
	n := &x.nodes[i]
	if n.nameEnd < 0 {
		return x.names[^n.nameEnd]
	}
	return x.text[n.name:n.nameEnd]
}
