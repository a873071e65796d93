package jsonedit

import "bytes"

// What follows reads the JSON that agents write several times faster than the
// library does. It takes no text that the library does not take (that is fuzzed),
// and leaves to it all that is rare: escapes in names, lone surrogates, and the words
// for what is wrong.

// skipWhite returns where the first character is at or behind byte i that is no
// white space.
func skipWhite(data []byte, i int) int {
	const white = 1<<' ' | 1<<'\n' | 1<<'\r' | 1<<'\t'
	for i < len(data) && data[i] <= ' ' && uint64(white)>>data[i]&1 == 1 {
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

// skipString returns where the string ends whose first character is at byte i, -1
// for none.
func skipString(data []byte, i int) int {
	for i < len(data) {
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

// isShortEscape reports which characters make an escape with a backslash before them.
var isShortEscape = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// skipCode returns where the escape ends whose u is at byte i, -1 for none, and for
// half of a surrogate pair.
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

// skipObject returns where the object ends that begins at byte i, -1 for none.
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

// skipList returns where the list ends that begins at byte i, -1 for none. It calls
// f, which may be nil, for each element, and gives up where that returns false.
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

// skipComma returns where the text goes on behind a member or an element that ends at
// byte i: at the next one, or closed, behind the bracket that closes what they are in;
// -1 where it is neither.
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

func plainASCII(name []byte) bool {
	for _, c := range name {
		if c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}
