//go:build e2e

package claude_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/agent/claude/diagnose"
	"mend/change"
	fixture "mend/internal/test/claude"
	"mend/repair"
)

// TestRealUncompact removes a compaction that preserves messages, and one that does not: the real program sends the
// whole history, each block once. The undo restores the transcript.
func TestRealUncompact(t *testing.T) {
	onVersions(t, func(t *testing.T, version string, h *fixture.Home) {
		for _, damage := range []string{"preserved messages named by their ends", "compaction that preserves nothing"} {
			if testing.Short() && version != fixture.Versions[0] {
				t.Skip("the newest version is the sample")
			}
			testUncompact(t, version, h, fixture.ByName(damage).Broken())
		}
	})
}

func testUncompact(t *testing.T, version string, h *fixture.Home, data []byte) {
	t.Helper()
	h.Put(fixture.Session, data)
	before := h.Prompt(fixture.Session, prompt, true)
	h.Put(fixture.Session, data)
	c := clientOf(t, h, version)
	head, err := c.Session(t.Context(), fixture.Session)
	must(t, err)
	u, err := c.ProposeUncompact(t.Context(), head, repair.UncompactRequest{})
	must(t, err)
	e, err := c.Apply(t.Context(), u.Plan)
	must(t, err)
	stored := h.Read(fixture.Session)
	if !bytes.HasPrefix(stored, data) || bytes.Count(stored, []byte("\n")) > bytes.Count(data, []byte("\n"))+2 {
		t.Errorf("more than a line and the leaf are appended: %d bytes before, %d after", len(data), len(stored))
	}
	after := h.Prompt(fixture.Session, prompt, true)
	ref := change.Ref{Kind: change.KindSession, Project: "-home-user", Session: fixture.Session}
	want := fixture.Expected(diagnose.StateOf(diagnose.New(diagnose.Source{Ref: ref, Data: stored, Version: version})))
	if diff := cmp.Diff(want, after.Blocks); diff != "" || !after.Answered {
		t.Errorf("answered %t, the request differs (-expected +real):\n%s", after.Answered, diff)
	}
	for _, b := range before.Blocks {
		if n := strings.Count(strings.Join(after.Blocks, "\n"), b); n != 1 {
			t.Errorf("a block that was sent before is now sent %d times: %s", n, b)
		}
	}
	if len(after.Blocks) < len(before.Blocks)+40 {
		t.Errorf("%d blocks before, %d after", len(before.Blocks), len(after.Blocks))
	}
	h.Put(fixture.Session, stored)
	checkUndo(t, c, h, fixture.Session, e.ID, data)
}
