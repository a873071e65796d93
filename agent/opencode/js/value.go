// Package js gives JSON values the semantics of JavaScript, the language of OpenCode. They decide how OpenCode reads
// a record, and whether it crashes. The package runs no script.
//
// It does no I/O. It may import change and internal/jsonedit. Read [Parse] first.
package js

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"mend/internal/jsonedit"
)

// A Value is a JSON value in the text of a record. The zero Value is JavaScript's undefined.
type Value struct{ jsonedit.Value }

// Parse reads data as JSON.parse does. It returns the zero Value if JSON.parse throws.
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
		return v.Number() != 0
	default:
		return true
	}
}

// Number returns the number v, NaN if v is not a number, and an infinity if it is too large.
func (v Value) Number() float64 {
	if v.Kind() != '0' {
		return math.NaN()
	}
	f, _ := strconv.ParseFloat(string(v.Raw()), 64) // fails only if it is too large
	return f
}

// Get returns the member of that name. A value that is not an object has no members.
func (v Value) Get(name string) Value { return Value{v.Value.Get(name)} }

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

// String converts v as JavaScript does if v is a string, a number, a truth value or missing. Other
// values return their text in the record.
func (v Value) String() string {
	if !v.Exists() {
		return "undefined"
	}
	if s, ok := v.Text(); ok {
		return s
	}
	return string(v.Raw())
}

// Trim is String.prototype.trim. A byte order mark is white space to it.
func Trim(s string) string {
	return strings.TrimFunc(s, func(c rune) bool { return unicode.IsSpace(c) || c == '\ufeff' })
}

// Blank reports whether s has only the white space that [Trim] removes.
func Blank(s string) bool { return Trim(s) == "" }
