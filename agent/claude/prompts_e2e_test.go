//go:build e2e

package claude_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/agent"
	"mend/agent/claude"
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
	if err := os.Remove(h.File(fixture.Session)); err != nil {
		t.Fatal(err)
	}
	var lines string
	for i, text := range []string{"fix the build", "now the tests"} {
		lines += `{"display":"` + text + `","pastedContents":{},"timestamp":` + []string{"1795362699315", "1795362706309"}[i] + `,"project":"` + work + `","sessionId":"` + fixture.Session + `"}` + "\n"
	}
	if err := os.WriteFile(filepath.Join(h.Root(), "history.jsonl"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	gone := h.Prompt(fixture.Session, prompt, true)
	if !strings.Contains(gone.Output, "No conversation found") {
		t.Fatalf("before: %s", gone.Output)
	}
	_ = os.Remove(h.File(fixture.Session))
	c, err := mend.Open(mend.Options{Agents: []agent.Agent{claude.Agent{}}, Store: h.Root(), Journal: mend.OpenJournal(filepath.Join(t.TempDir(), "journal"))})
	if err != nil {
		t.Fatal(err)
	}
	done, err := c.ProposeRestore(t.Context(), nil, change.Head{ID: fixture.Session}, mend.RestoreRequest{})
	if err != nil || done.State != mend.PromptsOnly {
		t.Fatalf("proposed: %+v, %v", done.State, err)
	}
	e, err := c.Apply(t.Context(), done.Plan)
	if err != nil {
		t.Fatal(err)
	}
	restored := h.Read(fixture.Session)
	after := h.Prompt(fixture.Session, prompt, true)
	for _, text := range []string{"deleted this conversation", "fix the build", "now the tests"} {
		isSent := func(b string) bool { return strings.HasPrefix(b, "user ") && strings.Contains(b, text) }
		if !after.Answered || !slices.ContainsFunc(after.Blocks, isSent) {
			t.Errorf("%q is not in the request: answered %t, %q\n%s", text, after.Answered, after.Blocks, after.Output)
		}
	}
	h.Put(fixture.Session, restored)
	p, err := c.ProposeUndo(t.Context(), mend.UndoRequest{IDs: []string{e.ID}})
	if err == nil {
		_, err = c.Apply(t.Context(), p)
	}
	if _, serr := os.Stat(h.File(fixture.Session)); err != nil || serr == nil {
		t.Errorf("undone: %v, and the transcript is there: %t", err, serr == nil)
	}
}
