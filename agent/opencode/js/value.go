// Package js gives JSON values the semantics of JavaScript, the language of OpenCode:
// what OpenCode reads from a record, and whether it crashes, depends on them.
package js

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"mend/jsonedit"
)

// A Value is a JSON value in the text of a record. The zero Value is JavaScript's
// undefined.
type Value struct{ jsonedit.Value }

// Parse reads data as JSON.parse does. It returns no value where JSON.parse throws.
func Parse(data []byte) Value { return Value{jsonedit.Parse(data)} }

// Exists reports whether there is a value.
func (v Value) Exists() bool { return v.Kind() != 0 }

// Nullish reports whether v is null or does not exist: reading a member of it throws.
func (v Value) Nullish() bool { return v.Kind() == 0 || v.Kind() == 'n' }

// Truthy reports whether v counts as true in a condition.
func (v Value) Truthy() bool {
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

// IsInfinite reports whether v is a number too large for JavaScript.
func (v Value) IsInfinite() bool {
	_, err := strconv.ParseFloat(string(v.Raw()), 64)
	return v.Kind() == '0' && err != nil
}

// Get returns the member of that name. A value that is no object has no members.
func (v Value) Get(name string) Value { return Value{v.Value.Get(name)} }

// A Member is a member of an object.
type Member struct {
	Name string
	Value
}

// Members returns the members of an object in the order of JavaScript: first those whose
// name is an array index, in ascending order, then the others in the order of the text.
// Of equal names the last value counts.
func (v Value) Members() (all []Member) {
	if v.Kind() != '{' {
		return nil
	}
	at := map[string]int{}
	indexed := false
	for name, in := range v.Children() {
		i, seen := at[string(name)]
		if seen {
			all[i].Value = Value{in}
			continue
		}
		at[string(name)] = len(all)
		all = append(all, Member{string(name), Value{in}})
		_, isIndex := arrayIndex(string(name))
		indexed = indexed || isIndex
	}
	if indexed {
		slices.SortStableFunc(all, func(a, b Member) int {
			x, isX := arrayIndex(a.Name)
			y, isY := arrayIndex(b.Name)
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

// arrayIndex returns the name as an array index, and whether it is one.
func arrayIndex(name string) (uint64, bool) {
	n, err := strconv.ParseUint(name, 10, 32)
	return n, err == nil && n < math.MaxUint32 && strconv.FormatUint(n, 10) == name
}

// List returns the elements of v, and whether it is a list.
func (v Value) List() (all []Value, isList bool) {
	if v.Kind() != '[' {
		return nil, false
	}
	for _, in := range v.Children() {
		all = append(all, Value{in})
	}
	return all, true
}

// NonEmpty reports whether v is neither nullish nor an empty list.
func (v Value) NonEmpty() bool {
	all, isList := v.List()
	return !v.Nullish() && (!isList || len(all) > 0)
}

// Stringify returns v as JSON.stringify writes it.
func (v Value) Stringify() []byte { return v.appendJSON(nil) }

func (v Value) appendJSON(b []byte) []byte {
	switch v.Kind() {
	case '"':
		text, _ := v.Text()
		return append(b, jsonedit.Quote(text)...)
	case '0':
		if text := numberText(v.Raw()); !strings.HasSuffix(text, "Infinity") {
			return append(b, text...)
		}
		return append(b, "null"...)
	case '[':
		b = append(b, '[')
		items, _ := v.List()
		for i, item := range items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.appendJSON(b)
		}
		return append(b, ']')
	case '{':
		b = append(b, '{')
		for i, f := range v.Members() {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, jsonedit.Quote(f.Name)...), ':')
			b = f.appendJSON(b)
		}
		return append(b, '}')
	default:
		return append(b, v.Raw()...)
	}
}

// String returns v as JavaScript converts it to a string, in `"" + v` for example.
func (v Value) String() string {
	switch v.Kind() {
	case 0:
		return "undefined"
	case '{':
		return "[object Object]"
	case '"':
		s, _ := v.Text()
		return s
	case '0':
		return numberText(v.Raw())
	case '[':
		items, _ := v.List()
		texts := make([]string, len(items))
		for i, item := range items {
			if !item.Nullish() {
				texts[i] = item.String()
			}
		}
		return strings.Join(texts, ",")
	default:
		return string(v.Raw())
	}
}

// numberText returns a number as JavaScript writes it.
func numberText(raw []byte) string {
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

// Blank reports whether s has only white space and byte order marks, as JavaScript's trim
// removes them.
func Blank(s string) bool {
	return strings.TrimFunc(s, func(c rune) bool { return unicode.IsSpace(c) || c == '\ufeff' }) == ""
}
