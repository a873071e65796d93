package session

// What follows reads the JSON that agents write several times faster than the
// library does. It takes no text that the library does not take (that is fuzzed),
// and leaves to it all that is rare: escapes in names, lone surrogates, and the words
// for what is wrong.

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
		obj = append(obj, member{data[s.name:s.nameEnd], int(s.name) - 1, int(s.from), int(s.to)})
	}
	return obj, true
}

// EachElement calls f for the text of each element of a JSON list, until f returns
// false. It reports whether it came to the end: data is a list and nothing else. It
// may call f before it sees that data is no list.
func EachElement(data []byte, f func(value []byte) bool) bool {
	i := skipWhite(data, 0)
	if i >= len(data) || data[i] != '[' {
		return false
	}
	end := skipList(data, i, 1, f)
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
