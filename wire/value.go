package wire

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"mend/session"
)

// A value is one JSON value in the text of a record, or none; what is asked of it is
// what a program in JavaScript asks, which is how the agent comes to its answers. See
// [session.Field] for where the two ways of reading agree.
type value struct{ session.Value }

// parse reads data as JSON.parse does; it is none for what is not one value.
func parse(data []byte) value {
	if o := session.NewOutline(data); o != nil {
		return value{o.Root()}
	}
	return value{}
}

// there reports whether there is a value.
func (v value) there() bool { return v.Kind() != 0 }

// null reports whether reading a member of v would throw: null, or not there.
func (v value) null() bool { return v.Kind() == 0 || v.Kind() == 'n' }

// truthy reports whether an if would take v for true.
func (v value) truthy() bool {
	switch v.Kind() {
	case 0, 'n', 'f':
		return false
	case '"':
		return len(v.Raw()) > 2
	case '0':
		f, err := strconv.ParseFloat(string(v.Raw()), 64)
		return f != 0 || err != nil
	default:
		return true
	}
}

// get is the member of that name. What is no object has none.
func (v value) get(name string) value { return value{v.Get(name)} }

// A named value is a member of an object.
type named struct {
	name string
	value
}

// fields are the members of an object that count, by name no more than one.
func (v value) fields() (all []named) {
	if v.Kind() != '{' {
		return nil
	}
	for name, in := range v.Inside() {
		all = append(all, named{string(name), value{in}})
	}
	if len(all) < 2 {
		return all
	}
	var last []named
	seen := map[string]bool{}
	for _, f := range slices.Backward(all) {
		if !seen[f.name] {
			seen[f.name] = true
			last = append(last, f)
		}
	}
	return last
}

// list is the elements of v, and whether it is a list.
func (v value) list() (all []value, isList bool) {
	if v.Kind() != '[' {
		return nil, false
	}
	for _, in := range v.Inside() {
		all = append(all, value{in})
	}
	return all, true
}

// any reports whether v is there, and no empty list.
func (v value) any() bool {
	all, isList := v.list()
	return !v.null() && (!isList || len(all) > 0)
}

// str is v as a string, and whether it is one.
func (v value) str() (string, bool) {
	text, ok := v.Bytes()
	return string(text), ok
}

// compact is v without the white space between its tokens, as JSON.stringify
// writes it.
func (v value) compact() string {
	c := jsontext.Value(bytes.Clone(v.Raw()))
	if err := c.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return string(v.Raw())
	}
	return string(c)
}

// joined is v as a string joined to another one would be.
func (v value) joined() string {
	switch v.Kind() {
	case 0:
		return "undefined"
	case '{':
		return "[object Object]"
	default:
	}
	if s, ok := v.str(); ok {
		return s
	}
	return string(v.Raw())
}
