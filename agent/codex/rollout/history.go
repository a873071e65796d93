package rollout

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mend/internal/jsonedit"
)

// An item is one of the history that the program has after it loaded a rollout.
type item struct {
	at, sub int // the line, and the place in its replacement history; -1 for an item that is a line
	kind    string
	value   jsonedit.Value
	group   string // the message that it is part of
	index   int    // of its first block in that
	added   bool   // the program writes it into the request itself
	again   bool   // an earlier one is the same, with its id
	summary bool

	reasoned    bool // see [role]
	interrupted bool
}

// parts is more than the parts of the content of any item, for the indexes of blocks.
const parts = 1 << 16

// history returns the items that the program has, in order. What lies before a compaction is replaced.
func history(lines []line) (all []item) {
	for i := max(0, lastLine(lines, (*line).isReplacement)); i < len(lines); i++ {
		l := &lines[i]
		switch {
		case l.again:
			all = nil // the program reads from the end to the record of the session
		case l.kind == "response_item":
			if isSent(l.payload) {
				all = append(all, item{
					at: i, sub: -1, kind: l.of, value: l.payload, group: l.group(),
					index: (l.n - l.first) * parts, reasoned: l.reasoned, interrupted: l.interrupted,
				})
			}
		case l.kind == "inter_agent_communication":
			all = append(all, item{at: i, sub: -1, kind: "agent_message", value: l.payload, added: true})
		case l.isReplacement():
			all = replaced(lines, i)
		case l.kind == "compacted": // by an older version: the prompts stay
			all = slices.DeleteFunc(all, func(it item) bool { return !isPrompt(it.value) })
			all = append(all, item{at: i, sub: -1, kind: "message", value: l.payload, group: l.group(), summary: true})
		case l.kind == "event_msg" && l.of == "thread_rolled_back":
			n, _ := l.payload.Get("num_turns").Int()
			all = rolledBack(all, n)
		}
	}
	return paired(all)
}

func (l *line) isReplacement() bool {
	return l.kind == "compacted" && l.payload.Get("replacement_history").Kind() == '['
}

// lastLine returns the place of the last line that is so, -1 if there is none.
func lastLine(lines []line, is func(*line) bool) int {
	for i := range slices.Backward(lines) {
		if is(&lines[i]) {
			return i
		}
	}
	return -1
}

// isSent reports whether the program keeps an item for requests.
func isSent(v jsonedit.Value) bool {
	kind := v.TextAt("type")
	return isKnown(kind) && (kind != "message" || v.TextAt("role") != "system")
}

// replaced returns the history that a compaction has in it. Items are of one message where they follow one another
// as they did before.
func replaced(lines []line, at int) (all []item) {
	was := map[string]*line{}
	for i := range lines[:at] {
		was[lines[i].payload.TextAt("id")] = &lines[i]
	}
	was[""] = nil
	first, before, sub := 0, -1, 0
	for v := range lines[at].payload.Get("replacement_history").Elements() {
		of := cmp.Or(was[v.TextAt("id")], &line{})
		if !isModels(v) || of.first != before {
			first = sub
		}
		if before = of.first; !isModels(v) {
			before = -1
		}
		if isSent(v) {
			group := fmt.Sprintf("%s.%d", lines[at].group(), first)
			all = append(all, item{
				at: at, sub: sub, kind: v.TextAt("type"), value: v, group: group,
				index: (sub - first) * parts, reasoned: of.reasoned, interrupted: of.interrupted,
			})
		}
		sub++
	}
	return all
}

func rolledBack(all []item, turns int64) []item {
	for i, it := range slices.Backward(all) {
		if turns <= 0 {
			break
		}
		if isPrompt(it.value) {
			all, turns = all[:i], turns-1
		}
	}
	return all
}

// added begin the texts of messages that the user did not type.
var added = []string{
	"<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<skill",
	"<user_shell_command>", "<turn_aborted>", "<subagent_notification>", "<permissions",
}

// isPrompt reports whether the user typed a message.
func isPrompt(v jsonedit.Value) bool {
	if v.TextAt("type") != "message" || v.TextAt("role") != "user" {
		return false
	}
	for part := range v.Get("content").Elements() {
		is := func(begin string) bool { return strings.HasPrefix(strings.TrimSpace(part.TextAt("text")), begin) }
		if slices.ContainsFunc(added, is) {
			return false
		}
	}
	return true
}

// prompt returns the first text of a prompt, "" for another line.
func (l *line) prompt() string {
	if l.kind != "response_item" || !isPrompt(l.payload) {
		return ""
	}
	for part := range l.payload.Get("content").Elements() {
		if s := strings.TrimSpace(part.TextAt("text")); s != "" {
			return s
		}
	}
	return ""
}

// calls has, by the types of calls, the members with what they are given, and the types of their outputs.
var calls = map[string]struct{ input, output string }{
	"function_call":    {"arguments", "function_call_output"},
	"local_shell_call": {"action", "function_call_output"},
	"custom_tool_call": {"input", "custom_tool_call_output"},
}

func isOutput(kind string) bool { return strings.HasSuffix(kind, "call_output") }

// paired returns the items as the program pairs calls and outputs: one without its call is left out, and a call
// without an output gets one.
func paired(items []item) (all []item) {
	called, answered, first := map[string]bool{}, map[string]bool{}, map[string][]byte{}
	for _, it := range items {
		id := it.value.TextAt("call_id")
		if kind := calls[it.kind].output; kind != "" {
			called[kind+id] = true
		} else if isOutput(it.kind) {
			answered[it.kind+id] = true
		}
	}
	for _, it := range items {
		id := it.value.TextAt("call_id")
		if isOutput(it.kind) && !called[it.kind+id] {
			continue
		}
		name := it.value.TextAt("id")
		if it.again = name != "" && bytes.Equal(first[name], it.value.Raw()); first[name] == nil {
			first[name] = it.value.Raw()
		}
		all = append(all, it)
		if kind := calls[it.kind].output; kind != "" && id != "" && !answered[kind+id] {
			all = append(all, item{kind: kind, value: jsonedit.Parse(fmt.Appendf(nil, `{"call_id":%s,"output":"aborted"}`,
				jsonedit.Quote(id))), added: true})
		}
	}
	return all
}
