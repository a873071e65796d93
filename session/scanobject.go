package session

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// What follows reads the JSON that agents write several times faster than the
// library does. It takes no text that the library does not take (that is fuzzed),
// and leaves to it all that is rare: escapes in names, lone surrogates, deep
// nesting, and the words for what is wrong.

// scanDepth is how deep values may be nested.
const scanDepth = 100

// scanObject is parseObject, but for what it leaves to the library: then ok is
// false.
func scanObject(data []byte) (obj object, ok bool) {
	var room [16]member
	obj = room[:0]
	end, ok := scanMembers(data, skipWhite(data, 0), 0, func(m member) bool {
		if _, again := obj.get(string(m.name)); again || len(obj) == 64 {
			return false
		}
		obj = append(obj, m)
		return true
	})
	return slices.Clone(obj), ok && skipWhite(data, end) == len(data)
}

// EachElement calls f for the text of each element of a JSON list, until f returns
// false. It reports whether it came to the end: data is a list and nothing else. It
// may fail for a list that is nested deeply, and it may call f before it sees that
// data is no list.
func EachElement(data []byte, f func(value []byte) bool) bool {
	i := skipWhite(data, 0)
	if i >= len(data) || data[i] != '[' {
		return false
	}
	end := skipList(data, i, 0, f)
	return end >= 0 && skipWhite(data, end) == len(data)
}

// scanMembers calls f, which may be nil, for each member of the object that
// begins at byte i, and returns where it ends.
func scanMembers(data []byte, i, depth int, f func(member) bool) (end int, ok bool) {
	if i >= len(data) || data[i] != '{' || depth > scanDepth {
		return 0, false
	}
	i = skipWhite(data, i+1)
	if i < len(data) && data[i] == '}' {
		return i + 1, true
	}
	for i < len(data) && data[i] == '"' {
		m := member{start: i}
		nameEnd := skipString(data, i+1)
		if nameEnd < 0 {
			return 0, false
		}
		i = skipWhite(data, nameEnd)
		if i >= len(data) || data[i] != ':' {
			return 0, false
		}
		m.value = skipWhite(data, i+1)
		if m.end = skipValue(data, m.value, depth); m.end < 0 {
			return 0, false
		}
		if f != nil {
			name := data[m.start+1 : nameEnd-1]
			if !plainASCII(name) {
				return 0, false
			}
			m.name, m.raw = name, jsontext.Value(data[m.value:m.end:m.end])
			if !f(m) {
				return 0, false
			}
		}
		i = skipWhite(data, m.end)
		if i < len(data) && data[i] == '}' {
			return i + 1, true
		}
		if i >= len(data) || data[i] != ',' {
			return 0, false
		}
		i = skipWhite(data, i+1)
	}
	return 0, false
}

func plainASCII(name []byte) bool {
	for _, c := range name {
		if c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}
