package jsonedit

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Minify returns text without white space around its values, and with strings as [Quote] writes
// them; nil if text is not one JSON value.
func Minify(text []byte) []byte {
	v := jsontext.Value(bytes.Clone(text))
	if v.Format(readOptions, jsontext.PreserveRawStrings(false)) != nil {
		return nil
	}
	return v
}
