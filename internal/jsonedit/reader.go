package jsonedit

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"sync"
	"unicode/utf8"
)

// A reader makes the nodes of a text. It accepts what the library accepts with readOptions (FuzzParse), and reads
// three times as fast (BenchmarkIndex): a scan spends most of its time here.
type reader struct {
	text  []byte
	at    int // offset of the next byte
	nodes []node
	names [][]byte
}

var readers = sync.Pool{New: func() any { return new(reader) }}

// readIndex returns nil if text is not one JSON value from the byte at start on, or has more than 2 GB.
func readIndex(text []byte, start int) *index {
	if len(text) > math.MaxInt32 {
		return nil
	}
	r := readers.Get().(*reader)
	r.text, r.at = text, start
	var x *index
	if r.value(node{}, 0, true) && r.peek() == 0 && r.at == len(text) {
		x = &index{text: text, nodes: slices.Clone(r.nodes), names: r.names}
	}
	r.text, r.nodes, r.names = nil, r.nodes[:0], nil
	if cap(r.nodes) <= maxNodes {
		readers.Put(r)
	}
	return x
}

// IsObject reports whether data is one JSON object with nothing but white space around it. [CheckObject] explains why
// not.
func IsObject(data []byte) bool {
	r := reader{text: data}
	return len(data) <= math.MaxInt32 && r.peek() == '{' && r.value(node{}, 0, false) && r.peek() == 0 && r.at == len(data)
}

// value reads a value, and reports whether it is valid. depth is the number of objects and lists around it. If
// listed, it adds the value to the nodes, as n, with the values inside it.
func (r *reader) value(n node, depth int, listed bool) (ok bool) {
	c, at := r.peek(), len(r.nodes)
	n.start = int32(r.at)
	if listed {
		r.nodes = append(r.nodes, n)
	}
	switch c {
	case '"':
		_, ok = r.str()
	case '{', '[':
		r.at++
		ok = depth < MaxDepth && r.members(c, at, depth+1, listed && depth < indexDepth)
	case 't':
		ok = r.literal("true")
	case 'f':
		ok = r.literal("false")
	case 'n':
		ok = r.literal("null")
	default:
		ok = r.number()
	}
	if listed {
		r.nodes[at].end, r.nodes[at].next = int32(r.at), int32(len(r.nodes))
	}
	return ok
}

// members reads the content and the closing bracket of the object or the list that is node at.
func (r *reader) members(open byte, at, depth int, listed bool) bool {
	if r.skip(open + 2) {
		return true
	}
	for {
		if listed && depth > 1 && len(r.nodes)-at > maxNodes {
			r.nodes, listed = r.nodes[:at+1], false
		}
		var n node
		if open == '{' {
			if r.peek() != '"' {
				return false
			}
			begin := r.at
			ascii, ok := r.str()
			n.name, n.nameEnd = int32(begin+1), int32(r.at-1)
			if listed && ok && !ascii {
				if name := r.text[begin:r.at]; bytes.IndexByte(name, '\\') >= 0 || !utf8.Valid(name) {
					n.nameEnd = ^int32(len(r.names))
					r.names = append(r.names, unquote(name))
				}
			}
			if !ok || !r.skip(':') {
				return false
			}
		}
		if !r.value(n, depth, listed) {
			return false
		}
		if !r.skip(',') {
			return r.skip(open + 2)
		}
	}
}

// peek skips white space, and returns the next byte, 0 at the end.
func (r *reader) peek() byte {
	for ; r.at < len(r.text); r.at++ {
		if c := r.text[r.at]; c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
	}
	return 0
}

// skip skips white space, and then c if it is the next byte.
func (r *reader) skip(c byte) bool {
	if r.peek() != c {
		return false
	}
	r.at++
	return true
}

func (r *reader) literal(word string) bool {
	if !bytes.HasPrefix(r.text[r.at:], []byte(word)) {
		return false
	}
	r.at += len(word)
	return true
}

// str reads a string, and reports whether it is ASCII without escapes, and whether it is valid. It processes eight
// bytes at a time.
func (r *reader) str() (ascii, ok bool) {
	const each = 0x01_01_01_01_01_01_01_01
	text, seen := r.text, uint64(0)
	for i := r.at + 1; i < len(text); {
		if len(text)-i >= 8 {
			w := binary.LittleEndian.Uint64(text[i:])
			quote, escape := w^(each*'"'), w^(each*'\\')
			// The lowest of the high bits belongs to the first quote, backslash or control character.
			stop := ((quote-each)&^quote | (escape-each)&^escape | (w-each*' ')&^w) & (each << 7)
			seen |= w & (stop - 1) &^ stop // the bytes before it; all if stop is 0
			if stop == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(stop) / 8
		}
		switch c := text[i]; {
		case c == '"':
			r.at = i + 1
			return seen&(each<<7) == 0, true
		case c == '\\':
			n := escapeLen(text[i:])
			if n == 0 {
				return false, false
			}
			seen, i = each<<7, i+n
		case c < ' ':
			return false, false
		default:
			seen, i = seen|uint64(c), i+1
		}
	}
	return false, false
}

// escapeLen returns the length of the escape at the beginning of b, 0 if it is invalid.
func escapeLen(b []byte) int {
	switch {
	case len(b) < 2:
	case isEscape[b[1]]:
		return 2
	case b[1] == 'u' && len(b) >= 6 && isHex(b[2]) && isHex(b[3]) && isHex(b[4]) && isHex(b[5]):
		return 6
	}
	return 0
}

// isEscape has the letters of one-letter escapes.
var isEscape = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// number reads a number, and reports whether it is valid.
func (r *reader) number() bool {
	r.next('-')
	if !r.next('0') && !r.digits() || r.next('.') && !r.digits() {
		return false
	}
	if !r.next('e') && !r.next('E') {
		return true
	}
	if !r.next('-') {
		r.next('+')
	}
	return r.digits()
}

// next skips c if it is the next byte.
func (r *reader) next(c byte) bool {
	if r.at == len(r.text) || r.text[r.at] != c {
		return false
	}
	r.at++
	return true
}

// digits skips digits, and reports whether there are any.
func (r *reader) digits() bool {
	begin := r.at
	for r.at < len(r.text) && isDigit(r.text[r.at]) {
		r.at++
	}
	return r.at > begin
}
