package session

// A Form says which members an object may have: each at most once, in any order,
// and no others. It reads an object in one pass, so it is for what is read in
// large numbers and is nearly always of one form.
type Form []FormMember

// A FormMember is a member that an object of a [Form] may have.
type FormMember struct {
	Name string // letters and digits
	// Is reports whether the text of a value, which is JSON, will do. Where it is
	// nil the value is an object of the form In.
	Is func(raw []byte) bool
	// In is the form that the value has if it is an object; nil to leave that to Is.
	In   Form
	Must bool // an object without it is not of the form
	// As is where [Form.Read] puts the text of the value, 0 for nowhere. No two
	// members that one object may have have the same.
	As int
}

// Read reads the object that data is, puts the texts of its values into texts,
// and returns which were put there: bit n for texts[n], which holds bytes of data.
// It reports whether data is an object of the form, and nothing else: JSON as the
// agent reads it, but for what no agent writes, such as names with escapes. If it is not, what was put is of no meaning.
func (f Form) Read(data []byte, texts [][]byte) (had uint64, ok bool) {
	r := formReader{texts: texts}
	end := r.object(f, data, skipWhite(data, 0), 1)
	return r.had, end >= 0 && skipWhite(data, end) == len(data)
}

type formReader struct {
	texts [][]byte
	had   uint64
}

// object returns where the object ends that begins at byte i, -1 if there is none
// of the form. The object is so many levels deep.
func (r *formReader) object(f Form, data []byte, i, depth int) int {
	if i >= len(data) || data[i] != '{' {
		return -1
	}
	if i = skipWhite(data, i+1); i < len(data) && data[i] == '}' {
		return f.whole(0, i+1)
	}
	var seen uint64
	next := 0 // in the form: most objects have their members in one order
	for i < len(data) && data[i] == '"' {
		k := f.find(data[i+1:], next)
		if k < 0 || seen>>k&1 == 1 {
			return -1
		}
		if i = skipWhite(data, i+len(f[k].Name)+len(`""`)); i >= len(data) || data[i] != ':' {
			return -1
		}
		if i = r.value(&f[k], data, skipWhite(data, i+1), depth); i < 0 {
			return -1
		}
		seen |= 1 << k
		next = k + 1
		var closed bool
		if i, closed = behind(data, i, '}'); closed {
			return f.whole(seen, i)
		}
		if i < 0 {
			return -1
		}
	}
	return -1
}

// value returns where the value of a member ends that begins at byte i, -1 if it
// will not do.
func (r *formReader) value(m *FormMember, data []byte, i, depth int) (end int) {
	switch {
	case m.In != nil && i < len(data) && data[i] == '{':
		end = r.object(m.In, data, i, depth+1)
	case m.Is == nil:
		return -1
	default:
		end = skipValue(data, i, depth)
		if end >= 0 && !m.Is(data[i:end]) {
			return -1
		}
	}
	if end >= 0 && m.As > 0 {
		r.had |= 1 << m.As
		r.texts[m.As] = data[i:end]
	}
	return end
}

// find is the number of the member whose name, and a quote, rest begins with,
// looked for from one on; -1 if there is none.
func (f Form) find(rest []byte, from int) int {
	for k := from; k < len(f); k++ {
		if f[k].named(rest) {
			return k
		}
	}
	for k := range min(from, len(f)) {
		if f[k].named(rest) {
			return k
		}
	}
	return -1
}

func (m *FormMember) named(rest []byte) bool {
	n := len(m.Name)
	return n < len(rest) && rest[n] == '"' && string(rest[:n]) == m.Name
}

// whole is end if all that must be there was seen, else -1.
func (f Form) whole(seen uint64, end int) int {
	for k := range f {
		if f[k].Must && seen>>k&1 == 0 {
			return -1
		}
	}
	return end
}
