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

// outputOf returns the type of the output of a call, "" for another item.
func outputOf(kind string) string {
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
	called, answered, first := map[string]bool{}, map[string]bool{}, map[string][]byte{}
	for _, it := range items {
		id := text(it.value, "call_id")
		if kind := outputOf(it.kind); kind != "" {
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
		name := text(it.value, "id")
		if it.again = name != "" && bytes.Equal(first[name], it.value.Raw()); first[name] == nil {
			first[name] = it.value.Raw()
		}
		all = append(all, it)
		if kind := outputOf(it.kind); kind != "" && id != "" && !answered[kind+id] {
			all = append(all, item{kind: kind, value: jsonedit.Parse(fmt.Appendf(nil, `{"call_id":%s,"output":"aborted"}`, jsonedit.Quote(id))), added: true})
		}
	}
	return all
}

// unknown stands for the id of an item that is lost.
const unknown = "?"

// A bond says what the provider takes only together, by the ids of items of the model. The text of a lost item may be gone, and other records
// tell that it was there.
type bond struct {
	next map[string]string // what followed the first reasoning of a response
	need map[string]string // the first reasoning of its response
	// strays are the lines of outputs whose call_id no call has, where the response before has a single call without an output; and the
	// call_id of that.
	strays map[int]string
}

// A response is what is known of one of the model.
type response struct {
	ids   []string // of its items, in order
	first int      // the place of the first reasoning among them, -1 for none
	calls bool     // all others are calls, and nothing but their outputs is behind them
	open  []string // the types of the outputs that calls do not have, with their call_id
	stray int      // the line of the output for them; -1 for none
}

// bonds returns what belongs together in the responses of a rollout.
func bonds(lines []line) bond {
	all := bond{map[string]string{}, map[string]string{}, map[int]string{}}
	known, called, answers := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range lines {
		if l := &lines[i]; l.kind == "response_item" {
			known[text(l.payload, "id")] = true
			called[outputOf(text(l.payload, "type"))+text(l.payload, "call_id")] = true
			answers[text(l.payload, "type")+text(l.payload, "call_id")] = true
		}
	}
	r, open, answered := response{first: -1}, false, false // the last one; more of it may come; a call of it has its output
	add := func(id string, reasoning, call bool) {
		if !open {
			all.add(r)
			r, open, answered = response{first: -1, stray: -1, calls: true}, true, false
		}
		if reasoning && r.first < 0 {
			r.first = len(r.ids)
		}
		r.ids, r.calls = append(r.ids, id), r.calls && (reasoning || call)
	}
	for i := range lines {
		l := &lines[i]
		kind, isItem := text(l.payload, "type"), l.kind == "response_item"
		id, reasoning, shown := l.shows()
		switch {
		case isItem && isModels(l.payload):
			to, id := outputOf(kind), text(l.payload, "call_id")
			add(text(l.payload, "id"), kind == "reasoning", to != "")
			if to != "" && id != "" && !answers[to+id] {
				r.open = append(r.open, to+id)
			}
		case shown && !known[id] && (open || reasoning):
			add(id, reasoning, true)
		case isItem && isOutput(kind):
			switch open = false; {
			case called[kind+text(l.payload, "call_id")]:
				answered = true
			case r.stray < 0 && len(r.open) == 1 && strings.HasPrefix(r.open[0], kind):
				r.stray, all.strays[i] = i, strings.TrimPrefix(r.open[0], kind)
			default:
				delete(all.strays, r.stray)
				if r.first >= 0 && r.calls && !answered { // that call followed the reasoning
					r.ids, answered = slices.Insert(r.ids, r.first+1, unknown), true
				}
			}
		case isItem:
			open, r.calls = false, false
		case l.endsResponse(), l.kind == "compacted":
			open = false
		}
	}
	all.add(r)
	return all
}

// add adds what belongs together in a response.
func (b *bond) add(r response) {
	if r.first < 0 {
		return
	}
	first := cmp.Or(r.ids[r.first], unknown)
	for i, id := range r.ids {
		if i != r.first && id != "" {
			b.need[id] = first
		}
	}
	if r.first+1 < len(r.ids) {
		b.next[first] = r.ids[r.first+1]
	}
}

// shows returns the id of an item of the model that an event names, or of which the line is the rest, and whether that is reasoning.
func (l *line) shows() (id string, reasoning, ok bool) {
	kind := text(l.payload, "item", "type")
	switch {
	case l.event() == "item_completed" && (kind == "Reasoning" || kind == "AgentMessage"):
		return text(l.payload, "item", "id"), kind == "Reasoning", true
	case l.kind == "" && bytes.Contains(l.raw, []byte(`"response_item"`)):
		return unknown, bytes.Contains(l.raw, []byte(`"type":"reasoning"`)), true
	}
	return "", false, false
}
