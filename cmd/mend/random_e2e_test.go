//go:build e2e

package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"mend/internal/opencode"
	"mend/internal/wound"
)

var (
	seed         = flag.Uint64("seed", 1, "the seed of the random wounds")
	combinations = flag.Int("combinations", 6, "how many sessions of each version get random wounds")
)

// Two to five random wounds in one session: what mend says of it is what becomes
// of it, it can be cured, and the cure can be taken back.
func TestRandomWounds(t *testing.T) {
	for i, version := range wound.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newWard(t, i, 1)
			for n := range *combinations {
				t.Run(fmt.Sprint(n), func(t *testing.T) {
					t.Parallel()
					p := newPatient(t, i)
					names := p.wounds(rand.New(rand.NewPCG(*seed, uint64(i)<<32+uint64(n))))
					t.Logf("-seed %d: %s", *seed, strings.Join(names, "; "))
					w.takeAll(p, len(names))
				})
			}
		})
	}
}

// wounds cuts random wounds, and skips those for which there is nothing left to
// cut.
func (p *patient) wounds(r *rand.Rand) []string {
	p.Helper()
	var names []string
	for want := 2 + r.IntN(4); len(names) < want; {
		if w := wound.Table[r.IntN(len(wound.Table))]; p.cut(w) {
			names = append(names, w.Name)
		}
	}
	return names
}

// takeAll takes a session with that many wounds through all.
func (w ward) takeAll(p *patient, wounds int) {
	p.Helper()
	c := w.admit(p)
	c.predict()
	if c.before.Verdict == opencode.Alive {
		c.untouched()
		c.cure(0, "--latent")
	} else {
		c.cure(wounds + 1)
	}
	c.back()
}
