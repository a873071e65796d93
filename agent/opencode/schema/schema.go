// Package schema describes the records of OpenCode: [table] has the fields of messages, parts, sessions and projects,
// with the type of each, whether a record needs it, and the source of a missing value. Newer versions of OpenCode
// validate a record before they show it, and an invalid one hides the whole session.
//
// It does no I/O. It may import agent/opencode/js, agent/opencode/record, change, internal/jsonedit and
// internal/request. Read [CheckPart] and [Complete] first.
//
// Two things are derived from the table: which records are invalid ([CheckMessage], [CheckPart], [SessionFaults],
// [ProjectFaults]), and how a record is completed ([Complete], [Default]). Fields that are not in the table are
// kept.
//
// The table describes 1.18.33, observed on the running program field by field, and notes where older versions differ.
// Messages and parts have the same fields in a file and in a row, except for their ids.
package schema

import (
	"strings"
	"sync"

	"mend/agent/opencode/js"
)

// The names of shapes in the table.
const (
	Message      = "message"
	Part         = "part"
	SessionRow   = "session_row"
	SessionFile  = "session_file"  // a session that is a file
	SessionTimes = "session_times" // the fields of it that the agent needs
	ProjectRow   = "project_row"
)

// CheckMessage returns why 1.18.33 cannot show a message with this id and this content, or "" if it can. The id
// is an argument because in a database it is a column.
func CheckMessage(id string, v js.Value) string { return check("msg", id, Message, v) }

// CheckPart is CheckMessage for a part.
func CheckPart(id string, v js.Value) string { return check("prt", id, Part, v) }

// IsUnknown reports whether a check failed because of a value that the table lacks and a future version may have.
func IsUnknown(why string) bool {
	return strings.HasSuffix(why, isUnknown) || strings.Contains(why, isNotOneOf)
}

// check returns why a record with this id and this content is invalid, or "".
func check(prefix, id, shape string, v js.Value) string {
	if why := checkPrefix(id, prefix); why != "" {
		return "id" + why
	}
	return strings.TrimPrefix(strings.TrimSpace(shapes()[shape].check(v)), ".")
}

// A shape is a line of the table: the type of an object.
type shape struct {
	key    *field             // selects the case; nil without cases
	cases  map[string][]field // the fields of each case, by the value of key
	fields []field            // common to all cases, without key
}

// A field is a member of an object, or a column of a row.
type field struct {
	name   string
	need   need
	checks []fieldCheck
	source string // source of a missing value; see [Context]
	value  string // the neutral JSON value that a missing field gets if its source is unknown

	// For a column:
	json  bool // versions that have the column parse it as JSON
	falsy bool // a falsy value counts as NULL
}

// A fieldCheck is a type of a field's value. A record's field has one. A column may have several, for different
// versions.
type fieldCheck struct {
	fieldType
	always bool // also in versions that do not validate records
	list   bool // an invalid value breaks only the list of sessions
}

// A fieldType is the type of a JSON value.
type fieldType struct {
	kind  string // as in the table; "[" for a list, "{" for a map, "(" for an object with the fields of a shape
	words []string
	elem  *fieldType // the element type of a list or a map
	shape *shape
}

// A need says when the agent needs a field.
type need uint8

const (
	optional need = iota
	screen        // to show the session, but not to make a request
	always
)

// shapes returns the shapes of the table, by their names.
var shapes = sync.OnceValue(func() map[string]*shape {
	all := map[string]*shape{}
	named := func(name string) *shape {
		if all[name] == nil {
			all[name] = &shape{}
		}
		return all[name]
	}
	for line := range strings.Lines(strings.ReplaceAll(table, "\n\t", " ")) {
		name, text, _ := strings.Cut(line, ":")
		name, value, isCase := strings.Cut(strings.TrimSpace(name), " ")
		s, list := named(name), []field(nil)
		for text := range strings.SplitSeq(text, ";") {
			if words := strings.Fields(text); len(words) > 0 {
				list = append(list, parseField(words, named))
			}
		}
		switch {
		case isCase && s.key == nil:
			s.key, s.fields, s.cases = &s.fields[0], s.fields[1:], map[string][]field{value: list}
		case isCase:
			s.cases[value] = list
		default:
			s.fields = list
		}
	}
	return all
})

// parseField parses a field of the table.
func parseField(words []string, named func(string) *shape) field {
	f := field{name: strings.TrimRight(words[0], "!~")}
	switch words[0][len(words[0])-1] {
	case '!':
		f.need = always
	case '~':
		f.need = screen
	}
	for i, word := range words[1:] {
		switch {
		case word == "json":
			f.json = true
		case word == "falsy":
			f.falsy = true
		case word == "always":
			f.checks[len(f.checks)-1].always = true
		case word == "list":
			f.checks[len(f.checks)-1].list = true
		case word[0] == '@':
			f.source = word[1:]
		case word == "=":
			f.value = strings.Join(words[i+2:], " ")
			return f
		default:
			f.checks = append(f.checks, fieldCheck{fieldType: parseType(word, named)})
		}
	}
	return f
}

func parseType(word string, named func(string) *shape) (t fieldType) {
	switch {
	case word[0] == '[' || word[0] == '{':
		elem := parseType(word[1:], named)
		t.kind, t.elem = word[:1], &elem
	case word[0] == '(':
		t.kind, t.shape = "(", named(word[1:])
	case strings.Contains(word, "|"):
		t.kind, t.words = "str", strings.Split(strings.TrimSuffix(word, "|"), "|")
	default:
		t.kind = word
	}
	return t
}
