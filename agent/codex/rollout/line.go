package rollout

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"mend/internal/jsonedit"
)

// Version is the newest version of the program that was observed.
const Version = "0.169.0"

// A line is one of a rollout.
type line struct {
	n       int // that it had in the file, from 1; 0 for a new one
	raw     []byte
	kind    string         // of the record; "" if the program does not read the line
	value   jsonedit.Value // the record
	payload jsonedit.Value
	group   string // the message that the record is part of; "" for none
	first   int    // the line with which that begins
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
	if v := jsonedit.Parse(bytes.TrimSpace(raw)); v.Kind() == '{' && utf8.Valid(raw) {
		l.value = v
		l.payload = v.Get("payload")
		n, isNumber := l.ordinal()
		numbered := isNumber && n >= 0 || v.Get("ordinal").Kind() == 0 || v.Get("ordinal").Kind() == 'n'
		if kind, ok := v.Get("type").Text(); ok && numbered && isText(v.Get("timestamp")) && isReadable(kind, l.payload) {
			l.kind = kind
		}
	}
	return l
}

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

// The kinds of values, for [fields].
const (
	aText = iota
	aList
	anObject
	textOrList
)

func isText(v jsonedit.Value) bool { return v.Kind() == '"' }

// fields are what the program needs of the items of a type, and what it needs of other records. A record without them is one that it
// skips.
var fields = map[string]map[string]int{
	"session_meta": {"id": aText, "timestamp": aText, "cwd": aText, "originator": aText, "cli_version": aText},
	"compacted":    {"message": aText},

	"message":                 {"role": aText, "content": aList},
	"reasoning":               {"summary": aList},
	"function_call":           {"name": aText, "arguments": aText, "call_id": aText},
	"function_call_output":    {"call_id": aText, "output": textOrList},
	"custom_tool_call":        {"name": aText, "input": aText, "call_id": aText},
	"custom_tool_call_output": {"call_id": aText, "output": textOrList},
	"local_shell_call":        {"status": aText, "action": anObject},
	"compaction":              {"encrypted_content": aText},
}

func isReadable(kind string, payload jsonedit.Value) bool {
	if payload.Kind() != '{' {
		return false
	}
	switch kind {
	case "response_item":
		return isItem(payload)
	case "session_meta", "compacted":
		if !hasFields(kind, payload) {
			return false
		}
		for v := range payload.Get("replacement_history").Elements() {
			if !isItem(v) {
				return false
			}
		}
	case "event_msg", "turn_context", "world_state", "token_usage_record", "security_risk_score", "inter_agent_communication",
		"inter_agent_communication_metadata", "dynamic_tools_updated", "realtime_item":
	default:
		return false
	}
	return true
}

// isItem reports whether the program can read an item. One of an unknown type is read, and dropped.
func isItem(v jsonedit.Value) bool {
	kind, ok := v.Get("type").Text()
	if !ok || !hasFields(kind, v) {
		return false
	}
	if id := v.Get("id").Kind(); id != 0 && id != 'n' && id != '"' {
		return false
	}
	for _, list := range []string{"content", "output", "summary"} {
		for part := range v.Get(list).Elements() {
			if !isPart(part) {
				return false
			}
		}
	}
	return true
}

func hasFields(kind string, v jsonedit.Value) bool {
	for name, want := range fields[kind] {
		switch got := v.Get(name).Kind(); {
		case got == '"' && (want == aText || want == textOrList), got == '[' && (want == aList || want == textOrList), got == '{' && want == anObject:
		default:
			return false
		}
	}
	return true
}

// isPart reports whether the program can read a part of an item's content.
func isPart(v jsonedit.Value) bool {
	switch text(v, "type") {
	case "input_text", "output_text", "summary_text", "reasoning_text", "text":
		return isText(v.Get("text"))
	case "input_image":
		return isText(v.Get("image_url"))
	case "input_audio", "encrypted_content":
		return true
	}
	return false
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
