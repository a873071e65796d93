package jsonedit

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// The code in this file reads the JSON that agents write for [Pattern], several times faster than the
// JSON library does (BenchmarkPattern). It accepts nothing that the library refuses, which
// is fuzzed. What is rare it leaves to the library: escapes in names, lone surrogates,
// and errors.

// A function that skips returns the index after what it skips, -1 if that does not begin
// at index i or is not read here. depth is the number of objects and lists around it.

// skipWhite skips white space, which may be none.
func skipWhite(data []byte, i int) int {
	const white = 1<<' ' | 1<<'\n' | 1<<'\r' | 1<<'\t'
	for i < len(data) && data[i] <= ' ' && uint64(white)>>data[i]&1 == 1 {
		i++
	}
	return i
}

func skipValue(data []byte, i, depth int) int {
	if i >= len(data) {
		return -1
	}
	switch data[i] {
	case '"':
		return skipString(data, i+1)
	case '{':
		return skipObject(data, i, depth+1)
	case '[':
		return skipList(data, i, depth+1, nil)
	case 't':
		return skipWord(data, i, "true")
	case 'f':
		return skipWord(data, i, "false")
	case 'n':
		return skipWord(data, i, "null")
	}
	return skipNumber(data, i)
}

// skipString skips the rest of a string, after its first quote.
func skipString(data []byte, i int) int {
	for i < len(data) {
		if i+8 <= len(data) {
			special := specials(binary.LittleEndian.Uint64(data[i:]))
			if special == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(special) / 8
		}
		switch c := data[i]; {
		case c == '"':
			return i + 1
		case c < ' ':
			return -1
		case c != '\\':
			i++
		case i+1 < len(data) && isShortEscape[data[i+1]]:
			i += 2
		default:
			if i = skipCode(data, i+1); i < 0 {
				return -1
			}
		}
	}
	return -1
}

// specials returns eight bytes of which the lowest one that is not 0 is at the place of the
// lowest byte of a string that is a quote, a backslash or a control character; 0 if there is
// none.
func specials(b uint64) uint64 {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	quote, backslash := b^(ones*'"'), b^(ones*'\\')
	return ((quote-ones)&^quote | (backslash-ones)&^backslash | (b-ones*' ')&^b) & high
}

// isShortEscape is true for characters that make an escape with a backslash before them.
var isShortEscape = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// skipCode skips the rest of an escape, from its u, unless it is half of a surrogate pair.
func skipCode(data []byte, i int) int {
	if i+5 > len(data) || data[i] != 'u' || (data[i+1] == 'd' || data[i+1] == 'D') && data[i+2] > '7' {
		return -1
	}
	for _, c := range data[i+1 : i+5] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return -1
		}
	}
	return i + 5
}

func skipWord(data []byte, i int, word string) int {
	if bytes.HasPrefix(data[i:], []byte(word)) {
		return i + len(word)
	}
	return -1
}

func skipObject(data []byte, i, depth int) int {
	if depth > MaxDepth {
		return -1
	}
	i = skipWhite(data, i+1)
	if i < len(data) && data[i] == '}' {
		return i + 1
	}
	for i < len(data) && data[i] == '"' {
		if i = skipString(data, i+1); i < 0 {
			return -1
		}
		if i = skipWhite(data, i); i >= len(data) || data[i] != ':' {
			return -1
		}
		if i = skipValue(data, skipWhite(data, i+1), depth); i < 0 {
			return -1
		}
		var closed bool
		if i, closed = skipComma(data, i, '}'); closed || i < 0 {
			return i
		}
	}
	return -1
}

// skipList calls f, if it is not nil, for each element, and returns -1 if that returns
// false.
func skipList(data []byte, i, depth int, f func([]byte) bool) int {
	if depth > MaxDepth {
		return -1
	}
	i = skipWhite(data, i+1)
	if i < len(data) && data[i] == ']' {
		return i + 1
	}
	for {
		start := i
		if i = skipValue(data, i, depth); i < 0 || f != nil && !f(data[start:i:i]) {
			return -1
		}
		var closed bool
		if i, closed = skipComma(data, i, ']'); closed || i < 0 {
			return i
		}
	}
}

// skipComma skips what follows a member or an element: a comma, or the bracket that closes
// the object or the list, and reports whether it was the bracket.
func skipComma(data []byte, i int, bracket byte) (next int, closed bool) {
	i = skipWhite(data, i)
	switch {
	case i < len(data) && data[i] == bracket:
		return i + 1, true
	case i < len(data) && data[i] == ',':
		return skipWhite(data, i+1), false
	}
	return -1, false
}

func skipNumber(data []byte, i int) int {
	if i < len(data) && data[i] == '-' {
		i++
	}
	first := i
	if i = skipDigits(data, i); i == first || i > first+1 && data[first] == '0' {
		return -1
	}
	if i < len(data) && data[i] == '.' {
		from := i + 1
		if i = skipDigits(data, from); i == from {
			return -1
		}
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		from := i
		if i = skipDigits(data, from); i == from {
			return -1
		}
	}
	return i
}

func skipDigits(data []byte, i int) int {
	for i < len(data) && data[i] >= '0' && data[i] <= '9' {
		i++
	}
	return i
}
