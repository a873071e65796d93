package schema

import (
	"math"
	"strconv"
	"strings"

	"mend/agent/opencode/js"
)

// A valueType is a type of JSON value.
type valueType interface {
	// mismatch returns "" if v is of the type. Otherwise it returns the reason, to be
	// read after a name of v: " is no string", or ".text is no string" for a member.
	mismatch(v js.Value) string
}

// An object is an object with these members. It may have others.
type object []field

// A field is a member of an object.
type field struct {
	name     string
	is       valueType
	optional bool
}

func required(name string, is valueType) field { return field{name, is, false} }
func optional(name string, is valueType) field { return field{name, is, true} }

func (t object) mismatch(v js.Value) string {
	if v.Kind() != '{' {
		return " is no object"
	}
	for _, f := range t {
		member := v.Get(f.name)
		if !member.Exists() && f.optional {
			continue
		}
		why := " is missing"
		if member.Exists() {
			why = f.is.mismatch(member)
		}
		if why != "" {
			return "." + f.name + why
		}
	}
	return ""
}

// A union is an object whose members depend on the string in its member tag.
type union struct {
	tag   string
	cases map[string]object
}

func (t union) mismatch(v js.Value) string {
	tag, _ := v.Get(t.tag).Text()
	o, known := t.cases[tag]
	if v.Kind() == '{' && !known {
		return "." + t.tag + " is not one that is known"
	}
	return o.mismatch(v)
}

// A list is a list with elements of one type.
type list struct{ of valueType }

func (t list) mismatch(v js.Value) string {
	elements, ok := v.List()
	if !ok {
		return " is no list"
	}
	for i := range elements {
		if why := t.of.mismatch(elements[i]); why != "" {
			return "[" + strconv.Itoa(i) + "]" + why
		}
	}
	return ""
}

// A dictionary is an object with members of any name and of one type.
type dictionary struct{ of valueType }

func (t dictionary) mismatch(v js.Value) string {
	if why := (object{}).mismatch(v); why != "" {
		return why
	}
	for _, m := range v.Members() {
		if why := t.of.mismatch(m.Value); why != "" {
			return "." + m.Name + why
		}
	}
	return ""
}

// An enum is one of these strings.
type enum []string

func (t enum) mismatch(v js.Value) string {
	s, ok := v.Text()
	for _, word := range t {
		if ok && s == word {
			return ""
		}
	}
	return " is none of " + strings.Join(t, ", ")
}

// An id is a string with this prefix.
type id string

const (
	sessionID   id = "ses"
	messageID   id = "msg"
	partID      id = "prt"
	workspaceID id = "wrk"
)

func (t id) mismatch(v js.Value) string {
	s, _ := v.Text()
	return t.mismatchText(s)
}

func (t id) mismatchText(s string) string {
	if !strings.HasPrefix(s, string(t)) {
		return " does not begin with " + string(t)
	}
	return ""
}

// A scalar is a type without parts.
type scalar uint8

const (
	anything     scalar = iota
	text                // a string
	nonEmptyText        // a string that is not empty
	boolean
	number
	finite    // a number that JavaScript can represent as a finite one
	count     // a whole number of 0 or more that JavaScript represents exactly
	time      // a number of 0 or more
	directory // an absolute path, or empty
	worktree  // an absolute path
)

func (t scalar) mismatch(v js.Value) string {
	switch t {
	case text:
		return unless(v.Kind() == '"', " is no string")
	case nonEmptyText, directory, worktree:
		return t.mismatchText(v.Text())
	case boolean:
		return unless(v.Kind() == 't' || v.Kind() == 'f', " is neither true nor false")
	case number:
		return unless(v.Kind() == '0', " is no number")
	case finite:
		return unless(v.Kind() == '0' && !v.IsInfinite(), " is no finite number")
	case count:
		f, err := strconv.ParseFloat(string(v.Raw()), 64)
		return unless(v.Kind() == '0' && err == nil && f >= 0 && f == math.Trunc(f) && f <= 1<<53-1, " is no whole number of 0 or more")
	case time:
		return unless(v.Kind() == '0' && !strings.HasPrefix(string(v.Raw()), "-"), " is no number of 0 or more")
	}
	return ""
}

// mismatchText is mismatch for the types of restricted strings.
func (t scalar) mismatchText(s string, isText bool) string {
	switch {
	case !isText:
		return " is no string"
	case s == "" && t != directory:
		return " is empty"
	case s != "" && t != nonEmptyText && !IsAbsolute(s):
		return " is no absolute path"
	}
	return ""
}

func unless(ok bool, why string) string {
	if ok {
		return ""
	}
	return why
}
