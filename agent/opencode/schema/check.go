package schema

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"mend/agent/opencode/js"
)

// check returns why the agent cannot show the value: the path to the first invalid member, followed by the end of a
// sentence. It returns "" if the agent can show it.
func (t *fieldType) check(v js.Value) string {
	valid, why := true, ""
	switch t.kind {
	case "str", "name", "path", "root":
		if v.Kind() != '"' {
			return " is not a string"
		}
		if t.words != nil || t.kind != "str" { // any other text is valid; it may be long, so it is not decoded
			return t.checkText(textOf(v))
		}
	case "num":
		valid, why = v.Kind() == '0', " is not a number"
	case "fin":
		f := v.Number()
		valid, why = !math.IsNaN(f) && !math.IsInf(f, 0), " is not a finite number"
		if v.Kind() != '0' {
			why = " is not a number"
		}
	case "time":
		valid, why = v.Kind() == '0' && v.Raw()[0] != '-', " is not a number of 0 or more"
	case "count": // a whole number that JavaScript represents exactly
		f := v.Number()
		valid, why = f >= 0 && f == math.Trunc(f) && f <= 1<<53-1, " is not a whole number of 0 or more"
	case "bool":
		valid, why = v.Kind() == 't' || v.Kind() == 'f', " is neither true nor false"
	case "[", "{":
		return t.checkElements(v)
	case "obj", "input":
		valid, why = v.Kind() == '{', " is not an object"
	case "(":
		return t.shape.check(v)
	case "any":
	default:
		return checkPrefix(textOf(v), strings.TrimSuffix(t.kind, "*"))
	}
	if valid {
		return ""
	}
	return why
}

// The reasons for values that a future version may allow.
const (
	isUnknown  = " is unknown"
	isNotOneOf = " is not one of "
)

func (t *fieldType) checkText(text string) string {
	switch {
	case t.words != nil && !slices.Contains(t.words, text):
		return isNotOneOf + strings.Join(t.words, ", ")
	case text == "" && (t.kind == "name" || t.kind == "root"):
		return " is empty"
	case text != "" && (t.kind == "path" || t.kind == "root") && !IsAbsolute(text):
		return " is not an absolute path"
	}
	return ""
}

// IsAbsolute reports whether the path is absolute on Unix or on Windows.
func IsAbsolute(path string) bool {
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\\`) || len(path) > 2 && path[1] == ':'
}

// checkPrefix returns why the id is invalid if it does not begin with prefix, or else "".
func checkPrefix(id, prefix string) string {
	if !strings.HasPrefix(id, prefix) {
		return " does not begin with " + prefix
	}
	return ""
}

func (t *fieldType) checkElements(v js.Value) string {
	if string(v.Kind()) != t.kind {
		return map[string]string{"[": " is not a list", "{": " is not an object"}[t.kind]
	}
	i := 0
	for name, in := range v.Children() {
		if why := t.elem.check(js.Value{Value: in}); why != "" && t.kind == "[" {
			return "[" + strconv.Itoa(i) + "]" + why
		} else if why != "" {
			return "." + string(name) + why
		}
		i++
	}
	return ""
}

func (s *shape) check(v js.Value) string {
	if v.Kind() != '{' {
		return " is not an object"
	}
	if s.key != nil {
		fields, known := s.cases[textOf(v.Get(s.key.name))]
		if !known {
			return "." + s.key.name + isUnknown
		}
		if why := checkFields(v, fields); why != "" {
			return why
		}
	}
	return checkFields(v, s.fields)
}

func checkFields(v js.Value, fields []field) string {
	for i := range fields {
		f := &fields[i]
		why := " is missing"
		switch member := v.Get(f.name); {
		case member.Kind() != 0:
			why = f.checks[0].check(member)
		case f.need == optional:
			continue
		}
		if why != "" {
			return "." + f.name + why
		}
	}
	return ""
}

// textOf returns the text of a string, "" for anything else.
func textOf(v js.Value) string {
	text, _ := v.Bytes()
	return string(text)
}
