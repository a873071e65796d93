//go:build e2e

package codex_test

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	fixture "mend/internal/test/codex"
	"mend/internal/test/storetest"
	"mend/repair"
	"mend/testdata"
)

// TestRealSetAside sets aside a record that Codex does not read. Codex then accepts and continues the session. An
// undo restores each byte.
func TestRealSetAside(t *testing.T) {
	storetest.Long(t)
	h := newHome(t)
	restore := h.Save()
	for _, name := range []string{"a part of no known type", "a phase that is a number"} {
		t.Run(name, func(t *testing.T) {
			restore()
			h.Damage(fixture.ByName(name))
			c, before := open(t, h, t.TempDir()), files(t, h)
			if r, err := c.ProposeRepair(t.Context(), session(t, c), repair.Request{}); err != nil || len(r.Unfixable) == 0 {
				t.Errorf("without SetAside: fixed %+v, %v", r.Fixed, err)
			}
			r, err := c.ProposeRepair(t.Context(), session(t, c), repair.Request{SetAside: true})
			if err != nil || len(r.LeftOut) == 0 || len(r.Unfixable) > 0 {
				t.Fatalf("left out: %v, unfixable: %+v, %v", r.LeftOut, r.Unfixable, err)
			}
			id := apply(t, c, r.Plan)
			undo(t, c, id)
			if diff := gocmp.Diff(before, files(t, h)); diff != "" {
				t.Errorf("after the undo: %s", diff)
			}
			if r, err = c.ProposeRepair(t.Context(), session(t, c), repair.Request{SetAside: true}); err != nil {
				t.Fatal(err)
			}
			apply(t, c, r.Plan)
			for range 2 {
				if got := h.Prompt(testdata.CodexSession, "one more"); got.Fate() != "alive" {
					t.Errorf("the session is %s: %s", got.Fate(), got.Message+got.Output)
				}
			}
		})
	}
}
