package jsonedit

import "bytes"

// A Pattern says what a JSON value may be. It matches a text in one pass, which pays where
// many texts are read and nearly all of them match. It may not match an unusual spelling,
// such as one with escapes in names.
type Pattern struct {
	// Accept reports whether the text of a value matches; nil for any.
	Accept func(raw []byte) bool
	// Fields are those that an object may have, each once, in any order, and no others;
	// nil for what is no object, or for any.
	Fields []PatternField
	// Open says that the object may have other fields, too.
	Open bool
	// By is the member whose text, without quotes, selects one of Cases, whose fields the
	// object may have, too. It is "" for an object without cases.
	By    string
	Cases map[string][]PatternField
	// Elements is the pattern of every element of a list, Values that of every member of
	// an object with names of any kind; nil for what is neither.
	Elements, Values *Pattern
	// OrText says that the value may be a string instead of a list.
	OrText bool
}

// A PatternField is a member that an object of a [Pattern] may have.
type PatternField struct {
	Name     string // ASCII letters and digits
	Pattern  *Pattern
	Required bool // an object without the member does not match
	// Capture is the index under which [Pattern.Match] returns the text of the value,
	// 0 for none. Members that one object may have differ in it.
	Capture int
}

// Match reports whether data is a value that matches, with nothing but white space around
// it, and sets texts to the texts of its fields, which alias data. Bit n of captured is
// set if texts[n] was. If it reports false, captured and texts mean nothing.
func (p *Pattern) Match(data []byte, texts [][]byte) (captured uint64, ok bool) {
	r := patternReader{data: data, texts: texts}
	end := r.value(p, skipWhite(data, 0), 0)
	return r.captured, end >= 0 && skipWhite(data, end) == len(data)
}

type patternReader struct {
	data     []byte
	texts    [][]byte
	captured uint64
}

// value returns where the value ends that begins at byte i, -1 if it does not match.
// What it is in is so many levels deep.
func (r *patternReader) value(p *Pattern, i, depth int) (end int) {
	switch {
	case i >= len(r.data):
		return -1
	case r.data[i] == '{' && (p.Fields != nil || p.By != ""):
		end = r.object(p, i, depth+1)
	case p.Elements != nil && r.data[i] == '[':
		end = r.each(p.Elements, i, depth+1)
	case p.Values != nil && r.data[i] == '{':
		end = r.each(p.Values, i, depth+1)
	case p.OrText && r.data[i] == '"':
		end = skipString(r.data, i+1)
	case p.Elements != nil || p.Values != nil || p.Fields != nil || p.By != "":
		return -1
	default:
		end = skipValue(r.data, i, depth)
	}
	if end >= 0 && p.Accept != nil && !p.Accept(r.data[i:end:end]) {
		return -1
	}
	return end
}

// object returns where the object ends that begins at byte i.
func (r *patternReader) object(p *Pattern, i, depth int) int {
	fields := p.Fields
	if p.By != "" {
		by, ok := r.text(p.By, i, depth)
		if !ok {
			return -1
		}
		if fields, ok = p.Cases[string(by)]; !ok {
			return -1
		}
	}
	if i = skipWhite(r.data, i+1); i < len(r.data) && r.data[i] == '}' {
		return whole(fields, 0, i+1)
	}
	var seen uint64
	next := 0 // in the fields: most objects have them in one order
	for i < len(r.data) && r.data[i] == '"' {
		k := findField(fields, r.data[i+1:], next)
		switch {
		case k < 0 && p.Open:
			i = r.other(i, depth)
		case k < 0 || seen>>k&1 == 1:
			return -1
		default:
			i = r.field(&fields[k], i, depth)
			seen |= 1 << k
			next = k + 1
		}
		if i < 0 {
			return -1
		}
		var closed bool
		if i, closed = skipComma(r.data, i, '}'); closed {
			return whole(fields, seen, i)
		}
		if i < 0 {
			return -1
		}
	}
	return -1
}

// field returns where the member of an object ends that begins at byte i with the name of the
// field.
func (r *patternReader) field(m *PatternField, i, depth int) int {
	start := r.colon(i + len(m.Name) + len(`""`))
	if start < 0 {
		return -1
	}
	end := r.value(m.Pattern, start, depth)
	if end >= 0 && m.Capture > 0 {
		r.captured |= 1 << m.Capture
		r.texts[m.Capture] = r.data[start:end:end]
	}
	return end
}

// other returns where the member of an object ends that begins at byte i with another name. A name
// with an escape may be that of a field.
func (r *patternReader) other(i, depth int) int {
	end := skipString(r.data, i+1)
	if end < 0 || bytes.IndexByte(r.data[i:end], '\\') >= 0 {
		return -1
	}
	if i = r.colon(end); i < 0 {
		return -1
	}
	return skipValue(r.data, i, depth)
}

// text returns the text of the first member of that name of the object that begins at byte
// i, without its quotes, and whether that is a string.
func (r *patternReader) text(name string, i, depth int) ([]byte, bool) {
	i = skipWhite(r.data, i+1)
	for i < len(r.data) && r.data[i] == '"' {
		is := hasName(r.data[i+1:], name)
		if i = skipString(r.data, i+1); i < 0 {
			return nil, false
		}
		if i = r.colon(i); i < 0 {
			return nil, false
		}
		start := i
		if i = skipValue(r.data, i, depth); i < 0 {
			return nil, false
		}
		if is && r.data[start] != '"' {
			return nil, false
		}
		if is {
			return r.data[start+1 : i-1], true
		}
		closed := false
		if i, closed = skipComma(r.data, i, '}'); closed || i < 0 {
			return nil, false
		}
	}
	return nil, false
}

// each returns where the list or the object ends that begins at byte i.
func (r *patternReader) each(p *Pattern, i, depth int) int {
	if depth > MaxDepth {
		return -1
	}
	isObject := r.data[i] == '{'
	bracket := r.data[i] + 2 // of ASCII
	if i = skipWhite(r.data, i+1); i < len(r.data) && r.data[i] == bracket {
		return i + 1
	}
	for {
		if isObject {
			if i >= len(r.data) || r.data[i] != '"' {
				return -1
			}
			if i = skipString(r.data, i+1); i < 0 {
				return -1
			}
			if i = r.colon(i); i < 0 {
				return -1
			}
		}
		if i = r.value(p, i, depth); i < 0 {
			return -1
		}
		var closed bool
		if i, closed = skipComma(r.data, i, bracket); closed || i < 0 {
			return i
		}
	}
}

// colon returns where the value of a member begins whose name ends at byte i, -1 for none.
func (r *patternReader) colon(i int) int {
	if i = skipWhite(r.data, i); i >= len(r.data) || r.data[i] != ':' {
		return -1
	}
	return skipWhite(r.data, i+1)
}

// findField returns the number of the member whose name, and a quote, rest begins with,
// looked for from one on; -1 if there is none.
func findField(fields []PatternField, rest []byte, from int) int {
	name, _, ok := bytes.Cut(rest, []byte{'"'})
	if !ok {
		return -1
	}
	for k := from; k < len(fields); k++ {
		if string(name) == fields[k].Name {
			return k
		}
	}
	for k := range min(from, len(fields)) {
		if string(name) == fields[k].Name {
			return k
		}
	}
	return -1
}

// hasName reports whether rest begins with the name, and a quote.
func hasName(rest []byte, name string) bool {
	n := len(name)
	return n < len(rest) && rest[n] == '"' && string(rest[:n]) == name
}

// whole returns end if all fields that must be there were seen, else -1.
func whole(fields []PatternField, seen uint64, end int) int {
	for k := range fields {
		if fields[k].Required && seen>>k&1 == 0 {
			return -1
		}
	}
	return end
}
