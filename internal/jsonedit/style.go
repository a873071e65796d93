package jsonedit

import "slices"

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
	obj := Parse(data)
	x, first, end := obj.children()
	if obj.Kind() != '{' || first == end {
		return Style{}, false
	}
	n := &x.nodes[first]
	return Style{
		indent: whiteBefore(data, n.memberStart()),
		colon:  colonOf(data, n),
		end:    whiteBefore(data, int(obj.node().end)-1),
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
