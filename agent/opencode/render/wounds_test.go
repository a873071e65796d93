//go:build e2e

package render_test

import (
	"strings"

	"mend/internal/wound"
)

// A trial breaks the fixture's session; want has what becomes of the next
// prompt, by version, where that was observed before.
type trial struct {
	name     string
	cut      func(*lab)
	want     [3]string
	compacts bool // the first request is for a compaction
}

const (
	alive = wound.Alive
	dead  = wound.Dead
)

// set changes a field of the first part of a type in a message.
func set(n int, kind, name string, to any) func(*lab) {
	return func(l *lab) { l.part(n, kind).fields[name] = to }
}

// state replaces the state of the one call, and inState a field of it.
func state(to fields) func(*lab) { return set(wound.OneCall, "tool", "state", to) }

func inState(name string, to any) func(*lab) {
	return func(l *lab) { l.part(wound.OneCall, "tool").fields["state"].(fields)[name] = to }
}

func noState(name string) func(*lab) {
	return func(l *lab) { delete(l.part(wound.OneCall, "tool").fields["state"].(fields), name) }
}

// without removes a field of the first part of a type in a message.
func without(n int, kind, name string) func(*lab) {
	return func(l *lab) { delete(l.part(n, kind).fields, name) }
}

func drop(n int, kind string) func(*lab) { return func(l *lab) { l.drop(l.parts(n, kind)...) } }

func add(n int, kind, part string) func(*lab) {
	return func(l *lab) { l.add(l.part(n, kind), "z", part) }
}

// front puts a part before all others of a message.
func front(n int, part string) func(*lab) {
	return func(l *lab) {
		first := l.parts(n, "")[0]
		l.add(first, "", part)
		l.rows[len(l.rows)-1].id = "prt_0000000000_" + first.id[4:]
	}
}

func behind(n int, kind, other string) func(*lab) {
	return func(l *lab) { l.part(n, kind).id = l.part(n, other).id + "z" }
}

func rawPart(to func(string) string) func(*lab) {
	return func(l *lab) { l.raw(l.part(wound.Hello, "text"), to) }
}

func rawMessage(to func(string) string) func(*lab) {
	return func(l *lab) { l.raw(l.message(wound.Hello), to) }
}

func (l *lab) raw(r *row, to func(string) string) {
	s := to(r.data(l.session, l.db == nil))
	r.raw = &s
}

func first20(s string) string { return s[:20] }
func zeros(s string) string   { return strings.Repeat("\x00", len(s)) }

func text(s string) func(string) string { return func(string) string { return s } }

func message(n int, name string, to any) func(*lab) {
	return func(l *lab) { l.message(n).fields[name] = to }
}

func noField(n int, name string) func(*lab) {
	return func(l *lab) { delete(l.message(n).fields, name) }
}

func every(cuts ...func(*lab)) func(*lab) {
	return func(l *lab) {
		for _, cut := range cuts {
			cut(l)
		}
	}
}

func attached(files ...any) func(*lab) { return inState("attachments", files) }

func file(mime, url string) fields {
	return fields{"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1", "type": "file", "mime": mime, "url": url}
}

func failure(name string) fields {
	return fields{"name": name, "data": fields{"message": "x", "isRetryable": false}}
}

const largeImage = 5_600_000

// wounds are those of the common table.
func wounds() []trial {
	var all []trial
	for _, w := range wound.Table {
		all = append(all, trial{name: w.Name, cut: func(l *lab) { w.Cut(l) }, want: w.Want})
	}
	return all
}
