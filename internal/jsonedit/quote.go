package jsonedit

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Quote returns s as a JSON string. Like JSON.stringify, it escapes only quotes, backslashes and
// control characters.
func Quote(s string) []byte {
	b, _ := jsontext.AppendQuote(nil, s) // an error means invalid UTF-8, which is replaced
	return b
}

// Unquote returns the content of a JSON string, "" if raw is not a string. Bytes that are not UTF-8
// become U+FFFD.
func Unquote(raw []byte) string {
	b, err := jsontext.AppendUnquote(nil, raw)
	if err != nil && len(b) == 0 { // invalid UTF-8 comes with a result
		return ""
	}
	return string(b)
}

// Text returns the content of the JSON value raw, and whether it is a string.
func Text(raw []byte) (text string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return Unquote(raw), true
}

// unquote returns the content of a string, which aliases raw if nothing is replaced.
func unquote(raw jsontext.Value) []byte {
	if plain := raw[1 : len(raw)-1]; bytes.IndexByte(plain, '\\') < 0 && utf8.Valid(plain) {
		return plain
	}
	b, _ := jsontext.AppendUnquote(nil, raw) // an error means invalid UTF-8, which is replaced
	return b
}
