package js

import (
	"encoding/json"
	"fmt"
	"strings"

	"mend/internal/jsonedit"
	"mend/session"
)

// ParseColumn returns the value of a column, none for NULL. With parse that is what its text
// says, and ok is false if that is no JSON. A blob is an array of numbers.
func ParseColumn(c session.Col, parse bool) (v Value, ok bool) {
	text := ColumnString(c)
	switch {
	case c.Class == session.ClassNull:
		return Value{}, true
	case parse:
		v = Parse([]byte(text))
		return v, v.Exists()
	case c.Class == session.ClassBlob:
		text = "[" + text + "]"
	case c.Class == session.ClassText:
		text = string(jsonedit.Quote(text))
	}
	return Parse([]byte(text)), true
}

// ColumnString returns a column's value as JavaScript converts it to a string: a blob
// becomes its bytes as numbers, NULL becomes "null".
func ColumnString(c session.Col) string {
	switch c.Class {
	case session.ClassText:
		return string(c.Bytes)
	case session.ClassBlob:
		return strings.Trim(strings.ReplaceAll(fmt.Sprintf("%d", c.Bytes), " ", ","), "[]")
	case session.ClassInteger, session.ClassReal:
		f, _ := c.Float()
		text, err := json.Marshal(f)
		if err != nil { // an infinite number
			return "null"
		}
		return string(text)
	case session.ClassNull:
	}
	return "null"
}
