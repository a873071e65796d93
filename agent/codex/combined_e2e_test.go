//go:build e2e

package codex_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	fixture "mend/internal/test/codex"
	"mend/internal/test/storetest"
	"mend/repair"
	"mend/testdata"
)

var (
	generated = flag.Int("generated", 46, "how many combinations of damages to make")
	seed      = flag.Uint64("seed", 1, "of the combinations")
)

// TestRealCombined makes damages that are drawn, alone and in combinations of two and three with those of the table: mend predicts what
// becomes of the session, repairs it, and undoes that.
func TestRealCombined(t *testing.T) {
	storetest.InTurn(t, 1)
	h := newHome(t)
	restore := h.Save()
	healthy := h.Prompt(testdata.CodexSession, "one more")
	n := *generated
	if testing.Short() {
		n = 3
	}
	lives, all := 0, 0
	for i := range n {
		r := rand.New(rand.NewPCG(*seed, uint64(i))) //nolint:gosec // a test that can be repeated
		drawn, known := fixture.Drawn(r), fixture.Damages()[1:]
		chosen := []fixture.Damage{drawn[i%len(drawn)]}
		for range r.IntN(3) {
			if chosen = append(chosen, drawn[r.IntN(len(drawn))]); r.IntN(2) == 0 {
				chosen[len(chosen)-1] = known[r.IntN(len(known))]
			}
		}
		var names []string
		hidden, gone, index := false, false, false
		for _, d := range chosen {
			names = append(names, d.Name)
			hidden = hidden || d.Fate == "O8" // only the provider knows
			index = index || d.Index
			gone = gone || d.Name == "empty" || d.Name == "all NUL"
		}
		t.Run(fmt.Sprint(i, " ", strings.Join(names, ", ")), func(t *testing.T) {
			if !strings.Contains(t.Name(), *only) {
				t.Skip()
			}
			restore()
			h.Damage(chosen...)
			damaged := h.Save()
			c := open(t, h, t.TempDir())
			heads, err := c.Sessions(t.Context())
			if err != nil || len(heads) != 1 {
				t.Skipf("%d sessions, %v", len(heads), err) // nothing says whose the file is
			}
			want, items, before := predicted(t, c, heads[0]), expected(t, c, heads[0]), files(t, h)
			seen := h.Prompt(testdata.CodexSession, "one more")
			if hidden && seen.Rule == "O8" {
				want = "O8"
			}
			if seen.Fate() != want && (seen.Rule != "O3" || want != "alive") { // of a response without any record of its reasoning only the provider knows
				t.Errorf("mend predicts %s, and it is %s: %s", want, seen.Fate(), seen.Message+seen.Output)
			}
			for len(items) > len(seen.Items) && (strings.Contains(items[len(items)-1], "<environment_context>") || strings.Contains(items[len(items)-1], "<skills_instructions>")) {
				items = items[:len(items)-1] // the test leaves them out of what it saw
			}
			if diff := gocmp.Diff(items, short(seen.Items)); diff != "" && seen.Sent && seen.Rule != "O9" {
				t.Errorf("the request is another one (-predicted +seen):\n%s", diff)
			}
			damaged()
			c = open(t, h, t.TempDir())
			var ids []string
			for range 3 {
				request := repair.Request{}
				if len(ids) > 0 || seen.Rule != "" && want == "alive" || seen.Rule == "O8" {
					now := h.Save()
					r := h.Prompt(testdata.CodexSession, "one more")
					if now(); r.Fate() == "alive" {
						break
					}
					if p := predicted(t, c, session(t, c)); (p == "alive" || p == "O8") && r.Rule != "" { // only the provider knows
						e := c.ParseAPIError([]byte(r.Message))
						request.Error, request.All = &e, true
					}
				}
				r, err := c.ProposeRepair(t.Context(), session(t, c), request)
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Plan.Ops) == 0 {
					break
				}
				for _, f := range r.Fixed {
					t.Logf("%s: %s", f.Rule, f.Fix)
				}
				ids = append(ids, apply(t, c, r.Plan))
				if len(ids) == 1 {
					undo(t, c, ids[0])
					if diff := gocmp.Diff(before, files(t, h)); diff != "" {
						t.Errorf("after the undo the store is another one: %s", diff)
					}
					if r, err = c.ProposeRepair(t.Context(), session(t, c), request); err != nil {
						t.Fatal(err)
					}
					apply(t, c, r.Plan)
				}
			}
			if whole := len(lost(healthy.Items, seen.Items, false)) == 0 && len(seen.Items) == len(healthy.Items); whole && seen.Fate() == "alive" && !index && len(ids) > 0 {
				t.Error("it was healthy, and it was changed")
			}
			after := h.Prompt(testdata.CodexSession, "one more")
			missing := lost(seen.Items, after.Items, true)
			missing = slices.DeleteFunc(missing, func(it string) bool { return strings.Contains(it, `"output":"aborted"`) }) // the output is there again
			if seen.Fate() == "alive" && len(missing) > 0 {
				t.Errorf("after the repair the request lacks %s", strings.Join(missing, "\n"))
			}
			if gone || seen.Fate() == "alive" && after.Fate() == "alive" {
				return
			}
			if all++; after.Fate() == "alive" {
				lives++
			} else {
				t.Errorf("it was %s, and after the repair it is %s: %s", seen.Fate(), after.Fate(), after.Message+after.Output)
			}
		})
	}
	t.Logf("%d of %d that were dead or refused live again", lives, all)
}
