//go:build e2e

package codex_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mend/change"
	"mend/internal/mend"
	fixture "mend/internal/test/codex"
	"mend/internal/test/storetest"
	"mend/repair"
	"mend/testdata"
)

// TestRealHistory: Codex has shown a damaged session, and stored what it showed with an offset in the rollout. After a
// repair, its undo and its redo Codex shows the whole session and the later prompts.
func TestRealHistory(t *testing.T) {
	storetest.Long(t)
	h := newHome(t)
	restore := h.Save()
	later := func(r *fixture.Rollout) { // the ordinal of the last prompt on the screen is the one before it
		for i := 61; i < len(r.Lines); i++ {
			r.Lines[i] = []byte(strings.Replace(string(r.Lines[i]), fmt.Sprintf(`"ordinal":%d`, i), fmt.Sprintf(`"ordinal":%d`, i-1), 1))
		}
	}
	for _, d := range []fixture.Damage{
		{Name: "an ordinal twice", Do: later}, fixture.ByName("answer twice"), fixture.ByName("two records on a line"), fixture.ByName("compressed, answer twice"),
	} {
		t.Run(d.Name, func(t *testing.T) {
			if testing.Short() && d.Name != "an ordinal twice" {
				t.Skip("a short run has one case")
			}
			restore()
			all, _ := filepath.Glob(filepath.Join(h.Root(), "thread_history_1.sqlite*"))
			for _, file := range all {
				must(t, os.Remove(file))
			}
			h.Damage(d)
			h.Prompt(testdata.CodexSession, "one more")
			c := open(t, h, t.TempDir())
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
			shown := []string{"say goodbye", "Hello 6.", "zero more", "one more"}
			prompt := func(text string) {
				t.Helper()
				if got := h.Prompt(testdata.CodexSession, text); got.Fate() != "alive" {
					t.Fatalf("the session is %s: %s", got.Fate(), got.Output)
				}
				shown = append(shown, text)
				screen(shown[len(shown)-4:]...)
			}
			r, err := c.ProposeRepair(t.Context(), session(t, c), repair.Request{Latent: true})
			if err != nil || len(r.Plan.Ops) == 0 {
				t.Fatalf("the plan has %d ops, error %v", len(r.Plan.Ops), err)
			}
			e, err := c.Apply(t.Context(), r.Plan)
			for range 50 { // a process of Codex may end a moment after its prompt
				if !errors.Is(err, change.ErrInUse) {
					break
				}
				time.Sleep(100 * time.Millisecond)
				e, err = c.Apply(t.Context(), r.Plan)
			}
			must(t, err)
			screen(shown...)
			prompt("two more")
			for _, redo := range []bool{false, true} {
				p, err := c.ProposeUndo(t.Context(), mend.UndoRequest{IDs: []string{e.ID}, Redo: redo})
				must(t, err)
				apply(t, c, p)
				if redo {
					screen(shown...)
				}
			}
			prompt("three more")
		})
	}
}
