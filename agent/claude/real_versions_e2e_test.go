//go:build e2e

package claude_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mend/internal/jsonedit"
	fixture "mend/internal/test/claude"
)

// breakAndRepair tests a session that Claude Code wrote: mend finds nothing in it. Then the prompt with a text loses
// its parent. After the repair all blocks are sent again, and the undo restores all bytes.
func breakAndRepair(t *testing.T, h *fixture.Home, version, session, text string) {
	t.Helper()
	written := h.Read(session)
	c := clientOf(t, h, version)
	if id, r, err := repairSession(t, c, session); err != nil || id != "" || len(r.Remaining) > 0 {
		t.Errorf("%s: Repair of a healthy session = %q, %v, %v", version, id, r.Remaining, err)
	}
	healthy := h.Prompt(session, prompt, true)
	broken := withoutParent(t, written, text)
	h.Put(session, broken)
	before := h.Prompt(session, prompt, true)
	h.Put(session, broken)
	id, r, err := repairSession(t, c, session)
	if err != nil || id == "" || len(r.Remaining) > 0 {
		t.Fatalf("%s: Repair = %q, %v, %v", version, id, r.Remaining, err)
	}
	repaired := h.Read(session)
	after := h.Prompt(session, prompt, true)
	t.Logf("%s: %d blocks, broken %d, repaired %d", version, len(healthy.Blocks), len(before.Blocks), len(after.Blocks))
	if !healthy.Answered || !after.Answered || before.Answered && len(before.Blocks) >= len(healthy.Blocks) {
		t.Errorf("%s: answered %t, broken: %d of %d blocks, repaired: answered %t: %s", version, healthy.Answered, len(before.Blocks), len(healthy.Blocks), after.Answered, after.Output)
	}
	if diff := gocmp.Diff(healthy.Blocks, after.Blocks); diff != "" {
		t.Errorf("%s: after the repair the request differs (-healthy +repaired):\n%s", version, diff)
	}
	h.Put(session, repaired)
	checkUndo(t, c, h, session, id, broken)
	h.Put(session, written)
}

// withoutParent removes the parent of the prompt with a text. If it named a missing parent instead, Claude Code would
// use the record before, unless that is more than 5 s older.
func withoutParent(t *testing.T, data []byte, text string) []byte {
	t.Helper()
	lines := bytes.Split(data, []byte("\n"))
	for i, l := range lines {
		if kind, _ := jsonedit.Get(l, "type"); string(kind) != `"user"` || !bytes.Contains(l, []byte(text)) {
			continue
		}
		without, err := jsonedit.Remove(l, "parentUuid") // null would begin a conversation
		must(t, err)
		lines[i] = without
		return bytes.Join(lines, []byte("\n"))
	}
	t.Fatalf("no prompt has the text %q:\n%s", text, data)
	return nil
}

// TestRealFork breaks and repairs a fork of a session.
func TestRealFork(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short")
	}
	h := fixture.NewHome(t, install(t))
	h.Put(fixture.Session, fixture.Baseline)
	if r := h.Prompt(fixture.Session, "in the fork", true, "--fork-session"); !r.Answered {
		t.Fatal(r.Output)
	}
	ids := slices.DeleteFunc(h.Sessions(), func(id string) bool { return id == fixture.Session || len(id) != len(fixture.Session) })
	if len(ids) != 1 || !bytes.Equal(h.Read(fixture.Session), fixture.Baseline) {
		t.Fatalf("the fork is %q", ids)
	}
	breakAndRepair(t, h, *version, ids[0], "P4fourth")
}

// TestRealCompact breaks and repairs a session that was compacted and continued.
func TestRealCompact(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short")
	}
	h := fixture.NewHome(t, install(t))
	h.Put(fixture.Session, fixture.Baseline)
	if r := h.Prompt(fixture.Session, "/compact", true); !bytes.Contains(h.Read(fixture.Session), []byte(`"compact_boundary"`)) {
		t.Skipf("the session was not compacted: %s", r.Output)
	}
	for i := range 2 {
		if r := h.Prompt(fixture.Session, fmt.Sprintf("after%d", i), true); !r.Answered {
			t.Fatal(r.Output)
		}
	}
	t.Logf("preserves messages: %t", bytes.Contains(h.Read(fixture.Session), []byte(`"preservedMessages"`)))
	breakAndRepair(t, h, *version, fixture.Session, "after1")
}
