package session

import (
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// str is the member of that name as a string, and whether it is one.
func (v Value) str(name string) (string, bool) {
	text, ok := v.Get(name).Bytes()
	return string(text), ok
}

// either is the first of two members that is a string with something in it, ""
// if neither is.
func (v Value) either(name, other string) string {
	if s, _ := v.str(name); s != "" {
		return s
	}
	s, _ := v.str(other)
	return s
}

// int is the member as a whole number of milliseconds or the like, and whether
// it is a number that an int64 holds.
func (v Value) int(name string) (int64, bool) {
	m := v.Get(name)
	if m.Kind() != '0' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(m.Raw()), 64)
	if err != nil || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// isTrue reports whether the member is the literal true.
func (v Value) isTrue(name string) bool { return v.is(name, 't') }

// isSet reports whether the member is one that the agent takes for true: there,
// and not null, false, 0 or "".
func (v Value) isSet(name string) bool {
	switch string(v.Get(name).Raw()) {
	case "", "null", "false", "0", `""`:
		return false
	}
	return true
}

// is reports whether there is a member whose value is of that kind.
func (v Value) is(name string, kind jsontext.Kind) bool { return v.Get(name).Kind() == kind }
