//go:build e2e

package render_test

import (
	"fmt"

	"mend/internal/test/damage"
)

// tailTrials damage the tails that compactions keep, their parts and their summaries (docs/opencode.md F2).
func tailTrials() []trial {
	kept := func(l *harness, from int) string {
		return fmt.Sprintf(`{"type":"compaction","auto":true,"tail_start_id":"%s"}`, l.message(from).id)
	}
	tail := func(after, from int) func(*harness) {
		return func(l *harness) { afterCompaction(after, kept(l, from), "")(l) }
	}
	stale := func(after int) func(*harness) { return func(l *harness) { l.insert(after, userFields, marker) } }
	two := func(first, second func(*harness) string) func(*harness) {
		return func(l *harness) {
			a, b := first(l), second(l)
			m := l.insert(damage.DoneAgain, userFields, a, b)
			s := l.insert(damage.DoneAgain+1, fmt.Sprintf(summaryFields, ""), stepStart, `{"type":"text","text":"a summary"}`)
			s.fields["parentID"] = m.id
		}
	}
	plain := func(*harness) string { return marker }
	fromHello := func(l *harness) string { return kept(l, damage.Hello) }
	return []trial{
		{name: "tail starts with an answer that calls", apply: tail(damage.DoneAgain, damage.TwoCalls)},
		{name: "tail starts with the answer to a result", apply: tail(damage.DoneAgain, damage.DoneAgain)},
		{name: "tail starts with the answer to a result, calls before it broken", apply: combine(
			func(l *harness) { l.part(damage.TwoCalls, "tool").fields["callID"] = "" }, tail(damage.DoneAgain, damage.DoneAgain))},
		{name: "tail starts with a call that was interrupted", apply: combine(
			state(fields{"status": "running", "input": fields{}, "time": fields{"start": 1}}), tail(damage.DoneAgain, damage.OneCall))},
		{name: "second compaction without tail", apply: combine(afterCompaction(damage.DoneAgain, marker, ""), tail(damage.Hello, damage.Done))},
		{name: "second compaction without tail, in a loop", apply: combine(afterCompaction(damage.TwoCalls, marker, ""), tail(damage.Hello, damage.Done))},
		{name: "second compaction with a tail from before the first", apply: combine(tail(damage.DoneAgain, damage.Done), afterCompaction(damage.Hello, marker, ""))},
		{name: "second compaction with a tail, the first too", apply: combine(tail(damage.DoneAgain, damage.TwoCalls), tail(damage.Hello, damage.Done))},
		{name: "two markers in one prompt, the second without tail", apply: two(fromHello, plain)},
		{name: "two markers in one prompt, the first without tail", apply: two(plain, fromHello)},
		{name: "tail is an empty id", apply: afterCompaction(damage.DoneAgain, `{"type":"compaction","auto":true,"tail_start_id":""}`, "")},
		{name: "tail is null", apply: afterCompaction(damage.DoneAgain, `{"type":"compaction","auto":true,"tail_start_id":null}`, "")},
		{name: "tail starts after the compaction", apply: tail(damage.Hello, damage.DoneAgain)},
		{name: "stale marker in a loop", apply: stale(damage.TwoCalls)},
		{name: "stale marker in a loop, compacted since", apply: combine(afterCompaction(damage.DoneAgain, marker, ""), stale(damage.TwoCalls))},
		{name: "stale marker between compaction and its tail", apply: combine(tail(damage.DoneAgain, damage.Done), stale(damage.Hello))},
		{name: "stale marker with a tail, answered since", apply: func(l *harness) {
			l.insert(damage.DoneAgain, userFields, kept(l, damage.TwoCalls))
		}},
		{name: "summary without finish", apply: combine(tail(damage.DoneAgain, damage.Done), func(l *harness) {
			for _, m := range l.messages() {
				if m.fields["summary"] == true {
					delete(m.fields, "finish")
				}
			}
		})},
		{name: "summary of another prompt", apply: combine(tail(damage.DoneAgain, damage.Done), func(l *harness) {
			for _, m := range l.messages() {
				if m.fields["summary"] == true {
					m.fields["parentID"] = l.message(damage.SecondPrompt).id
				}
			}
		})},
		{name: "text that ends with tool-calls", apply: message(damage.Hello, "finish", "tool-calls")},
	}
}
