package diagnose_test

import (
	"fmt"
	"testing"

	"mend/internal/test/claude"
)

// TestLastError: the error at the end of a session is read from an answer, or from the output of /compact.
func TestLastError(t *testing.T) {
	const failed = "Error: Error during compaction: Error: Conversation too long. Press esc twice to go up a few messages and try again."
	refused := []string{"assistant", `[{"type":"text","text":"Prompt is too long"}]`}
	command := []string{"user", `"<command-name>/compact</command-name>"`}
	for _, c := range []struct {
		records [][]string
		want    string
	}{
		{nil, ""},
		{[][]string{refused}, "Prompt is too long"},
		{[][]string{refused, command, {"user", `"<local-command-stderr>` + failed + `</local-command-stderr>"`}}, failed},
		{[][]string{refused, command, {"user", `"<local-command-stdout>x</local-command-stdout>"`}}, "Prompt is too long"},
		{[][]string{refused, {"user", `"go on"`}}, ""},
	} {
		data, parent := claude.Baseline, "1e2cd0ea-54c6-4bb8-9de7-85c5dec19c3c"
		for i, r := range c.records {
			uuid := fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
			data = fmt.Appendf(data[:len(data):len(data)], `{"parentUuid":%q,"uuid":%q,"sessionId":%q,"type":%q,"isApiErrorMessage":%t,"timestamp":"2026-11-22T20:00:0%dZ","message":{"role":%q,"content":%s}}`+"\n",
				parent, uuid, claude.Session, r[0], r[0] == "assistant", i, r[0], r[1])
			parent = uuid
		}
		if got := string(newCase(data).LastError); got != c.want {
			t.Errorf("%q: %q, want %q", c.records, got, c.want)
		}
	}
}
