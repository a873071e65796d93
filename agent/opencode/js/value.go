// Package js gives JSON values the semantics of JavaScript, the language of OpenCode:
// what OpenCode reads from a record, and whether it crashes, depends on them.
package js

import (
	"bytes"
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

// WithoutPrototypes returns JSON without members called __proto__. Assigned to an object, as when Bun
// reads a file, such a member is none that is listed or written.
func WithoutPrototypes(data []byte) []byte {
	if !bytes.Contains(data, []byte(prototype)) {
		return data
	}
	v := Parse(data)
	if !v.Exists() {
		return data
	}
	return appendWithoutPrototypes(nil, v.Value)
}

const prototype = "__proto__"

func appendWithoutPrototypes(out []byte, v jsonedit.Value) []byte {
	kind := v.Kind()
	if kind != '{' && kind != '[' {
		return append(out, v.Raw()...)
	}
	out = append(out, byte(kind))
	empty := true
	for name, in := range v.Children() {
		if kind == '{' && string(name) == prototype {
			continue
		}
		if !empty {
			out = append(out, ',')
		}
		empty = false
		if kind == '{' {
			out = append(append(out, jsonedit.Quote(string(name))...), ':')
		}
		out = appendWithoutPrototypes(out, in)
	}
	return append(out, byte(kind)+2) // } follows { by two, as ] follows [
}

// Get returns the member of that name. A value that is no object has no members.
func (v Value) Get(name string) Value { return Value{v.Value.Get(name)} }

// A Member is a member of an object.
type Member struct {
	Name string
	Value
}

// Members returns the members of an object in the order of the text. Of equal names the last value
// counts.
func (v Value) Members() (all []Member) {
	if v.Kind() != '{' {
		return nil
	}
	at := map[string]int{}
	for name, in := range v.Children() {
		i, seen := at[string(name)]
		if seen {
			all[i].Value = Value{in}
			continue
		}
		at[string(name)] = len(all)
		all = append(all, Member{string(name), Value{in}})
	}
	return all
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
	for range v.Children() {
		return true
	}
	return !v.Nullish() && v.Kind() != '['
}

// String returns v as JavaScript converts it to a string, in `"" + v` for example. A number stays
// as it is written.
func (v Value) String() string {
	switch v.Kind() {
	case 0:
		return "undefined"
	case '{':
		return "[object Object]"
	case '"':
		s, _ := v.Text()
		return s
	case '[':
		var texts []string
		for _, in := range v.Children() {
			if in.Kind() == 'n' {
				texts = append(texts, "")
			} else {
				texts = append(texts, Value{in}.String())
			}
		}
		return strings.Join(texts, ",")
	default:
		return string(v.Raw())
	}
}

// Blank reports whether s has only white space and byte order marks, as JavaScript's trim
// removes them.
func Blank(s string) bool {
	return strings.TrimFunc(s, func(c rune) bool { return unicode.IsSpace(c) || c == '\ufeff' }) == ""
}
