package render

import (
	"math"
	"strconv"
	"strings"
)

// A shape says what members an object must have; more are welcome.
type shape []member

type member struct {
	name     string
	is       check
	optional bool
}

// A check says what is wrong with a value, with the path to it in front; "" if
// nothing is.
type check func(v value) string

// need and may are members that must, and that may, be there.
func need(name string, is check) member { return member{name, is, false} }
func may(name string, is check) member  { return member{name, is, true} }

// check is the shape's own check.
func (s shape) check(v value) string {
	if v.Kind() != '{' {
		return " is no object"
	}
	for _, m := range s {
		member := v.get(m.name)
		if !member.there() && m.optional {
			continue
		}
		wrong := " is missing"
		if member.there() {
			wrong = m.is(member)
		}
		if wrong != "" {
			return "." + m.name + wrong
		}
	}
	return ""
}

// oneOf is the check of an object whose shape depends on one of its members.
func oneOf(name string, shapes map[string]shape) check {
	return func(v value) string {
		is, _ := v.get(name).str()
		s, known := shapes[is]
		if v.Kind() == '{' && !known {
			return "." + name + " is not one that is known"
		}
		return s.check(v)
	}
}

func aString(v value) string {
	if v.Kind() != '"' {
		return " is no string"
	}
	return ""
}

// idOf is a string that begins like the ids of that kind.
func idOf(prefix string) check {
	return func(v value) string {
		s, _ := v.str()
		return wrongStart(s, prefix)
	}
}

func wrongStart(id, prefix string) string {
	if !strings.HasPrefix(id, prefix) {
		return " does not begin with " + prefix
	}
	return ""
}

func aBool(v value) string {
	if v.Kind() != 't' && v.Kind() != 'f' {
		return " is neither true nor false"
	}
	return ""
}

func aNumber(v value) string {
	if v.Kind() != '0' {
		return " is no number"
	}
	return ""
}

// aCount is a whole number, not negative, that JavaScript counts exactly.
func aCount(v value) string {
	f, err := strconv.ParseFloat(string(v.Raw()), 64)
	if v.Kind() != '0' || err != nil || f < 0 || f != math.Trunc(f) || f > 1<<53-1 {
		return " is no whole number of 0 or more"
	}
	return ""
}

// aTime is a number that is not negative.
func aTime(v value) string {
	if aNumber(v) != "" || strings.HasPrefix(string(v.Raw()), "-") {
		return " is no number of 0 or more"
	}
	return ""
}

func anObject(v value) string { return shape{}.check(v) }

func listOf(is check) check {
	return func(v value) string {
		items, ok := v.list()
		if !ok {
			return " is no list"
		}
		for i := range items {
			if wrong := is(items[i]); wrong != "" {
				return "[" + strconv.Itoa(i) + "]" + wrong
			}
		}
		return ""
	}
}

// mapOf is an object whose members are all alike.
func mapOf(is check) check {
	return func(v value) string {
		if wrong := anObject(v); wrong != "" {
			return wrong
		}
		for _, e := range v.fields() {
			if wrong := is(e.value); wrong != "" {
				return "." + e.name + wrong
			}
		}
		return ""
	}
}
