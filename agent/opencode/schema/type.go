package schema

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"mend/agent/opencode/js"
)

// A Kind is the kind of a JSON value.
type Kind uint8

// The kinds.
const (
	Any Kind = iota
	String
	Name   // a String with a character that is not blank
	Path   // a String: "", or a path that is absolute on any system
	ID     // a String that begins with the type's Prefix
	Number // of JavaScript, infinite ones included
	Finite // a Number that is not infinite
	Time   // a Number of 0 or more
	Count  // a whole number of 0 or more that JavaScript counts exactly
	Bool
	List   // of values of the type Elem
	Map    // an object whose members all are of the type Elem
	Object // has Fields; without any it is any object
	Union  // an Object that has also the fields of one of the Cases
)

// A Type is the form of a JSON value.
type Type struct {
	Kind Kind
	// Exact says that no other value is converted to the type. By default a value becomes a string
	// with its text, invalid items of a list are removed, and an object is completed.
	Exact  bool
	Prefix string   // of an ID
	Words  []string // of a String: the valid values; nil for any
	Filled bool     // of a Path: it is not ""
	Elem   *Type    // of a List or a Map
	Except string   // of a Map: a member that may be anything
	Fields []Field  // of an Object or a Union
	By     *Field   // of a Union: the field that selects the case
	Cases  map[string][]Field
}

// A Field is a member of an object.
type Field struct {
	Name string
	Type Type
	Need Need
	// Convert, if not nil, replaces the conversion that follows from the type. It returns
	// a valid value for raw, and whether that is possible.
	Convert func(c *Completion, raw []byte) (to []byte, ok bool)
	Default string // the JSON of a missing value whose source is not known: one that means nothing
	From    Source // the source of a missing value; see [Complete]

	Shown *Type // the type that OpenCode needs to show it, if that is not Type
}

// A Need says when the agent needs a field.
type Need uint8

// The needs.
const (
	Optional Need = iota
	// Screen: the agent needs the field to show the session, but not to make a request.
	Screen
	Always
)

// A Source names what a missing value is taken from: the record or the [Context].
type Source string

// Check returns why the agent cannot show the value, as the path to the first invalid member
// and the end of a sentence; "" if it can.
func (t *Type) Check(v js.Value) string {
	switch t.Kind {
	case Any:
	case String, Name, Path:
		if v.Kind() != '"' {
			return " is not a string"
		}
		if t.Words != nil || t.Kind != String { // others may be long, and are not decoded
			return t.checkText(textOf(v))
		}
	case ID:
		return checkPrefix(textOf(v), t.Prefix)
	case Number, Finite:
		if v.Kind() != '0' {
			return " is not a number"
		}
		if _, err := strconv.ParseFloat(string(v.Raw()), 64); err != nil && t.Kind == Finite {
			return " is not a finite number"
		}
	case Time:
		if !isTime(v.Raw()) {
			return " is not a number of 0 or more"
		}
	case Count:
		if !isCount(v.Raw()) {
			return " is not a whole number of 0 or more"
		}
	case Bool:
		if v.Kind() != 't' && v.Kind() != 'f' {
			return " is neither true nor false"
		}
	case List:
		return t.checkList(v)
	case Map:
		return t.checkMap(v)
	case Object, Union:
		return t.checkObject(v)
	}
	return ""
}

// The reasons of values that only a version to come may have.
const (
	isUnknown  = " is unknown"
	isNotOneOf = " is not one of "
)

func (t *Type) checkText(text string) string {
	switch {
	case t.Words != nil && !slices.Contains(t.Words, text):
		return isNotOneOf + strings.Join(t.Words, ", ")
	case text == "" && (t.Kind == Name || t.Filled):
		return " is empty"
	case t.Kind == Path && text != "" && !IsAbsolute(text):
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

func (t *Type) checkList(v js.Value) string {
	if v.Kind() != '[' {
		return " is not a list"
	}
	i := 0
	for _, item := range v.Children() {
		if why := t.Elem.Check(js.Value{Value: item}); why != "" {
			return "[" + strconv.Itoa(i) + "]" + why
		}
		i++
	}
	return ""
}

func (t *Type) checkMap(v js.Value) string {
	if v.Kind() != '{' {
		return " is not an object"
	}
	for name, member := range v.Children() {
		if string(name) == t.Except {
			continue
		}
		if why := t.Elem.Check(js.Value{Value: member}); why != "" {
			return "." + string(name) + why
		}
	}
	return ""
}

func (t *Type) checkObject(v js.Value) string {
	if v.Kind() != '{' {
		return " is not an object"
	}
	if t.Kind == Union {
		fields, known := t.Cases[textOf(v.Get(t.By.Name))]
		if !known {
			return "." + t.By.Name + isUnknown
		}
		if why := checkFields(v, fields); why != "" {
			return why
		}
	}
	return checkFields(v, t.Fields)
}

func checkFields(v js.Value, fields []Field) string {
	for i := range fields {
		f := &fields[i]
		member := v.Get(f.Name)
		why := " is missing"
		switch shown := f.Shown; {
		case member.Kind() == 0 && f.Need == Optional:
			continue
		case member.Kind() == 0:
		case shown != nil:
			why = shown.Check(member)
		default:
			why = f.Type.Check(member)
		}
		if why != "" {
			return "." + f.Name + why
		}
	}
	return ""
}

// textOf returns the text of a string, "" for anything else.
func textOf(v js.Value) string {
	text, _ := v.Bytes()
	return string(text)
}

func isNumber(raw []byte) bool { return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' }

func isTime(raw []byte) bool { return len(raw) > 0 && raw[0] >= '0' && raw[0] <= '9' }

func isCount(raw []byte) bool {
	if len(raw) == 0 || !isNumber(raw) {
		return false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return err == nil && f >= 0 && f == math.Trunc(f) && f <= 1<<53-1
}
