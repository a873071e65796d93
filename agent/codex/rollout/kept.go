package rollout

import (
	"bytes"
	"slices"
	"strconv"

	"mend/internal/jsonedit"
)

// CountMessages counts the prompts and answers of a rollout, and returns the id of the first.
func CountMessages(data []byte) (n int, first string) {
	lines, _ := parseLines(data)
	for i := range lines {
		if lines[i].isMessage() {
			if n++; n == 1 {
				first = text(lines[i].payload, "id")
			}
		}
	}
	return n, first
}

// isMessage reports whether a line is a prompt or an answer.
func (l *line) isMessage() bool {
	return l.kind == "response_item" && (isPrompt(l.payload) || text(l.payload, "role") == "assistant")
}

// Lacks counts what a rollout has lost of another one, with or without its line, and the prompts and answers of that. In one that mend
// has edited since only texts of messages count.
func Lacks(data, of []byte, edited bool) (records, messages int) {
	has, at := map[string]bool{"": true}, map[string][]*line{}
	lines, _ := parseLines(data)
	for i := range lines {
		l := &lines[i]
		has[l.content(edited)] = true
		at[l.moment()] = append(at[l.moment()], l)
	}
	wanted, _ := parseLines(of)
	for i := range wanted {
		l := &wanted[i]
		if !has[l.content(edited)] && !slices.ContainsFunc(at[l.moment()], l.isIn) {
			records++
			if l.isMessage() {
				messages++
			}
		}
	}
	return records, messages
}

// HasLostID reports whether a rollout does not say any more of which session it is. A repair may make that again.
func HasLostID(data, of []byte) bool { return IDOf(data) == "" && IDOf(of) != "" }

// contents are the members of an item that the program cannot make again: without ids, which repairs change.
var contents = []string{"role", "name", "arguments", "input", "action", "output", "result", "content"}

// content returns what a line says that the program cannot make again, without what only the provider can read.
func (l *line) content(edited bool) string {
	kind := text(l.payload, "type")
	switch {
	case l.kind == "compacted" && !edited:
		return string(bytes.TrimSpace(l.payload.Raw()))
	case l.kind != "response_item", kind == "reasoning", kind == "compaction", kind != "message" && edited:
		return ""
	}
	b := []byte(kind)
	for _, name := range contents {
		b = append(append(b, 0), l.payload.Get(name).Raw()...)
	}
	return string(b)
}

// isIn reports whether a later state of the line has all texts of its item.
func (l *line) isIn(now *line) bool {
	return l.kind == "response_item" && text(now.payload, "type") == text(l.payload, "type") &&
		!slices.ContainsFunc(contents, func(name string) bool { return jsonedit.Lacks(now.payload.Get(name), l.payload.Get(name)) })
}

// Joined returns a rollout that was kept, with the lines behind it that the session has gained since. What it has of the lines that
// were kept is left out, and so is all of another session.
func Joined(kept, data []byte, session string) ([]byte, error) {
	then, torn := parseLines(kept)
	known, next := map[string]bool{}, int64(-1)
	for i := range then {
		known[then[i].moment()] = true
		if n, ok := then[i].ordinal(); ok {
			next = n + 1
		}
	}
	now, _ := parseLines(data)
	gained := now
	for i := range now {
		l := &now[i]
		if l.kind == "session_meta" && text(l.payload, "id") != session {
			return kept, nil
		}
		if known[l.moment()] {
			gained = now[i+1:]
		}
	}
	out := bytes.Clone(kept)
	if torn {
		out = append(out, '\n')
	}
	for i := range gained {
		l := &gained[i]
		if text(l.value, "type") == "" || l.kind == "session_meta" {
			continue
		}
		raw := l.raw
		if _, ok := l.ordinal(); ok && next >= 0 {
			var err error
			if raw, err = jsonedit.Set(raw, strconv.AppendInt(nil, next, 10), "ordinal"); err != nil {
				return nil, err
			}
			next++
		}
		out = append(append(out, raw...), '\n')
	}
	return out, nil
}

// moment returns when a line was written and what it is: no line that follows has the same.
func (l *line) moment() string { return text(l.value, "timestamp") + " " + text(l.value, "type") }
