//go:build e2e

package claude_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/mend"
	fixture "mend/internal/test/claude"
)

// TestRealPrompts restores a session from its prompts alone: the real program opens it and sends them,
// and after the undo it finds no conversation.
func TestRealPrompts(t *testing.T) {
	cmd := install(t)
	h := fixture.NewHome(t, cmd)
	h.Put(fixture.Session, fixture.Baseline)
	work := filepath.Join(h.Dir(), "work")
	if r := h.Prompt(fixture.Session, prompt, true); !r.Answered { // the folder of the project exists then
		t.Fatal(r.Output)
	}
	must(t, os.Remove(h.File(fixture.Session)))
	var lines string
	for i, text := range []string{"fix the build", "now the tests"} {
		lines += `{"display":"` + text + `","pastedContents":{},"timestamp":` + []string{"1795362699315", "1795362706309"}[i] + `,"project":"` + work + `","sessionId":"` + fixture.Session + `"}` + "\n"
	}
	must(t, os.WriteFile(filepath.Join(h.Root(), "history.jsonl"), []byte(lines), 0o600))
	gone := h.Prompt(fixture.Session, prompt, true)
	if !strings.Contains(gone.Output, "No conversation found") {
		t.Fatalf("before: %s", gone.Output)
	}
	_ = os.Remove(h.File(fixture.Session))
	c := client(t, h)
	done, err := c.ProposeRestore(t.Context(), nil, change.Head{ID: fixture.Session}, mend.RestoreRequest{})
	if err != nil || done.State != mend.PromptsOnly {
		t.Fatalf("proposed: %+v, %v", done.State, err)
	}
	e, err := c.Apply(t.Context(), done.Plan)
	must(t, err)
	restored := h.Read(fixture.Session)
	after := h.Prompt(fixture.Session, prompt, true)
	for _, text := range []string{"deleted this conversation", "fix the build", "now the tests"} {
		isSent := func(b string) bool { return strings.HasPrefix(b, "user ") && strings.Contains(b, text) }
		if !after.Answered || !slices.ContainsFunc(after.Blocks, isSent) {
			t.Errorf("%q is not in the request: answered %t, %q\n%s", text, after.Answered, after.Blocks, after.Output)
		}
	}
	h.Put(fixture.Session, restored)
	undoEntry(t, c, e.ID, false)
	if _, err := os.Stat(h.File(fixture.Session)); err == nil {
		t.Error("after the undo the transcript is still there")
	}
}
