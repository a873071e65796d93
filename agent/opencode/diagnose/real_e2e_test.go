//go:build e2e

package diagnose

import (
	"os"
	"path/filepath"
	"testing"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/change"
	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/repair"
	"mend/testdata"
)

// realHome returns a temporary home of the real program of a version, given by its number, with the fixture after a
// damage.
func realHome(t *testing.T, version int, apply func(damage.Store)) (*opencode.Home, stored) {
	t.Helper()
	exe, err := opencode.Install(damage.Versions[version])
	if err != nil {
		t.Fatal(err)
	}
	api := endpoint.New(nil)
	t.Cleanup(api.Close)
	h := opencode.New(t, exe, api, true)
	id := h.Unpack([][]byte{testdata.OpenCode1153, testdata.OpenCode1227, testdata.OpenCode11833}[version])
	apply(h.Store(id))
	st := stored{t, filepath.Join(h.DataDir(), "opencode.db"), id}
	if _, err := os.Stat(st.path); err != nil {
		st.path = filepath.Join(h.DataDir(), "storage")
	}
	return h, st
}

func wantVerdict(t *testing.T, h *opencode.Home, st stored, want string) {
	t.Helper()
	if r := h.Continue(st.id, "one more"); r.Verdict != want {
		t.Fatalf("the prompt is %s, want %s; the program wrote:\n%.1000s", r.Verdict, want, r.Output)
	}
}

// testFix fixes a session of the real program. A prompt has the verdict before the fix, and is answered after it.
func testFix(t *testing.T, version int, apply func(damage.Store), verdict, code string, fixes func(*record.Session, finding) []repair.Fix) {
	t.Helper()
	h, st := realHome(t, version, apply)
	wantVerdict(t, h, st, verdict)
	before := st.load()
	after := applyFixes(before, code, fixes)
	if after == nil {
		t.Fatalf("no fix removes %s", code)
	}
	st.wantUndone(before, after)
	st.apply(change.Diff(before.AllRecords, after.AllRecords))
	wantVerdict(t, h, st, opencode.Alive)
	wantVerdict(t, h, st, opencode.Alive)
}

// TestRealClock: versions that order messages by id answer no prompt in a session with ids from before the wrap of the
// clock. After the repair they answer.
func TestRealClock(t *testing.T) {
	for version, name := range damage.Versions[:2] {
		for what, n := range map[string]int{"all": damage.Goodbye, "some": damage.Hello} {
			if version == 1 && what == "some" {
				continue // this version reads only the newest answer
			}
			t.Run(name+"/"+what, func(t *testing.T) {
				apply := func(s damage.Store) {
					addReferences(s)
					idsBeforeWrap(n)(s)
				}
				testFix(t, version, apply, opencode.Dead, render.FailureClock, allFixes)
			})
		}
	}
}

// TestRealFirstPrompt: a conversation that starts with an answer is refused, and is accepted after the repair.
func TestRealFirstPrompt(t *testing.T) {
	for version, name := range damage.Versions {
		t.Run(name, func(t *testing.T) {
			testFix(t, version, func(s damage.Store) { dropMessages(s, damage.FirstPrompt) }, "R16", "R16", allFixes)
		})
	}
}

// TestRealLostPrompt: a prompt that is lost in the middle is not a finding.
func TestRealLostPrompt(t *testing.T) {
	for version, name := range damage.Versions {
		t.Run(name, func(t *testing.T) {
			h, st := realHome(t, version, func(s damage.Store) {
				dropMessages(s, damage.SecondPrompt)
			})
			wantVerdict(t, h, st, opencode.Alive)
			if counts, _ := faults(st.load(), ""); len(counts) > 0 {
				t.Errorf("faults: %v", counts)
			}
		})
	}
}
