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
	generated = flag.Int("generated", 30, "how many combinations of damages to make")
	seed      = flag.Uint64("seed", 1, "of the combinations")
)

// TestRealCombined makes two or three damages, one after the other: mend predicts what becomes of the session, repairs it, and undoes that.
func TestRealCombined(t *testing.T) {
	storetest.InTurn(t, 1)
	h := newHome(t)
	restore := h.Save()
	n := *generated
	if testing.Short() {
		n = 3
	}
	lives, all := 0, 0
	for i := range n {
		r := rand.New(rand.NewPCG(*seed, uint64(i))) //nolint:gosec // a test that can be repeated
		var chosen []fixture.Damage
		var names []string
		known := fixture.Damages()[1:]
		for range 2 + r.IntN(2) {
			d := known[r.IntN(len(known))]
			chosen, names = append(chosen, d), append(names, d.Name)
		}
		t.Run(fmt.Sprint(i, " ", strings.Join(names, ", ")), func(t *testing.T) {
			restore()
			h.Damage(chosen...)
			c := open(t, h, t.TempDir())
			heads, err := c.Sessions(t.Context())
			if err != nil || len(heads) != 1 {
				t.Skipf("%d sessions, %v", len(heads), err) // nothing says whose the file is
			}
			want, before := predicted(t, c, heads[0]), files(t, h)
			seen := h.Prompt(testdata.CodexSession, "one more")
			hidden := slices.ContainsFunc(chosen, func(d fixture.Damage) bool { return d.Fate == "O8" }) // only the provider knows
			if seen.Fate() != want && !hidden {
				t.Errorf("mend predicts %s, and it is %s: %s", want, seen.Fate(), seen.Message+seen.Output)
			}
			restore()
			h.Damage(chosen...)
			c = open(t, h, t.TempDir())
			var ids []string
			for range 3 {
				request := repair.Request{}
				if len(ids) > 0 || seen.Rule == "O8" {
					if r := h.Prompt(testdata.CodexSession, "one more"); r.Rule == "O8" {
						e := c.ParseAPIError([]byte(r.Message))
						request.Error, request.All = &e, true
					} else if r.Fate() == "alive" {
						break
					}
				}
				r, err := c.ProposeRepair(t.Context(), session(t, c), request)
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Plan.Ops) == 0 {
					break
				}
				ids = append(ids, apply(t, c, r.Plan))
				if len(ids) == 1 && seen.Rule != "O8" {
					undo(t, c, ids[0])
					if diff := gocmp.Diff(before, files(t, h)); diff != "" {
						t.Errorf("after the undo the store is another one: %s", diff)
					}
					r, err := c.ProposeRepair(t.Context(), session(t, c), request)
					if err != nil {
						t.Fatal(err)
					}
					apply(t, c, r.Plan)
				}
			}
			after := h.Prompt(testdata.CodexSession, "one more")
			gone := slices.ContainsFunc(chosen, func(d fixture.Damage) bool { return d.Name == "empty" || d.Name == "all NUL" })
			if seen.Fate() == "alive" || gone {
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
