package jsonedit

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Stringify returns what JavaScript's JSON.stringify writes of the value that JSON.parse
// reads in text; nil if text is not one JSON value. It takes time linear in the text,
// however deep that nests.
func Stringify(text []byte) []byte {
	w := stringifier{dec: newDecoder(text)}
	if w.value() != nil {
		return nil
	}
	return w.inOrder()
}

// A stringifier writes values in the order of their text.
type stringifier struct {
	dec       *jsontext.Decoder
	out       []byte
	reordered []reordered
}

// A reordered object is one whose members JavaScript has in another order than the text,
// or not all of them.
type reordered struct {
	start, end int      // of its braces in out
	members    []member // in JavaScript's order
}

// A member is the position of a member in the output.
type member struct {
	name       string
	start, end int
}

func (w *stringifier) value() error {
	kind := w.dec.PeekKind()
	if kind == '{' || kind == '[' {
		return w.container(kind)
	}
	raw, err := w.dec.ReadValue()
	switch {
	case err != nil:
	case kind == '"':
		w.out = append(w.out, Quote(Unquote(raw))...)
	case kind == '0':
		number := NumberText(raw)
		if strings.HasSuffix(number, "Infinity") {
			number = "null"
		}
		w.out = append(w.out, number...)
	default:
		w.out = append(w.out, raw...)
	}
	return err
}

// container writes an object or a list.
func (w *stringifier) container(kind jsontext.Kind) error {
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	start := len(w.out)
	w.out = append(w.out, byte(kind))
	var members []member
	for w.dec.PeekKind() != kind+2 { // the bracket that closes it
		if len(w.out) > start+1 {
			w.out = append(w.out, ',')
		}
		m := member{start: len(w.out)}
		if kind == '{' {
			name, err := w.dec.ReadValue()
			if err != nil {
				return err
			}
			m.name = Unquote(name)
			w.out = append(append(w.out, Quote(m.name)...), ':')
		}
		if err := w.value(); err != nil {
			return err
		}
		if m.end = len(w.out); kind == '{' {
			members = append(members, m)
		}
	}
	if order := propertyOrder(members); !slices.Equal(order, members) {
		w.reordered = append(w.reordered, reordered{start, len(w.out), order})
	}
	_, err := w.dec.ReadToken()
	w.out = append(w.out, byte(kind+2))
	return err
}

// propertyOrder returns members in the order in which JavaScript has them: array indices
// by their value, then the others. Of members with equal names it has the last, in the
// place of the first.
func propertyOrder(all []member) []member {
	order := make([]member, 0, len(all))
	at, indices := make(map[string]int, len(all)), false
	for _, m := range all {
		if i, seen := at[m.name]; seen {
			order[i] = m
			continue
		}
		at[m.name] = len(order)
		order = append(order, m)
		indices = indices || IsArrayIndex(m.name)
	}
	if indices {
		slices.SortStableFunc(order, func(a, b member) int { return CompareProperties(a.name, b.name) })
	}
	return order
}

// inOrder returns the output with the members of each object in JavaScript's order.
func (w *stringifier) inOrder() []byte {
	if len(w.reordered) == 0 {
		return w.out
	}
	slices.SortFunc(w.reordered, func(a, b reordered) int { return cmp.Compare(a.start, b.start) })
	from := func(start int) int {
		i, _ := slices.BinarySearchFunc(w.reordered, start, func(r reordered, start int) int { return cmp.Compare(r.start, start) })
		return i
	}
	out := make([]byte, 0, len(w.out))
	var write func(start, end int)
	write = func(start, end int) {
		for i := from(start); i < len(w.reordered) && w.reordered[i].start < end; i = from(start) {
			r := &w.reordered[i]
			out = append(out, w.out[start:r.start+1]...)
			for j, m := range r.members {
				if j > 0 {
					out = append(out, ',')
				}
				write(m.start, m.end)
			}
			start = r.end
		}
		out = append(out, w.out[start:end]...)
	}
	write(0, len(w.out))
	return out
}

// CompareProperties orders the names of properties as JavaScript does: array indices by
// their value, before all others, which stay in the order in which they were added.
func CompareProperties(a, b string) int {
	x, isX := arrayIndex(a)
	y, isY := arrayIndex(b)
	switch {
	case isX && isY:
		return cmp.Compare(x, y)
	case isX:
		return -1
	case isY:
		return 1
	}
	return 0
}

// IsArrayIndex reports whether the name is that of an array index.
func IsArrayIndex(name string) bool {
	_, ok := arrayIndex(name)
	return ok
}

func arrayIndex(name string) (uint64, bool) {
	n, err := strconv.ParseUint(name, 10, 32)
	return n, err == nil && n < math.MaxUint32 && strconv.FormatUint(n, 10) == name
}

// ListText returns what JavaScript makes of a list where it needs a string.
func ListText(list []byte) string {
	var b strings.Builder
	d := newDecoder(list)
	for {
		kind := d.PeekKind()
		if _, n := d.StackIndex(d.StackDepth()); n > 0 && kind != ']' && d.StackDepth() > 0 {
			b.WriteByte(',')
		}
		if kind == '[' || kind == ']' {
			if _, err := d.ReadToken(); err != nil || d.StackDepth() == 0 {
				return b.String()
			}
			continue
		}
		raw, err := d.ReadValue()
		switch {
		case err != nil:
			return b.String()
		case kind == '"':
			b.WriteString(Unquote(raw))
		case kind == '{':
			b.WriteString("[object Object]")
		case kind == '0':
			b.WriteString(NumberText(raw))
		case kind != 'n':
			b.Write(raw)
		}
	}
}

// NumberText returns what JavaScript writes for a JSON number.
func NumberText(raw []byte) string {
	f, _ := strconv.ParseFloat(string(raw), 64) // out of range: infinite
	switch size := math.Abs(f); {
	case size > math.MaxFloat64:
		if f < 0 {
			return "-Infinity"
		}
		return "Infinity"
	case f == 0:
		return "0"
	case size >= 1e21 || size < 1e-6:
		digits, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
		return digits + "e" + exponent[:1] + strings.TrimLeft(exponent[1:], "0")
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
