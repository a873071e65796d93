package rollout

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mend/internal/jsonedit"
)

// An item is part of the history that Codex has after it has loaded a rollout.
type item struct {
	at, sub int // the line, and the index in its replacement history; -1 for an item that is a line
	kind    string
	value   jsonedit.Value
	group   string // the message that contains it
	index   int    // the index of its first block in the message
	added   bool   // Codex itself adds it to the request
	copied  bool   // an earlier item is identical, also in its id
	summary bool
	typed   bool // the user typed it

	reasoned    bool // see [role]
	interrupted bool
}

func (it item) isEncrypted() bool { return it.value.TextAt("encrypted_content") != "" }

// parts is greater than the number of parts in any item's content. The index of a block is the position of its item in
// the message times parts, plus the index of its part.
const parts = 1 << 16

// history returns Codex's items in order. A compaction replaces everything before it.
func history(lines []line) (all []item) {
	for i := max(0, lastLine(lines, (*line).isReplacement)); i < len(lines); i++ {
		l := &lines[i]
		switch {
		case l.again:
			all = nil // Codex reads no record before this session_meta
		case l.kind == "response_item":
			if isSent(l.payload) {
				all = append(all, item{
					at: i, sub: -1, kind: l.subtype, value: l.payload, group: l.group(),
					index: (l.n - l.first) * parts, typed: isPrompt(l.payload), reasoned: l.reasoned, interrupted: l.interrupted,
				})
			}
		case l.kind == "inter_agent_communication":
			all = append(all, item{at: i, sub: -1, kind: "agent_message", value: l.payload, added: true})
		case l.isReplacement():
			all = replacementHistory(lines, i)
		case l.kind == "compacted": // written by an older version: the prompts stay
			all = slices.DeleteFunc(all, func(it item) bool { return !it.typed })
			all = append(all, item{at: i, sub: -1, kind: "message", value: l.payload, group: l.group(), summary: true})
		case l.kind == "event_msg" && l.subtype == "thread_rolled_back":
			n, _ := l.payload.Get("num_turns").Int()
			all = rollBack(all, n)
		}
	}
	return pairCalls(all)
}

func (l *line) isReplacement() bool {
	return l.kind == "compacted" && l.payload.Get("replacement_history").Kind() == '['
}

// lastLine returns the index of the last line that match accepts, or -1.
func lastLine(lines []line, match func(*line) bool) int {
	for i := range slices.Backward(lines) {
		if match(&lines[i]) {
			return i
		}
	}
	return -1
}

// isSent reports whether Codex keeps an item for requests.
func isSent(v jsonedit.Value) bool {
	kind := v.TextAt("type")
	return isKnown(kind) && (kind != "message" || v.TextAt("role") != "system")
}

// replacementHistory returns the history that a compaction contains. Neighbouring items of the model belong to one
// message if they did before the compaction.
func replacementHistory(lines []line, at int) (all []item) {
	former := map[string]*line{}
	for i := range lines[:at] {
		former[lines[i].payload.TextAt("id")] = &lines[i]
	}
	former[""] = nil
	first, previous, sub := 0, -1, 0
	for v := range lines[at].payload.Get("replacement_history").Elements() {
		original := cmp.Or(former[v.TextAt("id")], &line{})
		if !isFromModel(v) || original.first != previous {
			first = sub
		}
		if previous = original.first; !isFromModel(v) {
			previous = -1
		}
		if isSent(v) {
			group := fmt.Sprintf("%s.%d", lines[at].group(), first)
			all = append(all, item{
				at: at, sub: sub, kind: v.TextAt("type"), value: v, group: group,
				index: (sub - first) * parts, typed: isPrompt(v), reasoned: original.reasoned, interrupted: original.interrupted,
			})
		}
		sub++
	}
	return all
}

// rollBack removes the newest turns, each from its prompt on.
func rollBack(all []item, turns int64) []item {
	for i, it := range slices.Backward(all) {
		if turns <= 0 {
			break
		}
		if it.typed {
			all, turns = all[:i], turns-1
		}
	}
	return all
}

// added has the beginnings of messages that the user did not type.
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
		text := strings.TrimSpace(part.TextAt("text"))
		if slices.ContainsFunc(added, func(s string) bool { return strings.HasPrefix(text, s) }) {
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

// calls has, by the type of a call, the member with its input and the type of its output.
var calls = map[string]struct{ input, output string }{
	"function_call":    {"arguments", "function_call_output"},
	"local_shell_call": {"action", "function_call_output"},
	"custom_tool_call": {"input", "custom_tool_call_output"},
}

func isOutput(kind string) bool { return strings.HasSuffix(kind, "call_output") }

// pairCalls returns the items as Codex sends them: without outputs that have no call, and with an output for each call
// that has none. It also sets copied.
func pairCalls(items []item) (all []item) {
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
		if it.copied = name != "" && bytes.Equal(first[name], it.value.Raw()); first[name] == nil {
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
