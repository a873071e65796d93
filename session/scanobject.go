package session

import (
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
	spots := outlined(data)
	if spots == nil || data[spots[0].from] != '{' {
		return nil, false
	}
	obj = object{}
	for i := int32(1); i < spots[0].next; i = spots[i].next {
		s := &spots[i]
		obj = append(obj, member{
			name: data[s.name:s.nameEnd], start: int(s.name) - 1, value: int(s.from), end: int(s.to),
			raw: jsontext.Value(data[s.from:s.to:s.to]),
		})
	}
	return obj.unique(), true
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

func plainASCII(name []byte) bool {
	for _, c := range name {
		if c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}
