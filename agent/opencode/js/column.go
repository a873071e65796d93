package js

import (
	"encoding/json"
	"strconv"
	"strings"

	"mend/jsonedit"
	"mend/session"
)

// ParseColumn returns the value that a program in JavaScript gets for a column: none for
// NULL, an array of numbers for a blob. With parse it is JSON.parse of that value, and ok is
// false if JSON.parse throws.
func ParseColumn(c session.Col, parse bool) (v Value, ok bool) {
	if c.Class == session.ClassNull {
		return Value{}, true
	}
	text := ColumnString(c)
	switch {
	case parse:
		v = Parse([]byte(text))
		return v, v.Exists()
	case c.Class == session.ClassText:
		text = string(jsonedit.Quote(text))
	case c.Class == session.ClassBlob:
		text = "[" + text + "]"
	}
	return Parse([]byte(text)), true
}

// ColumnString returns a column's value as JavaScript converts it to a string: a blob
// becomes its bytes as numbers with commas between them, NULL becomes "null".
func ColumnString(c session.Col) string {
	switch c.Class {
	case session.ClassText:
		return string(c.Bytes)
	case session.ClassBlob:
		words := make([]string, len(c.Bytes))
		for i, b := range c.Bytes {
			words[i] = strconv.Itoa(int(b))
		}
		return strings.Join(words, ",")
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
