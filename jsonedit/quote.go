package jsonedit

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Quote is s as a JSON string, escaped as the agent's own JSON.stringify does
// it: nothing more than quotes, backslashes and control characters.
func Quote(s string) []byte {
	b, _ := jsontext.AppendQuote(nil, s) // the error tells of invalid UTF-8, which is replaced
	return b
}

// Unquote is the text of a JSON string; "" for what is none.
func Unquote(raw []byte) string {
	b, err := jsontext.AppendUnquote(nil, raw)
	if err != nil && len(b) == 0 { // invalid UTF-8 comes with the replaced text
		return ""
	}
	return string(b)
}

// unquote is what a JSON string says, not copied where it stands as it is. Bytes that are
// not UTF-8 become U+FFFD.
func unquote(raw jsontext.Value) []byte {
	if plain := raw[1 : len(raw)-1]; bytes.IndexByte(plain, '\\') < 0 && utf8.Valid(plain) {
		return plain
	}
	b, _ := jsontext.AppendUnquote(nil, raw) // an error: invalid UTF-8, which is replaced
	return b
}
