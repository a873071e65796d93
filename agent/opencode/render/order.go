package render

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// sortParts puts the parts of files into the order in which the agent reads them: it
// takes the files by name and sorts the records by the ids inside with a comparison
// that knows no equal ids, and none that are not strings. What becomes of these depends
// on the algorithm, which is that of JavaScriptCore.
func sortParts(all []part) {
	ordered := true
	for i := range all {
		ordered = ordered && all[i].body.get("id").Kind() == '"' && (i == 0 || all[i-1].id < all[i].id)
	}
	if ordered {
		return
	}
	slices.SortStableFunc(all, func(a, b part) int { return compareUTF16(a.ref.Part, b.ref.Part) })
	done := 1
	if len(all) >= 8 { // a run that is in order stays
		for done < len(all) && !before(all[done], all[done-1]) {
			done++
		}
	}
	for ; done < len(all); done++ {
		p := all[done]
		low, high := 0, done
		for low < high {
			if mid := (low + high) / 2; before(p, all[mid]) {
				high = mid
			} else {
				low = mid + 1
			}
		}
		copy(all[low+1:done+1], all[low:done])
		all[low] = p
	}
}

// before reports whether a goes before b: a.id > b.id ? 1 : -1 is negative.
func before(a, b part) bool { return !greater(a.body.get("id"), b.body.get("id")) }

// greater reports whether a > b in JavaScript.
func greater(a, b value) bool {
	x, xIsText := a.primitive()
	y, yIsText := b.primitive()
	if xIsText && yIsText {
		return compareUTF16(x, y) > 0
	}
	return number(x, xIsText) > number(y, yIsText)
}

// identical reports whether a === b in JavaScript.
func identical(a, b value) bool {
	if a.Kind() != b.Kind() || a.Kind() == '{' || a.Kind() == '[' {
		return false
	}
	x, isText := a.primitive()
	y, _ := b.primitive()
	return isText && x == y || !isText && (a.Kind() != '0' || number(x, false) == number(y, false))
}

// primitive is the string that v counts as in a comparison, or, if it is none, the
// text of a number, "" for NaN.
func (v value) primitive() (text string, isText bool) {
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
		return v.joined(), true
	}
}

// number is a primitive as a number.
func number(text string, isText bool) float64 {
	text = trim(text)
	if text == "" && isText {
		return 0
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(f, 0) {
		return math.NaN()
	}
	return f
}

// compareUTF16 compares two strings as JavaScript does.
func compareUTF16(a, b string) int {
	if isASCII(a) && isASCII(b) {
		return cmp.Compare(a, b)
	}
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

func isASCII(s string) bool { return !strings.ContainsFunc(s, func(c rune) bool { return c >= 0x80 }) }
