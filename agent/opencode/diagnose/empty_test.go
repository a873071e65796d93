package diagnose

import "testing"

// TestEmptyContent: a blank text is removed, or becomes a placeholder. An answer of only thinking gets a placeholder.
func TestEmptyContent(t *testing.T) {
	aborted := failed("MessageAbortedError", stepStart, signed, bash, stepStart, signed2)
	runFixes(t, []fixCase{
		{name: "blank alone", turn: answer(stepStart, blank), found: "broken empty_content_message msg_02/prt_0202", want: []string{stepStart, placeholder}},
		{
			name: "blanks alone", turn: answer(stepStart, blank, blank, blank),
			found: "broken empty_content_message msg_02/prt_0202; broken empty_content_message msg_02/prt_0203; broken empty_content_message msg_02/prt_0204",
			want:  []string{stepStart, placeholder},
		},
		{name: "empty alone", turn: answer(empty), req: latent},
		{name: "blank prompt", turn: user(blank), found: "broken empty_content_message msg_02/prt_0201", want: []string{placeholder}},
		{
			name: "two blanks", turn: user(blank, empty), found: "broken empty_content_message msg_02/prt_0201",
			want: []string{placeholder, empty},
		},
		{
			name: "blank beside a call", turn: answer(stepStart, signed, blank, bash), found: "broken empty_content_message msg_02/prt_0203",
			want: []string{stepStart, signed, "prt_0204|" + bash},
		},
		{
			name: "empty beside a call", turn: answer(signed, empty, bash), found: "broken empty_content_message msg_02/prt_0202",
			want: []string{signed, "prt_0203|" + bash},
		},
		{
			name: "empty with thinking", turn: answer(stepStart, signed, empty), found: "broken empty_content_message msg_02/prt_0203; latent empty_content_message msg_02/prt_0202",
			want: []string{stepStart, signed, placeholder},
		},
		{
			name: "blank before thinking", turn: answer(stepStart, blank, signed), found: "broken empty_content_message msg_02/prt_0203; broken empty_content_message msg_02/prt_0202",
			want: []string{stepStart, "prt_0203|" + signed, "prt_0203_mend|" + placeholder},
		},
		{
			name: "empty in a later step of thinking", turn: answer(stepStart, signed, bash, stepStart, signed2, empty),
			found: "broken empty_content_message msg_02/prt_0206; latent empty_content_message msg_02/prt_0205", want: []string{stepStart, signed, bash, stepStart, signed2, placeholder},
		},
		{
			name: "thinking only", turn: answer(stepStart, signed, stepFinish), found: "broken empty_content_message msg_02/prt_0202",
			want: []string{stepStart, signed, "prt_0202_mend|" + placeholder, "prt_0203|" + stepFinish},
		},
		{
			name: "unsigned thinking only", turn: answer(unsigned), found: "broken empty_content_message msg_02",
			want: []string{unsigned, "prt_0201_mend|" + placeholder},
		},
		{
			name: "a step of thinking only", turn: aborted, found: "broken empty_content_message msg_02/prt_0205",
			want: append(aborted.parts[:5:5], "prt_0205_mend|"+placeholder),
		},
		{
			name: "thinking only, newest and unfinished", turn: turn{role: "assistant", parts: []string{stepStart, signed}}, after: []turn{},
			found: "broken empty_content_message msg_02/prt_0202", want: []string{stepStart, signed, "prt_0202_mend|" + placeholder},
		},
	})
}

// TestNoContent: a message without content is a note, and gets a placeholder on request. A message that the agent
// leaves out or completes itself has no finding.
func TestNoContent(t *testing.T) {
	runFixes(t, []fixCase{
		{name: "no parts", turn: answer(), found: "note empty_content_message msg_02"},
		{name: "no parts, on request", turn: answer(), req: noText, found: "note empty_content_message msg_02", want: []string{"prt_02|" + placeholder}},
		{name: "start and end of a step only", turn: answer(stepStart, stepFinish), found: "note empty_content_message msg_02"},
		{
			name: "start and end of a step only, on request", turn: answer(stepStart, stepFinish), req: noText, found: "note empty_content_message msg_02",
			want: []string{stepStart, "prt_0201_mend|" + placeholder, "prt_0202|" + stepFinish},
		},
		{name: "a prompt of a file", turn: user(file)},
		{name: "a file and a blank", turn: user(blank, file), found: "broken empty_content_message msg_02/prt_0201", want: []string{"prt_0202|" + file}},
		{name: "compaction", turn: user(`"type":"compaction","auto":true`)},
		{name: "ignored blank", turn: user(hi, `"type":"text","text":" ","ignored":true`)},
		{name: "ignored only", turn: user(`"type":"text","text":"x","ignored":true`)},
		{name: "failed, without parts", turn: failed("APIError")},
		{name: "failed, blank", turn: failed("APIError", blank)},
		{name: "unknown part", turn: answer(hi, `"type":"novelty","x":1`), found: "latent incomplete_record msg_02/prt_0202"},
	})
}
