//go:build e2e

package render_test

import (
	"slices"
	"strings"

	"mend/internal/test/damage"
)

// A trial damages the fixture's session. want has the result of the next prompt, by version, as observed before.
type trial struct {
	name     string
	apply    func(*harness)
	want     [3]string
	compacts bool // the first request is for a compaction
}

const (
	alive = damage.Alive
	dead  = damage.Dead
)

// set changes a field of the first part of a type in a message.
func set(n int, kind, name string, to any) func(*harness) {
	return func(l *harness) { l.part(n, kind).fields[name] = to }
}

// state replaces the state of the only call. inState replaces a field of the state.
func state(to fields) func(*harness) { return set(damage.OneCall, "tool", "state", to) }

func inState(name string, to any) func(*harness) {
	return func(l *harness) { l.part(damage.OneCall, "tool").fields["state"].(fields)[name] = to }
}

func noState(name string) func(*harness) {
	return func(l *harness) { delete(l.part(damage.OneCall, "tool").fields["state"].(fields), name) }
}

// without removes a field of the first part of a type in a message.
func without(n int, kind, name string) func(*harness) {
	return func(l *harness) { delete(l.part(n, kind).fields, name) }
}

func drop(n int, kind string) func(*harness) { return func(l *harness) { l.drop(l.parts(n, kind)...) } }

func add(n int, kind, part string) func(*harness) {
	return func(l *harness) { l.add(l.part(n, kind), "z", part) }
}

// prepend adds a part before the others of a message.
func prepend(n int, part string) func(*harness) {
	return func(l *harness) {
		first := l.parts(n, "")[0]
		l.add(first, "", part)
		l.rows[len(l.rows)-1].id = "prt_0000000000_" + first.id[4:]
	}
}

func addAfter(n int, kind, other string) func(*harness) {
	return func(l *harness) { l.part(n, kind).id = l.part(n, other).id + "z" }
}

func rawPart(to func(string) string) func(*harness) {
	return func(l *harness) { l.raw(l.part(damage.Hello, "text"), to) }
}

func rawMessage(to func(string) string) func(*harness) {
	return func(l *harness) { l.raw(l.message(damage.Hello), to) }
}

func (l *harness) raw(r *row, to func(string) string) {
	s := to(r.data(l.session, l.db == nil))
	r.raw = &s
}

func first20(s string) string { return s[:20] }
func zeros(s string) string   { return strings.Repeat("\x00", len(s)) }

func text(s string) func(string) string { return func(string) string { return s } }

func message(n int, name string, to any) func(*harness) {
	return func(l *harness) { l.message(n).fields[name] = to }
}

func noField(n int, name string) func(*harness) {
	return func(l *harness) { delete(l.message(n).fields, name) }
}

func combine(changes ...func(*harness)) func(*harness) {
	return func(l *harness) {
		for _, apply := range changes {
			apply(l)
		}
	}
}

func attached(files ...any) func(*harness) { return inState("attachments", files) }

func file(mime, url string) fields {
	return fields{"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1", "type": "file", "mime": mime, "url": url}
}

func failure(name string) fields {
	return fields{"name": name, "data": fields{"message": "x", "isRetryable": false}}
}

const largeImage = 5_600_000

// compactedFirst is the damage that makes OpenCode compact the session before it answers: it takes the counts for a
// full context. mend does not foresee that.
var compactedFirst = []string{
	"tokens.total infinite in the last answer", "tokens.total enormous in the last answer",
	"tokens.input infinite in the last answer",
}

func damageTrials() []trial {
	var all []trial
	for _, w := range damage.Table {
		switch {
		case damage.AddsFile(w.Name): // the file is reported, and not simulated
			continue
		case strings.HasPrefix(w.Name, "half a pair"): // lost when the harness writes the record; TestMatrix has them
			continue
		case slices.Contains(compactedFirst, w.Name):
			continue
		}
		all = append(all, trial{name: w.Name, apply: func(l *harness) { w.Apply(l) }, want: w.Want})
	}
	return all
}
