package hooks

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"mend/internal/live"
)

// TestExplainToolErrors: these failed calls of the real programs get an instruction. OpenCode calls no hook for a
// failed call (opencode #27900, #48085). Calls 21 to 23 and 29 guess the content of the file (opencode #30781, #30863,
// #4718, #15515).
func TestExplainToolErrors(t *testing.T) {
	for version, want := range map[string]string{
		"1.1.53":  "call_21 read, call_22 nothing, call_23 widen, call_26 read, call_30 JSON, call_33 JSON, call_34 JSON, call_35 JSON",
		"1.2.27":  "call_21 read, call_22 nothing, call_23 widen, call_26 read, call_30 JSON, call_33 JSON, call_34 JSON, call_35 JSON",
		"1.18.33": "call_21 read, call_22 nothing, call_23 widen, call_29 read, call_30 JSON, call_33 JSON, call_34 JSON, call_35 JSON",
	} {
		names := map[string]string{readBeforeEdit: "read", widenEdit: "widen", changeNothing: "nothing", writeValidJSON: "JSON"}
		calls := recordedLines[live.FailedCall](t, filepath.Join("testdata", "failed_calls_"+version+".jsonl"))
		var got []string
		for _, a := range explainToolErrors(calls) {
			got = append(got, fmt.Sprintf("%s %s", a.Part, names[a.Text]))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: instructions %q, want %q", version, strings.Join(got, ", "), want)
		}
	}
}

// TestNoInstruction: an output that only quotes the words of such an error gets no instruction. Upstream's hooks search
// the whole output for the words (#4028, #4029).
func TestNoInstruction(t *testing.T) {
	const missing, malformed = "Could not find oldString in the file.", "The arguments provided to the tool are invalid: Invalid input for tool bash: JSON parsing failed: text: x"
	for _, c := range []live.FailedCall{
		{Tool: "bash", Status: callCompleted, Text: missing},
		{Tool: "bash", Status: callFailed, Text: missing},
		{Tool: "edit", Status: callCompleted, Text: missing},
		{Tool: "my_edit", Status: callFailed, Text: missing},
		{Tool: "edit", Status: callFailed, Text: "The file says: " + missing},
		{Tool: "edit", Status: callFailed, Text: "File /p/Could not find oldString in the file not found"},
		{Tool: "edit", Status: callFailed, Text: "The user rejected permission to use this specific tool call."},
		{Tool: "edit", Status: callFailed, Text: ""},
		{Tool: "todowrite", Status: callCompleted, Text: "JSON parse error: fix it"},
		{Tool: "grep", Status: callCompleted, Text: malformed},
		{Tool: "invalid", Status: callFailed, Text: malformed},
		{Tool: "invalid", Status: callCompleted, Text: "The arguments provided to the tool are invalid: Model tried to call unavailable tool 'x: JSON parsing failed: '."},
		{Tool: "invalid", Status: callCompleted, Text: "The arguments provided to the tool are invalid: Invalid input for tool bash: Type validation failed: Value: JSON parsing failed: ."},
		{Tool: "invalid", Status: callCompleted, Text: "Note: " + malformed},
	} {
		if got := explainToolErrors([]live.FailedCall{c}); len(got) > 0 {
			t.Errorf("%+v gets %q", c, got[0].Text)
		}
	}
	for _, text := range []string{readBeforeEdit, widenEdit, changeNothing, writeValidJSON} {
		if n := len(strings.Fields(text)); n > 32 {
			t.Errorf("%q has %d words", text, n)
		}
	}
}
