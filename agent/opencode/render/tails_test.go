//go:build e2e

package render_test

import (
	"fmt"

	"mend/internal/wound"
)

// tails are compactions whose end, marker or summary is not as it should be
// (docs/opencode.md F2).
func tails() []trial {
	kept := func(l *lab, from int) string {
		return fmt.Sprintf(`{"type":"compaction","auto":true,"tail_start_id":"%s"}`, l.message(from).id)
	}
	tail := func(behind, from int) func(*lab) {
		return func(l *lab) { compacted(behind, kept(l, from), "")(l) }
	}
	stale := func(behind int) func(*lab) { return func(l *lab) { l.insert(behind, userFields, marker) } }
	two := func(first, second func(*lab) string) func(*lab) {
		return func(l *lab) {
			a, b := first(l), second(l)
			m := l.insert(wound.DoneAgain, userFields, a, b)
			s := l.insert(wound.DoneAgain+1, fmt.Sprintf(summaryFields, ""), stepStart, `{"type":"text","text":"a summary"}`)
			s.fields["parentID"] = m.id
		}
	}
	plain := func(*lab) string { return marker }
	fromHello := func(l *lab) string { return kept(l, wound.Hello) }
	return []trial{
		{name: "tail starts with an answer that calls", cut: tail(wound.DoneAgain, wound.TwoCalls)},
		{name: "tail starts with the answer to a result", cut: tail(wound.DoneAgain, wound.DoneAgain)},
		{name: "tail starts with the answer to a result, calls before it broken", cut: every(
			func(l *lab) { l.part(wound.TwoCalls, "tool").fields["callID"] = "" }, tail(wound.DoneAgain, wound.DoneAgain))},
		{name: "tail starts with a call that was interrupted", cut: every(
			state(fields{"status": "running", "input": fields{}, "time": fields{"start": 1}}), tail(wound.DoneAgain, wound.OneCall))},
		{name: "second compaction without tail", cut: every(compacted(wound.DoneAgain, marker, ""), tail(wound.Hello, wound.Done))},
		{name: "second compaction without tail, in a loop", cut: every(compacted(wound.TwoCalls, marker, ""), tail(wound.Hello, wound.Done))},
		{name: "second compaction with a tail from before the first", cut: every(tail(wound.DoneAgain, wound.Done), compacted(wound.Hello, marker, ""))},
		{name: "second compaction with a tail, the first too", cut: every(tail(wound.DoneAgain, wound.TwoCalls), tail(wound.Hello, wound.Done))},
		{name: "two markers in one prompt, the second without tail", cut: two(fromHello, plain)},
		{name: "two markers in one prompt, the first without tail", cut: two(plain, fromHello)},
		{name: "tail is an empty id", cut: compacted(wound.DoneAgain, `{"type":"compaction","auto":true,"tail_start_id":""}`, "")},
		{name: "tail is null", cut: compacted(wound.DoneAgain, `{"type":"compaction","auto":true,"tail_start_id":null}`, "")},
		{name: "tail starts behind the compaction", cut: tail(wound.Hello, wound.DoneAgain)},
		{name: "stale marker in a loop", cut: stale(wound.TwoCalls)},
		{name: "stale marker in a loop, compacted since", cut: every(compacted(wound.DoneAgain, marker, ""), stale(wound.TwoCalls))},
		{name: "stale marker between compaction and its tail", cut: every(tail(wound.DoneAgain, wound.Done), stale(wound.Hello))},
		{name: "stale marker with a tail, answered since", cut: func(l *lab) {
			l.insert(wound.DoneAgain, userFields, kept(l, wound.TwoCalls))
		}},
		{name: "summary without finish", cut: every(tail(wound.DoneAgain, wound.Done), func(l *lab) {
			for _, m := range l.messages() {
				if m.fields["summary"] == true {
					delete(m.fields, "finish")
				}
			}
		})},
		{name: "summary of another prompt", cut: every(tail(wound.DoneAgain, wound.Done), func(l *lab) {
			for _, m := range l.messages() {
				if m.fields["summary"] == true {
					m.fields["parentID"] = l.message(wound.SecondPrompt).id
				}
			}
		})},
		{name: "text that ends with tool-calls", cut: message(wound.Hello, "finish", "tool-calls")},
		{name: "callID with an emoji", cut: set(wound.OneCall, "tool", "callID", "a\U0001f600b")},
	}
}
