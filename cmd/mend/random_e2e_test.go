//go:build e2e

package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"mend/internal/test/damage"
	"mend/internal/test/opencode"
)

var (
	seed         = flag.Uint64("seed", 1, "the seed of the random damages")
	combinations = flag.Int("combinations", 6, "how many sessions of each version get random damages")
)

// TestRandomDamages applies two to five random damages to one session. The prediction must be
// right, a repair must fix the session, and undo must restore it.
func TestRandomDamages(t *testing.T) {
	for i, version := range damage.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newAgentPool(t, i, 1)
			for n := range *combinations {
				t.Run(fmt.Sprint(n), func(t *testing.T) {
					t.Parallel()
					ts := newTestStore(t, i)
					names := ts.damageAtRandom(rand.New(rand.NewPCG(*seed, uint64(i)<<32+uint64(n))))
					t.Logf("-seed %d: %s", *seed, strings.Join(names, "; "))
					w.runDamaged(ts, len(names))
				})
			}
		})
	}
}

// damageAtRandom applies random damages, except those that would change nothing, and files beside the
// records, which mend reports and leaves.
func (ts *testStore) damageAtRandom(r *rand.Rand) []string {
	ts.Helper()
	var names []string
	for want := 2 + r.IntN(4); len(names) < want; {
		if w := damage.Table[r.IntN(len(damage.Table))]; !damage.AddsFile(w.Name) && ts.damage(w) {
			names = append(names, w.Name)
		}
	}
	return names
}

// runDamaged tests a session with that many damages.
func (w agentPool) runDamaged(ts *testStore, damages int) {
	ts.Helper()
	c := w.start(ts)
	c.checkPrediction()
	if c.before.Verdict == opencode.Alive {
		c.checkUntouched()
		c.repairUntilAlive(0, "--latent")
	} else {
		c.repairUntilAlive(damages + 1)
	}
	c.checkUndo()
}
