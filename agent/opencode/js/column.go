package js

import (
	"encoding/json"
	"fmt"
	"strings"

	"mend/change"
	"mend/internal/jsonedit"
)

// ParseColumn returns the value of a column; NULL has none. With parse, the value is the JSON in the column's text, and
// ok is false if the text is not JSON. A blob is an array of numbers.
func ParseColumn(c change.Col, parse bool) (v Value, ok bool) {
	text := columnString(c)
	switch {
	case c.Class == change.ClassNull:
		return Value{}, true
	case parse:
		v = Parse([]byte(text))
		return v, v.Exists()
	case c.Class == change.ClassBlob:
		text = "[" + text + "]"
	case c.Class == change.ClassText:
		text = string(jsonedit.Quote(text))
	}
	return Parse([]byte(text)), true
}

// columnString returns a column's value as JavaScript converts it to a string: a blob becomes its
// bytes as numbers, NULL becomes "null".
func columnString(c change.Col) string {
	switch c.Class {
	case change.ClassText:
		return string(c.Bytes)
	case change.ClassBlob:
		return strings.Trim(strings.ReplaceAll(fmt.Sprintf("%d", c.Bytes), " ", ","), "[]")
	case change.ClassInteger, change.ClassReal:
		f, _ := c.Float()
		text, err := json.Marshal(f)
		if err != nil { // an infinite number
			return "null"
		}
		return string(text)
	case change.ClassNull:
	}
	return "null"
}
