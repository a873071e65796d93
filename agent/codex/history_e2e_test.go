//go:build e2e

package codex_test

import (
	"strings"
	"testing"

	fixture "mend/internal/test/codex"
	"mend/internal/test/storetest"
	"mend/repair"
	"mend/testdata"
)

// TestRealHistory checks that thread_history_1.sqlite, the database with what the program shows of a session, does not
// matter to a repair. The database has offsets in the rollout, which a repair changes; the screen still shows all
// earlier and later messages.
func TestRealHistory(t *testing.T) {
	storetest.Long(t)
	h := newHome(t)
	restore := h.Save()
	for _, name := range []string{"two records on a line", "all ordinals missing", "answer twice", "compressed, answer twice"} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "answer twice" {
				t.Skip("one is the sample")
			}
			restore()
			h.Damage(fixture.ByName(name))
			c := open(t, h, t.TempDir())
			r, err := c.ProposeRepair(t.Context(), session(t, c), repair.Request{})
			if err != nil || len(r.Plan.Ops) == 0 {
				t.Fatalf("the plan has %d ops, error %v", len(r.Plan.Ops), err)
			}
			apply(t, c, r.Plan)
			screen := func(texts ...string) {
				t.Helper()
				missing := ""
				shown, kill := h.Screen(func(shown string) bool {
					missing = ""
					for _, s := range texts {
						if !strings.Contains(shown, s) {
							missing = s
						}
					}
					return missing == ""
				}, "resume", "--no-daemon", testdata.CodexSession)
				kill()
				if missing != "" {
					t.Errorf("the screen lacks %q:\n%s", missing, shown)
				}
			}
			screen("say hello", "Hello 3.", "say goodbye", "Hello 6.", "zero more")
			if got := h.Prompt(testdata.CodexSession, "one more"); got.Fate() != "alive" {
				t.Fatalf("it is %s: %s", got.Fate(), got.Output)
			}
			screen("say goodbye", "Hello 6.", "zero more", "one more")
		})
	}
}
