package diagnose

import (
	"testing"

	"mend/repair"
)

// Thinking in other forms than the agent's signed reasoning.
const (
	thinking = `"type":"thinking","thinking":"hm","signature":"sig"`
	redacted = `"type":"reasoning","text":"","metadata":{"anthropic":{"redactedData":"abc"}},"time":{"start":1,"end":2}`
)

// TestThinkingOrder: thinking that is last or after a call moves to the front of its step, or the turn is ended.
func TestThinkingOrder(t *testing.T) {
	runFixes(t, []fixCase{
		{name: "healthy", turn: answer(stepStart, signed, hi, bash, stepFinish)},
		{
			name: "last", turn: answer(stepStart, hi, signed, stepFinish),
			found: "broken thinking_block_order msg_02/prt_0203",
			want:  []string{stepStart, "prt_0201_0203|" + signed, hi2, "prt_0204|" + stepFinish},
		},
		{
			name: "after a call", turn: answer(stepStart, bash, signed, stepFinish),
			found: "broken thinking_block_order msg_02/prt_0203; broken thinking_block_order msg_02/prt_0202",
			want:  []string{stepStart, "prt_0201_0203|" + signed, "prt_0202|" + bash, "prt_0204|" + stepFinish},
		},
		{
			name: "after a call, other thinking leads", turn: answer(stepStart, signed, bash, signed2, stepFinish),
			found: "broken thinking_block_order msg_02/prt_0204",
			want:  []string{stepStart, signed, "prt_0202_0204|" + signed2, "prt_0203|" + bash, "prt_0205|" + stepFinish},
		},
		{
			name: "after a call, in a loop that moving it would change", turn: answer(signed, stepStart, hi, signed2, bash, signed),
			found: "broken thinking_block_order msg_02/prt_0206; note thinking_block_order msg_02/prt_0204",
			want: []string{
				signed, stepStart, "prt_0202_0206|" + signed, "prt_0203|" + hi, "prt_0204|" + signed2, "prt_0205|" + bash,
				"prt_0206_mend|" + stepStart, "prt_0206_mend_1|" + placeholder,
			},
		},
		{
			name:  "several after two calls, an empty text after them",
			turn:  answer(stepStart, signed, bash, signed, signed, bash2, signed, empty, stepStart, callPart(3, callStates[0])),
			found: "broken thinking_block_order msg_02/prt_0204; broken thinking_block_order msg_02/prt_0205; broken thinking_block_order msg_02/prt_0207; broken tool_result_missing msg_02/prt_0208; broken thinking_block_order msg_02/prt_0210; broken empty_content_message msg_02/prt_0208",
			want: []string{
				stepStart, signed, "prt_0202_0204|" + signed, "prt_0202_0205|" + signed, "prt_0202_0207|" + signed, "prt_0203|" + bash, "prt_0206|" + bash2,
				"prt_0209|" + stepStart, "prt_0210|" + callPart(3, callStates[0]), "prt_0210_mend|" + stepStart, "prt_0210_mend_1|" + placeholder,
			},
		},
		{
			name: "several keep their order", turn: answer(stepStart, bash, signed, signed2),
			found: "broken thinking_block_order msg_02/prt_0203; broken thinking_block_order msg_02/prt_0204; broken thinking_block_order msg_02/prt_0202",
			want:  []string{stepStart, "prt_0201_0203|" + signed, "prt_0201_0204|" + signed2, "prt_0202|" + bash},
		},
		{
			name: "nothing before", turn: answer(hi, signed),
			found: "broken thinking_block_order msg_02/prt_0202",
			want:  []string{"prt_0000000000_0202|" + signed, "prt_0201|" + hi},
		},
		{name: "between content, other thinking leads", turn: answer(stepStart, signed, hi, signed2, done)},
		{name: "between content", turn: answer(stepStart, hi, signed, done), found: "note thinking_block_order msg_02/prt_0203"},
		{
			name: "between content, on request", turn: answer(stepStart, hi, signed, done), req: byClass,
			found: "note thinking_block_order msg_02/prt_0203",
			want:  []string{stepStart, "prt_0201_0203|" + signed, hi2, "prt_0204|" + done},
		},
		{
			name: "in the second step", turn: answer(stepStart, signed, bash, stepFinish, stepStart, done, signed2),
			found: "broken thinking_block_order msg_02/prt_0207",
			want:  []string{stepStart, signed, bash, stepFinish, stepStart, "prt_0205_0207|" + signed2, "prt_0206|" + done},
		},
		{
			name: "no room for an id: the placeholder after it", turn: answer("prt_0201|"+stepStart, "prt_0201-|"+hi, "prt_0203|"+signed),
			found: "broken thinking_block_order msg_02/prt_0203",
			want:  []string{"prt_0201|" + stepStart, "prt_0201-|" + hi, "prt_0203|" + signed, "prt_0203_mend|" + placeholder},
		},
	})
}

// TestThinkingOrderByKind: redacted and older thinking moves as signed thinking does. Unsigned thinking is not sent.
func TestThinkingOrderByKind(t *testing.T) {
	runFixes(t, []fixCase{
		{name: "unsigned", turn: answer(stepStart, hi, unsigned), req: byClass},
		{
			name: "redacted", turn: answer(stepStart, hi, redacted),
			found: "broken thinking_block_order msg_02/prt_0203",
			want:  []string{stepStart, "prt_0201_0203|" + redacted, hi2},
		},
		{
			name: "older store", turn: answer(hi, thinking), req: byClass,
			found: "note thinking_block_order msg_02/prt_0202",
			want:  []string{"prt_0000000000_0202|" + thinking, "prt_0201|" + hi},
		},
	})
}

// TestThinkingOrderByMessage: thinking of the newest answer moves unless its tool loop is open; the provider refuses
// only a change there. oh-my-opencode never changes the newest answer (THK-08 and THK-09 of its tests).
func TestThinkingOrderByMessage(t *testing.T) {
	runFixes(t, []fixCase{
		{
			name: "blank text does not count", turn: answer(signed, blank, hi), found: "broken empty_content_message msg_02/prt_0202",
			want: []string{signed, "prt_0203|" + hi},
		},
		{name: "left out of the request", turn: failed("APIError", stepStart, hi, signed)},
		{name: "aborted, left out", turn: failed("MessageAbortedError", stepStart, signed)},
		{
			name: "aborted, sent", turn: failed("MessageAbortedError", stepStart, hi, signed),
			found: "broken thinking_block_order msg_02/prt_0203",
			want:  []string{stepStart, "prt_0201_0203|" + signed, hi2},
		},
		{
			name: "newest, loop open", turn: calling(stepStart, bash, signed), after: []turn{}, found: "broken thinking_block_order msg_02/prt_0203; broken thinking_block_order msg_02/prt_0202",
			want: []string{stepStart, "prt_0201_0203|" + signed, "prt_0202|" + bash, "prt_0203_mend|" + stepStart, "prt_0203_mend_1|" + placeholder},
		},
		{
			name: "newest, finished", turn: answer(stepStart, bash, signed), after: []turn{}, found: "broken thinking_block_order msg_02/prt_0203; broken thinking_block_order msg_02/prt_0202",
			want: []string{stepStart, "prt_0201_0203|" + signed, "prt_0202|" + bash},
		},
		{
			name: "newest answer, a prompt after it", turn: calling(stepStart, bash, signed), found: "broken thinking_block_order msg_02/prt_0203; broken thinking_block_order msg_02/prt_0202",
			want: []string{stepStart, "prt_0201_0203|" + signed, "prt_0202|" + bash},
		},
	})
}

// hi2 is the text in its old place, although the number of parts before it has changed.
const hi2 = "prt_0202|" + hi

// TestThinkingDisabled: thinking is removed on request, except in an open tool loop.
func TestThinkingDisabled(t *testing.T) {
	runFixes(t, []fixCase{
		{name: "without a request", turn: answer(stepStart, signed, hi)},
		{
			name: "on request", turn: answer(stepStart, signed, hi, unsigned), found: "", req: strip,
			want: []string{stepStart, "prt_0203|" + hi},
		},
		{
			name: "no other content", turn: answer(stepStart, signed, signed2, stepFinish), found: "broken empty_content_message msg_02/prt_0203", req: strip,
			want: []string{stepStart, "prt_0203|" + placeholder, "prt_0204|" + stepFinish},
		},
		{
			name: "only a blank text", turn: answer(stepStart, signed, blank), found: "broken empty_content_message msg_02/prt_0203", req: strip,
			want: []string{stepStart, "prt_0203|" + placeholder},
		},
		{name: "loop open", turn: calling(stepStart, signed, bash), after: []turn{}, req: strip},
		{name: "left out", turn: failed("APIError", signed, hi), req: strip},
	})
}

// TestSignedIsNotEncrypted: thinking with Anthropic's signature is not encrypted reasoning of another provider.
func TestSignedIsNotEncrypted(t *testing.T) {
	r := plan(t, build(user(hi), answer(signed, hi)), Request{Classes: []repair.Class{repair.EncryptedReasoning}})
	if len(r.Fixed)+len(r.Unfixable) != 0 {
		t.Errorf("Plan fixes %s, cannot fix %s; want nothing", summary(r.Fixed), summary(r.Unfixable))
	}
}
