package jsonedit

import "bytes"

// HasLostText reports whether text of the earlier value is missing from now: a string is empty or cut, or a member or
// an element with text is missing. A different text or number does not count.
func HasLostText(now, then Value) bool {
	switch then.Kind() {
	case '"':
		earlier, _ := then.Bytes()
		text, isText := now.Bytes()
		return len(bytes.TrimSpace(earlier)) > 0 && (isEmpty(now) || isText && len(text) < len(earlier) && bytes.HasPrefix(earlier,
			text) && len(bytes.TrimSpace(earlier[len(text):])) > 0)
	case '{':
		if now.Kind() != '{' {
			return isEmpty(now) && hasText(then)
		}
		members := map[string]Value{}
		for name, v := range now.Children() {
			members[string(name)] = v
		}
		for name, v := range then.Children() {
			if HasLostText(members[string(name)], v) {
				return true
			}
		}
	case '[':
		if now.Kind() != '[' {
			return isEmpty(now) && hasText(then)
		}
		return hasLostElement(now, then)
	default:
	}
	return false
}

// hasLostElement is HasLostText for lists. If the lengths differ, it compares elements regardless of position: if the
// later list has only elements of the earlier one, the other earlier elements with text are missing.
func hasLostElement(now, then Value) bool {
	var earlier, current []Value
	for v := range then.Elements() {
		earlier = append(earlier, v)
	}
	for v := range now.Elements() {
		current = append(current, v)
	}
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
