package jsonedit

import (
	"bytes"
	"slices"
)

// HasLostText reports whether text of the earlier value is missing from the current one: a string is empty or cut, or a
// member or an element with text is missing. A different text or number does not count.
func HasLostText(current, earlier Value) bool {
	switch earlier.Kind() {
	case '"':
		old, _ := earlier.Bytes()
		text, isText := current.Bytes()
		return len(bytes.TrimSpace(old)) > 0 && (isEmpty(current) || isText && len(text) < len(old) &&
			bytes.HasPrefix(old, text) && len(bytes.TrimSpace(old[len(text):])) > 0)
	case '{':
		if current.Kind() != '{' {
			return isEmpty(current) && hasText(earlier)
		}
		members := map[string]Value{}
		for name, v := range current.Children() {
			members[string(name)] = v
		}
		for name, v := range earlier.Children() {
			if HasLostText(members[string(name)], v) {
				return true
			}
		}
	case '[':
		if current.Kind() != '[' {
			return isEmpty(current) && hasText(earlier)
		}
		return hasLostElement(slices.Collect(current.Elements()), slices.Collect(earlier.Elements()))
	default:
	}
	return false
}

// hasLostElement is HasLostText for lists. If the lengths differ, it compares elements regardless of position: if the
// later list has only elements of the earlier one, the other earlier elements with text are missing.
func hasLostElement(current, earlier []Value) bool {
	if len(earlier) == len(current) {
		for i := range earlier {
			if HasLostText(current[i], earlier[i]) {
				return true
			}
		}
		return false
	}
	left := map[string]int{}
	for _, v := range earlier {
		left[string(v.Raw())]++
	}
	for _, v := range current {
		if left[string(v.Raw())]--; left[string(v.Raw())] < 0 {
			return false
		}
	}
	for _, v := range earlier {
		if left[string(v.Raw())] > 0 && hasText(v) {
			return true
		}
	}
	return false
}

// isEmpty reports whether a value is missing or has no content: blanks do not count.
func isEmpty(v Value) bool {
	switch v.Kind() {
	case 0, 'n':
		return true
	case '"':
		b, _ := v.Bytes()
		return len(bytes.TrimSpace(b)) == 0
	case '{', '[':
		for range v.Children() {
			return false
		}
		return true
	default:
		return false
	}
}

// hasText reports whether a value contains a string that is not blank.
func hasText(v Value) bool {
	if b, ok := v.Bytes(); ok {
		return len(bytes.TrimSpace(b)) > 0
	}
	for _, child := range v.Children() {
		if hasText(child) {
			return true
		}
	}
	return false
}
