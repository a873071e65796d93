package jsonedit

// A Pattern lists the members that an object may have: each at most once, in any
// order, and no others. It matches an object in one pass over its text, which pays
// where many objects are read and nearly all of them match.
type Pattern []PatternField

// A PatternField is a member that an object of a [Pattern] may have.
type PatternField struct {
	Name string // ASCII letters and digits

	// Accept reports whether the text of a value, which is JSON, matches. If it is
	// nil, only an object of the pattern Object does.
	Accept func(raw []byte) bool

	// Object is the pattern of a value that is an object; nil leaves it to Accept.
	Object Pattern

	Required bool // an object without the member does not match

	// Capture is the index under which [Pattern.Match] returns the text of the value,
	// 0 for none. Members that one object may have differ in it.
	Capture int
}

// Match reports whether data is an object that matches, with nothing but white space
// around it, and sets texts to the texts of its values, which alias data. Bit n of
// captured is set if texts[n] was.
//
// It may report false for an object in an unusual spelling, such as one with escapes
// in names. If it reports false, captured and texts mean nothing.
func (p Pattern) Match(data []byte, texts [][]byte) (captured uint64, ok bool) {
	r := patternReader{texts: texts}
	end := r.object(p, data, skipWhite(data, 0), 1)
	return r.captured, end >= 0 && skipWhite(data, end) == len(data)
}

type patternReader struct {
	texts    [][]byte
	captured uint64
}

// object returns where the object ends that begins at byte i, -1 if there is none
// that matches. depth is how many objects and lists enclose what is in it.
func (r *patternReader) object(p Pattern, data []byte, i, depth int) int {
	if i >= len(data) || data[i] != '{' {
		return -1
	}
	if i = skipWhite(data, i+1); i < len(data) && data[i] == '}' {
		return p.endOf(0, i+1)
	}
	var seen uint64
	next := 0 // in the pattern: most objects have their members in its order
	for i < len(data) && data[i] == '"' {
		k := p.find(data[i+1:], next)
		if k < 0 || seen>>k&1 == 1 {
			return -1
		}
		if i = skipWhite(data, i+len(p[k].Name)+len(`""`)); i >= len(data) || data[i] != ':' {
			return -1
		}
		if i = r.value(&p[k], data, skipWhite(data, i+1), depth); i < 0 {
			return -1
		}
		seen |= 1 << k
		next = k + 1
		var closed bool
		if i, closed = skipComma(data, i, '}'); closed {
			return p.endOf(seen, i)
		}
		if i < 0 {
			return -1
		}
	}
	return -1
}

// value returns where the value of member m ends that begins at byte i, -1 if it does
// not match.
func (r *patternReader) value(m *PatternField, data []byte, i, depth int) (end int) {
	switch {
	case m.Object != nil && i < len(data) && data[i] == '{':
		end = r.object(m.Object, data, i, depth+1)
	case m.Accept == nil:
		return -1
	default:
		end = skipValue(data, i, depth)
		if end >= 0 && !m.Accept(data[i:end]) {
			return -1
		}
	}
	if end >= 0 && m.Capture > 0 {
		r.captured |= 1 << m.Capture
		r.texts[m.Capture] = data[i:end]
	}
	return end
}

// find returns the index of the member whose name, and a quote, rest begins with, -1 if
// there is none. It tries the member at index from first.
func (p Pattern) find(rest []byte, from int) int {
	for i := range p {
		k := from + i
		if k >= len(p) {
			k -= len(p)
		}
		if p[k].hasName(rest) {
			return k
		}
	}
	return -1
}

func (m *PatternField) hasName(rest []byte) bool {
	n := len(m.Name)
	return n < len(rest) && rest[n] == '"' && string(rest[:n]) == m.Name
}

// endOf returns end if all required members were seen, else -1.
func (p Pattern) endOf(seen uint64, end int) int {
	for k := range p {
		if p[k].Required && seen>>k&1 == 0 {
			return -1
		}
	}
	return end
}
