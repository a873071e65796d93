package rollout

import (
	"bytes"
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
	summary bool
}

// parts is more than the parts of the content of any item, for the indexes of blocks.
const parts = 1 << 16

// history returns the items that the program has, in order. What lies before a compaction is replaced.
func history(lines []line) (all []item) {
	for i := range lines {
		l := &lines[i]
		switch {
		case l.kind == "session_meta":
			all = nil // the program reads from the end to the record of the session
		case l.kind == "response_item":
			if isSent(l.payload) {
				all = append(all, item{at: i, sub: -1, kind: text(l.payload, "type"), value: l.payload, group: l.group, index: (l.n - l.first) * parts})
			}
		case l.kind == "inter_agent_communication":
			all = append(all, item{at: i, sub: -1, kind: "agent_message", value: l.payload, added: true})
		case l.kind == "compacted" && l.payload.Get("replacement_history").Kind() == '[':
			all = replaced(l, i)
		case l.kind == "compacted":
			all = shortened(all, l, i)
		case l.event() == "thread_rolled_back":
			n, _ := l.payload.Get("num_turns").Int()
			all = rolledBack(all, n)
		}
	}
	return paired(all)
}

// isSent reports whether the program keeps an item for requests.
func isSent(v jsonedit.Value) bool {
	kind := text(v, "type")
	return itemKinds[kind] && (kind != "message" || text(v, "role") != "system")
}

// replaced returns the history that a compaction has in it.
func replaced(l *line, at int) (all []item) {
	first, sub := -1, 0
	for v := range l.payload.Get("replacement_history").Elements() {
		if first < 0 || !isModels(v) {
			first = sub
		}
		if isSent(v) {
			all = append(all, item{at: at, sub: sub, kind: text(v, "type"), value: v, group: fmt.Sprintf("%s.%d", groupName(l.n), first), index: (sub - first) * parts})
		}
		if sub++; !isModels(v) {
			first = -1
		}
	}
	return all
}

// shortened returns the history behind a compaction of older versions: the prompts, and the summary.
func shortened(all []item, l *line, at int) (short []item) {
	for _, it := range all {
		if isPrompt(it.value) {
			short = append(short, it)
		}
	}
	return append(short, item{at: at, sub: -1, kind: "message", value: l.payload, group: l.group, summary: true})
}

// rolledBack returns the history without the last turns.
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
var added = []string{"<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<skill", "<user_shell_command>", "<turn_aborted>", "<subagent_notification>", "<permissions"}

// isPrompt reports whether the user typed a message.
func isPrompt(v jsonedit.Value) bool {
	if text(v, "type") != "message" || text(v, "role") != "user" {
		return false
	}
	for part := range v.Get("content").Elements() {
		is := func(begin string) bool { return strings.HasPrefix(strings.TrimSpace(text(part, "text")), begin) }
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
		if s := strings.TrimSpace(text(part, "text")); s != "" {
			return s
		}
	}
	return ""
}

// answers returns the type of the output of a call, "" for another item.
func answers(kind string) string {
	switch kind {
	case "function_call", "local_shell_call":
		return "function_call_output"
	case "custom_tool_call":
		return "custom_tool_call_output"
	}
	return ""
}

func isOutput(kind string) bool {
	return kind == "function_call_output" || kind == "custom_tool_call_output"
}

// paired returns the items as the program pairs calls and outputs: one without its call is left out, and a call without an output gets
// one.
func paired(items []item) (all []item) {
	called, answered := map[string]bool{}, map[string]bool{}
	for _, it := range items {
		id := text(it.value, "call_id")
		if kind := answers(it.kind); kind != "" {
			called[kind+id] = true
		} else if isOutput(it.kind) {
			answered[it.kind+id] = true
		}
	}
	for _, it := range items {
		id := text(it.value, "call_id")
		if isOutput(it.kind) && !called[it.kind+id] {
			continue
		}
		all = append(all, it)
		if kind := answers(it.kind); kind != "" && id != "" && !answered[kind+id] {
			all = append(all, item{kind: kind, value: jsonedit.Parse(fmt.Appendf(nil, `{"call_id":%s,"output":"aborted"}`, jsonedit.Quote(id))), added: true})
		}
	}
	return all
}

// A loss is what is known of items that are not in the rollout any more.
type loss struct {
	reasoned map[string]bool   // messages that had reasoning
	behind   map[int]bool      // lines with reasoning of which that is lost which followed it
	ids      map[string]bool   // ids of the items of these messages
	next     map[string]string // by the id of reasoning, that of what followed it in its response
	first    map[string]string // by the id of an item, that of the reasoning with which its response began
}

// lost returns what other records say about items that are gone: events name the items of a response, an output its call, and a torn
// line its type.
func lost(lines []line) loss {
	found := loss{map[string]bool{}, map[int]bool{}, map[string]bool{}, map[string]string{}, map[string]string{}}
	known, calls := map[string]bool{}, map[string]bool{}
	renamed := strays(lines)
	for i := range lines {
		if l := &lines[i]; l.kind == "response_item" {
			known[text(l.payload, "id")] = true
			if answers(text(l.payload, "type")) != "" {
				calls[text(l.payload, "call_id")] = true
			}
		}
	}
	var group string // of the open response
	var last int     // its line with reasoning that nothing follows yet; 0 for none
	var only int     // that of the last response, if only calls follow it
	var outputs bool // some call of the last response has its output
	reasoning := false
	for i := range lines {
		l := &lines[i]
		kind := text(l.payload, "type")
		id, names := l.named()
		gone := names && !known[id] || l.isTornItem()
		switch {
		case l.kind == "response_item" && isModels(l.payload):
			if group = l.group; reasoning {
				found.reasoned[group] = true
			}
			switch {
			case kind == "reasoning":
				last, only = l.n, l.n
				found.reasoned[group] = true
			case answers(kind) == "":
				only = 0
			}
			if outputs, reasoning = false, false; kind != "reasoning" {
				last = 0
			}
		case gone && (text(l.payload, "item", "type") == "Reasoning" || bytes.Contains(l.raw, []byte(`"type":"reasoning"`))):
			if reasoning = group == ""; group != "" {
				found.reasoned[group] = true
			}
		case gone && last != 0:
			found.behind[last] = true
		case l.kind == "response_item" && isOutput(kind):
			if _, is := renamed[i]; !is && !calls[text(l.payload, "call_id")] && only != 0 && !outputs {
				found.behind[only] = true
			}
			group, last, outputs = "", 0, outputs || calls[text(l.payload, "call_id")]
		case l.endsResponse(), l.kind == "response_item", l.kind == "compacted":
			group, last, reasoning = "", 0, false
			if l.kind == "response_item" {
				only = 0
			}
		}
	}
	found.follow(lines)
	return found
}

// strays returns the lines of outputs whose call_id no call has, where the response before has a single call without an output; and the
// call_id of that.
func strays(lines []line) map[int]string {
	called, answered := map[string]bool{}, map[string]bool{}
	for i := range lines {
		if l := &lines[i]; l.kind == "response_item" {
			kind, id := text(l.payload, "type"), text(l.payload, "call_id")
			called[answers(kind)+id] = true
			answered[kind+id] = true
		}
	}
	found := map[int]string{}
	group, open, last := "", []string{}, -1 // of the response: its calls without outputs, with the types of these; the output for them
	for i := range lines {
		l := &lines[i]
		kind, id := text(l.payload, "type"), text(l.payload, "call_id")
		switch {
		case l.kind != "response_item":
		case isModels(l.payload):
			if l.group != group {
				group, open, last = l.group, nil, -1
			}
			if to := answers(kind); to != "" && id != "" && !answered[to+id] {
				open = append(open, to+id)
			}
		case isOutput(kind) && !called[kind+id]:
			if delete(found, last); last < 0 && len(open) == 1 && strings.HasPrefix(open[0], kind) {
				found[i] = strings.TrimPrefix(open[0], kind)
			}
			last = i
		}
	}
	return found
}

// follow finds what followed each reasoning in its response.
func (found *loss) follow(lines []line) {
	before, in, first := "", "", ""
	for i := range lines {
		l := &lines[i]
		if l.kind != "response_item" || !isModels(l.payload) {
			continue
		}
		id := text(l.payload, "id")
		if found.reasoned[l.group] && id != "" {
			found.ids[id] = true
		}
		isReasoning := text(l.payload, "type") == "reasoning"
		if in != l.group {
			if first = ""; isReasoning {
				first = id
			}
		} else if first != "" && id != "" {
			found.first[id] = first
		}
		if before != "" && in == l.group && id != "" {
			found.next[before] = id
		}
		if before, in = "", l.group; isReasoning {
			before = id
		}
	}
}

// named returns the id of the item that an event is about, and whether it is about one of the model's.
func (l *line) named() (id string, ok bool) {
	if l.event() != "item_completed" {
		return "", false
	}
	kind := text(l.payload, "item", "type")
	return text(l.payload, "item", "id"), kind == "Reasoning" || kind == "AgentMessage"
}

// isTornItem reports whether the line is the rest of an item.
func (l *line) isTornItem() bool {
	return l.kind == "" && bytes.Contains(l.raw, []byte(`"response_item"`))
}
