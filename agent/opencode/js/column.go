package js

import (
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
	text := c.JavaScript()
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
