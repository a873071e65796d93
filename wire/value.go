package wire

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// A value is one JSON value in the text of a record, nil where there is none;
// what is asked of it is what a program in JavaScript asks, which is how the
// agent comes to its answers. See [session.Field] for where the two ways of
// reading agree. It is taken apart when something inside it is asked for, once.
type value struct {
	raw   jsontext.Value
	inner []element // of an object or of a list, once taken
	taken bool
}

// An element is a member of an object, or of a list without a name.
type element struct {
	name []byte
	value
}

// kind is the first byte of the value in jsontext's manner, 0 for none.
func (v *value) kind() jsontext.Kind {
	if v == nil || len(v.raw) == 0 {
		return 0
	}
	return v.raw.Kind()
}

// null reports whether reading a member of v would throw: null, or not there.
func (v *value) null() bool { return v.kind() == 0 || v.kind() == 'n' }

// truthy reports whether an if would take v for true.
func (v *value) truthy() bool {
	switch v.kind() {
	case 0, 'n', 'f':
		return false
	case '"':
		return len(v.raw) > 2
	case '0':
		f, err := strconv.ParseFloat(string(v.raw), 64)
		return f != 0 || err != nil
	default:
		return true
	}
}

// inside are the members of an object or of a list.
func (v *value) inside() []element {
	if !v.taken {
		v.taken = true
		if whole := scan(v.raw); whole != nil {
			v.inner = whole.inner
		} else if whole, err := take(decoder(v.raw), v.raw); err == nil {
			v.inner = whole.inner
		}
	}
	return v.inner
}

// fields are the members of an object that count, by name no more than one.
func (v *value) fields() []element {
	if v.kind() != '{' {
		return nil
	}
	all := v.inside()
	if len(all) < 2 {
		return all
	}
	var last []element
	seen := map[string]bool{}
	for _, e := range slices.Backward(all) {
		if !seen[string(e.name)] {
			seen[string(e.name)] = true
			last = append(last, e)
		}
	}
	return last
}

// get is the member of that name. What is no object has none.
func (v *value) get(name string) *value {
	if v.kind() != '{' {
		return nil
	}
	all := v.inside()
	for i := range slices.Backward(all) { // the last counts
		if string(all[i].name) == name {
			return &all[i].value
		}
	}
	return nil
}

// list is the elements of v, and whether it is a list.
func (v *value) list() ([]element, bool) {
	if v.kind() != '[' {
		return nil, false
	}
	return v.inside(), true
}

// any reports whether v is there, and no empty list.
func (v *value) any() bool {
	all, isList := v.list()
	return !v.null() && (!isList || len(all) > 0)
}

// bytes is v as a string that may be large, and whether it is one.
func (v *value) bytes() ([]byte, bool) {
	if v.kind() != '"' {
		return nil, false
	}
	return unquote(v.raw), true
}

// str is v as a string, and whether it is one.
func (v *value) str() (string, bool) {
	if v.kind() != '"' {
		return "", false
	}
	return string(unquote(v.raw)), true
}

// compact is v without the white space between its tokens, as JSON.stringify
// writes it.
func (v *value) compact() string {
	c := jsontext.Value(bytes.Clone(v.raw))
	if err := c.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return string(v.raw)
	}
	return string(c)
}

// joined is v as a string joined to another one would be.
func (v *value) joined() string {
	switch v.kind() {
	case 0:
		return "undefined"
	case '{':
		return "[object Object]"
	default:
	}
	if s, ok := v.str(); ok {
		return s
	}
	return string(v.raw)
}
