package session

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

func skipWhite(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t') {
		i++
	}
	return i
}

// skipValue returns where the value ends that begins at byte i, -1 if there is
// none, or none that this code reads.
func skipValue(data []byte, i, depth int) int {
	if i >= len(data) {
		return -1
	}
	switch data[i] {
	case '"':
		return skipString(data, i+1)
	case '{':
		if end, ok := scanMembers(data, i, depth+1, nil); ok {
			return end
		}
		return -1
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

func skipWord(data []byte, i int, word string) int {
	if bytes.HasPrefix(data[i:], []byte(word)) {
		return i + len(word)
	}
	return -1
}

// skipList returns where the list ends that begins at byte i, -1 for none. It calls
// f, which may be nil, for each element, and gives up where that returns false.
func skipList(data []byte, i, depth int, f func([]byte) bool) int {
	if depth > scanDepth {
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
		i = skipWhite(data, i)
		if i >= len(data) || data[i] != ',' && data[i] != ']' {
			return -1
		}
		if data[i] == ']' {
			return i + 1
		}
		i = skipWhite(data, i+1)
	}
}

// skipNumber returns where the number ends that begins at byte i, -1 for none.
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

// skipString returns where the string ends whose first character is at byte i, -1
// for none.
func skipString(data []byte, i int) int {
	for {
		if i = skipPlain(data, i); i >= len(data) {
			return -1
		}
		switch c := data[i]; {
		case c == '"':
			return i + 1
		case c != '\\' || i+1 >= len(data):
			return -1 // a control character, or the end
		}
		if i = skipEscape(data, i+1); i < 0 {
			return -1
		}
	}
}

// skipEscape returns where the escape ends whose backslash is before byte i.
func skipEscape(data []byte, i int) int {
	switch data[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
	default:
		return -1
	}
	if i+5 > len(data) || (data[i+1] == 'd' || data[i+1] == 'D') && data[i+2] > '7' {
		return -1 // too short, or a surrogate
	}
	for _, c := range data[i+1 : i+5] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return -1
		}
	}
	return i + 5
}

// skipPlain returns where the next quote, backslash or control character is at or
// behind byte i. It looks at eight bytes at a time.
func skipPlain(data []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	zero := func(x uint64) uint64 { return (x - ones) &^ x & highs } // exact for the lowest zero byte
	for ; i+8 <= len(data); i += 8 {
		x := binary.LittleEndian.Uint64(data[i:])
		if found := zero(x^(ones*'"')) | zero(x^(ones*'\\')) | (x-ones*0x20)&^x&highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(data) && data[i] != '"' && data[i] != '\\' && data[i] >= 0x20 {
		i++
	}
	return i
}
