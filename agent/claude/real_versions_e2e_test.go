//go:build e2e

package claude_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	fixture "mend/internal/claude"
	"mend/jsonedit"
	"mend/repair"
)

// cycle checks what the program sends of a session that it wrote itself: mend finds nothing in it.
// Then one record loses its parent; the repair gives back all blocks, and the undo
// all bytes.
func cycle(t *testing.T, h *fixture.Home, version, session, text string) {
	t.Helper()
	written := h.Read(session)
	c := clientOf(t, h, version)
	if id, r, err := c.Repair(t.Context(), session, repair.Request{}); err != nil || id != "" || len(r.Remaining) > 0 {
		t.Errorf("%s: Repair of what is healthy = %q, %v, %v", version, id, r.Remaining, err)
	}
	healthy := h.Prompt(session, prompt, true)
	broken := withoutParent(t, written, text, version)
	h.Put(session, broken)
	before := h.Prompt(session, prompt, true)
	h.Put(session, broken)
	id, r, err := c.Repair(t.Context(), session, repair.Request{})
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

// withoutParent takes its parent from the prompt with a text. 2.1 would replace a parent that is not
// there if the record before is not older than 5 s; with older versions a prompt that names none
// may be where the user went back to the beginning.
func withoutParent(t *testing.T, data []byte, text, version string) []byte {
	t.Helper()
	parent := "null"
	if version != fixture.Versions[0] {
		parent = `"00000000-0000-4000-8000-000000000000"`
	}
	lines := bytes.Split(data, []byte("\n"))
	for i, l := range lines {
		if kind, _ := jsonedit.Get(l, "type"); string(kind) != `"user"` || !bytes.Contains(l, []byte(text)) {
			continue
		}
		to, err := jsonedit.Set(l, []byte(parent), "parentUuid")
		if err != nil {
			t.Fatal(err)
		}
		lines[i] = to
		return bytes.Join(lines, []byte("\n"))
	}
	t.Fatalf("no prompt has the text %q:\n%s", text, data)
	return nil
}

// TestRealUpgrade goes on with one session in each version, the oldest first, and back. Where a
// version does not, it does after a repair.
func TestRealUpgrade(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short")
	}
	up := slices.Clone(fixture.Versions)
	slices.Reverse(up)
	homes := map[string]*fixture.Home{}
	h := fixture.NewHome(t, nil)
	for _, v := range up {
		cmd, err := fixture.Install(v)
		if err != nil {
			t.Skip(err)
		}
		homes[v] = h.With(cmd)
	}
	for i, v := range append(up, fixture.Versions[1:]...) {
		text := fmt.Sprintf(`prompt%d CALL [["Bash",{"command":"echo %d"}]]END`, i, i)
		if i > 0 {
			c, written := clientOf(t, h, v), h.Read(fixture.Session)
			id, r, err := c.Repair(t.Context(), fixture.Session, repair.Request{})
			if err != nil || len(r.Remaining) > 0 {
				t.Fatalf("before %s: Repair = %v, %v", v, r.Remaining, err)
			}
			if id != "" { // it is refused as it is
				repaired := h.Read(fixture.Session)
				h.Put(fixture.Session, written)
				if reply := homes[v].Prompt(fixture.Session, text, true); reply.Answered {
					t.Errorf("%s goes on with the session, and mend finds %v", v, r.Fixed)
				}
				t.Logf("before prompt %d %s needs a repair: %v", i, v, r.Fixed)
				h.Put(fixture.Session, repaired)
			}
		}
		if r := homes[v].Prompt(fixture.Session, text, i > 0); !r.Answered {
			t.Fatalf("%s does not go on with the session: %s", v, r.Output)
		}
		if id, r, err := clientOf(t, h, v).Repair(t.Context(), fixture.Session, repair.Request{}); err != nil || id != "" || len(r.Remaining) > 0 {
			t.Errorf("behind %s: Repair = %q, %v, %v, want nothing to do", v, id, r.Remaining, err)
		}
	}
	for _, v := range up {
		cycle(t, homes[v], v, fixture.Session, "prompt2")
	}
}

// TestRealFork forks a session.
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
	cycle(t, h, *version, ids[0], "P4fourth")
}

// TestRealCompact compacts a session, and goes on with it. What its compaction preserved comes
// back when the record that says so is torn, and the past when the compaction is undone.
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
		if r := h.Prompt(fixture.Session, fmt.Sprintf("behind%d", i), true); !r.Answered {
			t.Fatal(r.Output)
		}
	}
	t.Logf("preserves messages: %t", bytes.Contains(h.Read(fixture.Session), []byte(`"preservedMessages"`)))
	cycle(t, h, *version, fixture.Session, "behind1")
}
