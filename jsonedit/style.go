package jsonedit

import (
	"bytes"
	"slices"
)

// A Member is a member of an object.
type Member struct {
	Name string
	Raw  []byte // one JSON value
}

// A Style is the white space between the members of an object.
type Style struct {
	indent []byte // before each name
	colon  []byte // with the white space around it
	end    []byte // before the closing brace
}

// Compact returns the style of an object on one line, without white space.
func Compact() Style { return Style{colon: []byte(":")} }

// Indented returns the style of an object with a member on each line, indented by two
// spaces.
func Indented() Style { return Style{[]byte("\n  "), []byte(": "), []byte("\n")} }

// StyleOf returns the style of the object that data is, as its first member shows it.
// It reports false if data is no object, or one without members.
func StyleOf(data []byte) (Style, bool) {
	obj, err := parseObject(data)
	if err != nil || len(obj) == 0 {
		return Style{}, false
	}
	return Style{
		indent: whiteBefore(data, obj[0].start),
		colon:  colonOf(data, 0, obj[0]),
		end:    whiteBefore(data, bytes.LastIndexByte(data, '}')),
	}, true
}

// Object returns an object of the members, in that order.
func (s Style) Object(members ...Member) []byte {
	b := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = slices.Concat(b, s.indent, Quote(m.Name), s.colon, m.Raw)
	}
	return append(append(b, s.end...), '}')
}
