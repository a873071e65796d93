package js

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Greater reports whether a > b.
func Greater(a, b Value) bool {
	x, xIsText := a.primitive()
	y, yIsText := b.primitive()
	if xIsText && yIsText {
		return CompareStrings(x, y) > 0
	}
	return number(x, xIsText) > number(y, yIsText)
}

// StrictEqual reports whether a === b.
func StrictEqual(a, b Value) bool {
	if a.Kind() != b.Kind() || a.Kind() == '{' || a.Kind() == '[' {
		return false
	}
	x, isText := a.primitive()
	y, _ := b.primitive()
	return isText && x == y || !isText && (a.Kind() != '0' || number(x, false) == number(y, false))
}

// primitive returns what v is converted to in a comparison: a string, or the text of
// a number, which is "" for NaN.
func (v Value) primitive() (text string, isText bool) {
	switch v.Kind() {
	case 0:
		return "", false
	case 'n', 'f':
		return "0", false
	case 't':
		return "1", false
	case '0':
		return string(v.Raw()), false
	default:
		return v.String(), true
	}
}

// number converts a primitive to a number.
func number(text string, isText bool) float64 {
	text = Trim(text)
	if text == "" && isText {
		return 0
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(f, 0) {
		return math.NaN()
	}
	return f
}

// CompareStrings compares two strings by UTF-16 units, as JavaScript does.
func CompareStrings(a, b string) int {
	if isASCII(a) && isASCII(b) {
		return cmp.Compare(a, b)
	}
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

func isASCII(s string) bool { return !strings.ContainsFunc(s, func(c rune) bool { return c >= 0x80 }) }

// Trim is String.prototype.trim. A byte order mark is white space to it.
func Trim(s string) string {
	return strings.TrimFunc(s, func(c rune) bool { return Blank(string(c)) })
}
