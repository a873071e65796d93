package request

import "strings"

// IsBlank reports whether a text has no visible character.
func IsBlank(text string) bool {
	return strings.TrimSpace(strings.ReplaceAll(text, "\ufeff", "")) == ""
}
