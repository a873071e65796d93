package js

import (
	"encoding/json"

	"mend/change"
	"mend/internal/jsonedit"
)

// ParseColumn returns the value of a column; NULL has none. With parse, the value is the JSON in the column's text, and
// ok is false if the column has no JSON text. A blob is a list.
func ParseColumn(c change.Col, parse bool) (v Value, ok bool) {
	data := c.Bytes
	switch c.Class {
	case change.ClassNull:
		return Value{}, true
	case change.ClassBlob:
		return Parse([]byte("[]")), !parse
	case change.ClassInteger, change.ClassReal:
		f, _ := c.Float()
		if text, err := json.Marshal(f); err == nil {
			data = text
		} else { // an infinite number
			data = []byte("null")
		}
	case change.ClassText:
		if !parse {
			data = jsonedit.Quote(string(data))
		}
	}
	v = Parse(data)
	return v, v.Exists() || !parse
}
