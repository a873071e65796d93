package rollout

import (
	"bytes"
	"regexp"
	"strconv"
	"unicode/utf8"

	"mend/internal/jsonedit"
)

// Version is the newest version of the program that was observed.
const Version = "0.171.0"

// A line is one of a rollout.
type line struct {
	n       int // that it had in the file, from 1; 0 for a new one
	raw     []byte
	kind    string         // of the record; "" if the program does not read the line
	value   jsonedit.Value // the record
	payload jsonedit.Value
	group   string // the message that the record is part of; "" for none
	first   int    // the line with which that begins
	gone    bool   // a draft has removed it
}

// parseLines returns the lines of a file, and whether the last one has no newline.
func parseLines(data []byte) (lines []line, torn bool) {
	torn = len(data) > 0 && data[len(data)-1] != '\n'
	for raw := range bytes.Lines(data) {
		lines = append(lines, newLine(len(lines)+1, bytes.TrimSuffix(raw, []byte("\n"))))
	}
	assignGroups(lines)
	return lines, torn
}

func newLine(n int, raw []byte) line {
	l := line{n: n, raw: raw}
	if v := jsonedit.Parse(bytes.TrimSpace(raw)); v.Kind() == '{' && isDecoded(raw) && (bytes.Count(raw, []byte("["))+bytes.Count(raw, []byte("{")) <= deepest || !isDeeper(v, deepest)) {
		l.value = v
		l.payload = v.Get("payload")
		if kind := text(v, "type"); kinds[kind] && len(wrongMembers(v)) == 0 {
			l.kind = kind
		}
	}
	return l
}

// deepest is how many objects and lists may be in one another: the program skips a line with more.
const deepest = 127

func isDeeper(v jsonedit.Value, most int) bool {
	if most == 0 {
		return v.Kind() == '{' || v.Kind() == '['
	}
	for _, e := range v.Children() {
		if isDeeper(e, most-1) {
			return true
		}
	}
	return false
}

// surrogates matches escapes: of a backslash, of a surrogate pair, and of half of one.
var surrogates = regexp.MustCompile(`\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}`)

// decoded returns a line with a mark in place of each piece that is not UTF-8, and of each half of a surrogate pair.
func decoded(raw []byte) []byte {
	raw = bytes.ToValidUTF8(raw, []byte("\ufffd"))
	if !bytes.Contains(raw, []byte(`\ud`)) && !bytes.Contains(raw, []byte(`\uD`)) {
		return raw
	}
	return surrogates.ReplaceAllFunc(raw, func(escape []byte) []byte {
		if len(escape) != len(`\ud800`) {
			return escape
		}
		return []byte("\ufffd")
	})
}

// isDecoded reports whether a line has nothing that is not UTF-8.
func isDecoded(raw []byte) bool { return utf8.Valid(raw) && bytes.Equal(decoded(raw), raw) }

// isBlank reports whether the program skips the line as it skips an empty one.
func (l *line) isBlank() bool { return len(bytes.TrimSpace(l.raw)) == 0 }

// ordinal returns the number of the record among all, and whether it has one.
func (l *line) ordinal() (int64, bool) { return l.value.Get("ordinal").Int() }

// event returns the type of an event, "" for another record.
func (l *line) event() string {
	if l.kind != "event_msg" {
		return ""
	}
	return text(l.payload, "type")
}

func text(v jsonedit.Value, path ...string) string {
	for _, name := range path {
		v = v.Get(name)
	}
	s, _ := v.Text()
	return s
}

// isModels reports whether an item is part of an answer of the model.
func isModels(v jsonedit.Value) bool {
	switch kind := text(v, "type"); kind {
	case "message":
		return text(v, "role") == "assistant"
	case "reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call", "image_generation_call":
		return true
	}
	return false
}

// assignGroups finds out which items are of one response: those between records that are none of the model's. The program
// writes one about the use of tokens behind each response.
func assignGroups(lines []line) {
	first := 0 // line of the response; 0 for none
	for i := range lines {
		l := &lines[i]
		switch {
		case l.kind == "response_item" && isModels(l.payload):
			if first == 0 {
				first = l.n
			}
			l.group, l.first = groupName(first), first
		case l.kind == "response_item", l.kind == "compacted":
			l.group, l.first, first = groupName(l.n), l.n, 0
		case l.endsResponse():
			first = 0
		}
	}
}

// endsResponse reports whether no item behind the record is of the same response as one before it.
func (l *line) endsResponse() bool {
	switch l.event() {
	case "token_count", "task_started", "task_complete", "turn_aborted":
		return true
	}
	return l.kind == "token_usage_record"
}

// groupName returns the name of the message that begins at a line.
func groupName(n int) string { return "line-" + strconv.Itoa(n) }
