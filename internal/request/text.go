package request

import (
	"slices"
	"strings"
)

// IsBlank reports whether a text has no visible character.
func IsBlank(text string) bool {
	return strings.TrimSpace(strings.ReplaceAll(text, "\ufeff", "")) == ""
}

// Short returns at most n characters of a text.
func Short(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// MoveFirst puts the elements for which is holds before the others. Both keep their order.
func MoveFirst[T any](all []T, is func(T) bool) {
	rank := map[bool]int{false: 1}
	slices.SortStableFunc(all, func(a, b T) int { return rank[is(a)] - rank[is(b)] })
}
