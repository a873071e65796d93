package repair

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"mend/jsonedit"
)

// need and may make slots for members that must, and that may, be there; want is for
// those that only a screen asks for, and that are left out where nothing tells them.
func need(path string, is fit, fill func(gap) []byte) slot {
	return slot{path: path, fit: is, fill: fill}
}
func want(path string, is fit, fill func(gap) []byte) slot { return slot{path, is, fill, true} }
func may(path string, is fit) slot                         { return slot{path: path, fit: is} }

// always fills in the same value.
func always(raw string) func(gap) []byte {
	return func(gap) []byte { return []byte(raw) }
}

// unknown is of a value without which the record means nothing.
func unknown(gap) []byte { return nil }

// aText keeps a number, a truth value, an object or a list as its text.
func aText(_ gap, raw []byte) ([]byte, bool) {
	switch raw[0] {
	case '"':
		return raw, true
	case 'n':
		return nil, false
	}
	var b bytes.Buffer
	err := json.Compact(&b, raw)
	return jsonedit.Quote(b.String()), err == nil
}

// aNumber keeps a number that is written as a string.
func aNumber(_ gap, raw []byte) ([]byte, bool) {
	if isNumber(raw) {
		return raw, true
	}
	text, _ := unquoted(raw)
	if n := []byte(strings.TrimSpace(text)); isNumber(n) && json.Valid(n) {
		return n, true
	}
	return nil, false
}

// aTime is a number that is not negative.
func aTime(g gap, raw []byte) ([]byte, bool) {
	n, ok := aNumber(g, raw)
	return n, ok && n[0] != '-'
}

// aCount is a whole number that is not negative; it keeps another one rounded.
func aCount(g gap, raw []byte) ([]byte, bool) {
	n, ok := aTime(g, raw)
	if !ok {
		return nil, false
	}
	f, err := strconv.ParseFloat(string(n), 64)
	switch {
	case err != nil || f > 1<<53-1:
		return nil, false
	case f == math.Trunc(f):
		return n, true
	}
	return strconv.AppendFloat(nil, math.Round(f), 'f', -1, 64), true
}

// aTruth is true or false.
func aTruth(_ gap, raw []byte) ([]byte, bool) {
	if text, ok := unquoted(raw); ok {
		return []byte(text), text == "true" || text == "false"
	}
	return raw, raw[0] == 't' || raw[0] == 'f'
}

func anObject(_ gap, raw []byte) ([]byte, bool) { return raw, raw[0] == '{' }

// idOf is an id of records with that prefix.
func idOf(prefix string) fit {
	return func(_ gap, raw []byte) ([]byte, bool) {
		id, ok := unquoted(raw)
		return raw, ok && strings.HasPrefix(id, prefix)
	}
}

// aMap is an object without those members that do not fit; the excepted ones are
// left alone.
func aMap(is fit, except ...string) fit {
	return func(g gap, raw []byte) ([]byte, bool) {
		to, err := jsonedit.EditMembers(raw, func(name string, v []byte) ([]byte, bool) {
			if slices.Contains(except, name) {
				return v, true
			}
			return g.fitAt(name, is, v)
		})
		return to, err == nil
	}
}

// aList is a list, each item completed, without those that cannot be.
func aList(is fit) fit {
	return func(g gap, raw []byte) ([]byte, bool) {
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil || raw[0] != '[' {
			return nil, false
		}
		same, kept := true, []string{}
		for i, item := range items {
			to, ok := g.fitAt(strconv.Itoa(i), is, item)
			same = same && ok && string(to) == string(item)
			if ok {
				kept = append(kept, string(to))
			}
		}
		if same {
			return raw, true
		}
		return []byte("[" + strings.Join(kept, ",") + "]"), true
	}
}

// completed is an object with the slots filled.
func completed(slots func(raw []byte) []slot) fit {
	return func(g gap, raw []byte) ([]byte, bool) {
		if raw[0] != '{' {
			return nil, false
		}
		return g.completedBy(raw, slots(raw))
	}
}

// completedBy is the object with the slots filled; what that takes away is noted.
func (g gap) completedBy(raw []byte, slots []slot) ([]byte, bool) {
	to, c, err := g.complete(raw, slots)
	if err != nil {
		return nil, false
	}
	for _, path := range c.lost {
		g.drop(path)
	}
	return to, true
}

// intact is an object to which nothing needs to be done.
func intact(slots func(raw []byte) []slot) fit {
	return func(g gap, raw []byte) ([]byte, bool) {
		if raw[0] != '{' {
			return nil, false
		}
		_, c, err := g.complete(raw, slots(raw))
		return raw, err == nil && c.none()
	}
}

// alike are the slots of objects that are all alike.
func alike(slots ...slot) func([]byte) []slot { return func([]byte) []slot { return slots } }

// under are slots of the object at path.
func under(path string, slots ...slot) []slot {
	below := slices.Clone(slots)
	for i := range below {
		below[i].path = path + "." + below[i].path
	}
	return below
}

func unquoted(raw []byte) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return jsonedit.Unquote(raw), true
}

// textAt is the string at a path, "" if there is none.
func textAt(data []byte, path ...string) string {
	raw, _ := jsonedit.Get(data, path...)
	s, _ := unquoted(raw)
	return s
}
