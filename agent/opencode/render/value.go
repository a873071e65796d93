package render

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"mend/jsonedit"
)

// A value is one JSON value in the text of a record, or none; what is asked of it is
// what a program in JavaScript asks, which is how the agent comes to its answers. See
// [jsonedit.Get] for where the two ways of reading agree.
type value struct{ jsonedit.Value }

// parse reads data as JSON.parse does; it is none for what is not one value.
func parse(data []byte) value { return value{jsonedit.Parse(data)} }

// there reports whether there is a value.
func (v value) there() bool { return v.Kind() != 0 }

// null reports whether reading a member of v would throw: null, or not there.
func (v value) null() bool { return v.Kind() == 0 || v.Kind() == 'n' }

// truthy reports whether an if would take v for true.
func (v value) truthy() bool {
	switch v.Kind() {
	case 0, 'n', 'f':
		return false
	case '"':
		return len(v.Raw()) > 2
	case '0':
		f, err := strconv.ParseFloat(string(v.Raw()), 64)
		return f != 0 || err != nil
	default:
		return true
	}
}

// get is the member of that name. What is no object has none.
func (v value) get(name string) value { return value{v.Get(name)} }

// A named value is a member of an object.
type named struct {
	name string
	value
}

// fields are the members of an object in the order of JavaScript: those that are named
// by an index, then the others as they come. Of equal names the last value counts.
func (v value) fields() (all []named) {
	if v.Kind() != '{' {
		return nil
	}
	at := map[string]int{}
	indexed := false
	for name, in := range v.Children() {
		i, again := at[string(name)]
		if again {
			all[i].value = value{in}
			continue
		}
		at[string(name)] = len(all)
		all = append(all, named{string(name), value{in}})
		_, isIndex := index(string(name))
		indexed = indexed || isIndex
	}
	if indexed {
		slices.SortStableFunc(all, func(a, b named) int {
			x, isX := index(a.name)
			y, isY := index(b.name)
			switch {
			case isX && isY:
				return cmp.Compare(x, y)
			case isX:
				return -1
			case isY:
				return 1
			}
			return 0
		})
	}
	return all
}

// index is the index that a name is, and whether it is one.
func index(name string) (uint64, bool) {
	n, err := strconv.ParseUint(name, 10, 32)
	return n, err == nil && n < math.MaxUint32 && strconv.FormatUint(n, 10) == name
}

// list is the elements of v, and whether it is a list.
func (v value) list() (all []value, isList bool) {
	if v.Kind() != '[' {
		return nil, false
	}
	for _, in := range v.Children() {
		all = append(all, value{in})
	}
	return all, true
}

// any reports whether v is there, and no empty list.
func (v value) any() bool {
	all, isList := v.list()
	return !v.null() && (!isList || len(all) > 0)
}

// str is v as a string, and whether it is one.
func (v value) str() (string, bool) {
	return v.Text()
}

// stringified is v as JSON.stringify writes it.
func (v value) stringified() []byte { return v.stringify(nil) }

func (v value) stringify(b []byte) []byte {
	switch v.Kind() {
	case '"':
		text, _ := v.str()
		return append(b, jsonedit.Quote(text)...)
	case '0':
		if text := numberText(v.Raw()); !strings.HasSuffix(text, "Infinity") {
			return append(b, text...)
		}
		return append(b, "null"...)
	case '[':
		b = append(b, '[')
		items, _ := v.list()
		for i, item := range items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.stringify(b)
		}
		return append(b, ']')
	case '{':
		b = append(b, '{')
		for i, f := range v.fields() {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, jsonedit.Quote(f.name)...), ':')
			b = f.stringify(b)
		}
		return append(b, '}')
	default:
		return append(b, v.Raw()...)
	}
}

// joined is v as a string joined to another one would be: that of a list has commas
// between its items.
func (v value) joined() string {
	switch v.Kind() {
	case 0:
		return "undefined"
	case '{':
		return "[object Object]"
	case '"':
		s, _ := v.str()
		return s
	case '0':
		return numberText(v.Raw())
	case '[':
		items, _ := v.list()
		texts := make([]string, len(items))
		for i, item := range items {
			if !item.null() {
				texts[i] = item.joined()
			}
		}
		return strings.Join(texts, ",")
	default:
		return string(v.Raw())
	}
}

// numberText is a number as JavaScript writes it.
func numberText(raw []byte) string {
	f, _ := strconv.ParseFloat(string(raw), 64) // out of range: infinite
	switch size := math.Abs(f); {
	case size > math.MaxFloat64:
		return strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+") + "inity"
	case f == 0:
		return "0"
	case size >= 1e21 || size < 1e-6:
		digits, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
		return digits + "e" + exponent[:1] + strings.TrimLeft(exponent[1:], "0")
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
