package diagnose

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"mend/agent/opencode/record"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/repair"
)

var (
	draws    = flag.Int("draws", 0, "the number of random combinations of damages of TestCombinedDamage for each version, if not a few")
	drawSeed = flag.Uint64("draw-seed", 2, "the seed of these draws")
)

// TestCombinedDamage: damage that can be fixed alone can be fixed with other damage, or else set aside. No broken
// finding is left, and a second plan changes nothing.
func TestCombinedDamage(t *testing.T) {
	for _, c := range []struct {
		version int // of [damage.Versions]
		names   string
	}{
		{0, "empty answer without reasoning; prompt's text truncated"},
		{1, "empty answer without reasoning; prompt's text truncated"},
		{2, "empty answer without reasoning; prompt's text truncated"},
		{0, "time.created missing; part of NUL bytes"},
		{0, "text metadata null; time.created missing; empty text in a prompt; modelID missing; part of NUL bytes"},
		{0, "killed in reasoning; one of two calls of no bytes; modelID missing in the last prompt's model"},
		{0, "first prompt of no bytes; bad tool name; ids from both sides of the clock's wrap"},
		{0, "message truncated; ids from before the clock's wrap; killed between calls and answer"},
		{0, "ids from before the clock's wrap; killed in reasoning; killed in an answer; compacted"},
		{0, "tool metadata null; killed in two calls; ids from both sides of the clock's wrap"},
		{1, "completed by hand without anything; ids from both sides of the clock's wrap"},
		{1, "first prompt of no bytes; reasoning last in three answers; prompt's text of no bytes"},
		{1, "call under a part_ id; tool invalid; text after tool"},
		{2, "large attachment without output; message of NUL bytes; ids from both sides of the clock's wrap"},
	} {
		t.Run(damage.Versions[c.version]+"/"+c.names, func(t *testing.T) {
			if strings.HasPrefix(c.names, "large") { // takes as long as all others; TestDamages has this damage alone
				storetest.NeedAllCases(t)
			}
			fixCombined(t, c.version, strings.Split(c.names, "; "), false)
		})
	}
	for version := range damage.Versions {
		for n := range cmp.Or(*draws, storetest.Count(100, 1)) {
			r := rand.New(rand.NewPCG(*drawSeed, uint64(version)<<32+uint64(n)))
			var names []string
			for range 2 + r.IntN(5) {
				if name := damage.Table[r.IntN(len(damage.Table))].Name; !damage.AddsFile(name) {
					names = append(names, name)
				}
			}
			t.Run(fmt.Sprintf("%s/%d: %s", damage.Versions[version], n, strings.Join(names, "; ")), func(t *testing.T) {
				fixCombined(t, version, names, true)
			})
		}
	}
}

// fixCombined fixes all damage together. If it was drawn at random, findings without a fix are set aside.
func fixCombined(t *testing.T, version int, names []string, drawn bool) {
	s, o := damagedFixture(t, version, names)
	r, err := Plan(s, Request{Options: o, SetAside: drawn})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range r.Remaining {
		if d.Severity == repair.Broken {
			t.Errorf("Plan leaves %s %s: %s", d.Rule, d.Ref, d.WhyNot)
		}
	}
	if again, err := Plan(r.After, Request{Options: o}); err != nil || len(again.Plan.Ops) > 0 {
		t.Errorf("the second plan has %d ops, %v", len(again.Plan.Ops), err)
	}
}

// damagedFixture returns the fixture of a version with the damage, and the options for it.
func damagedFixture(t *testing.T, version int, names []string) (*record.Session, Options) {
	s := unpack(t, version, func(st damage.Store) {
		for _, name := range names {
			damage.ByName(t, name)(st)
		}
	}).load()
	return s, Options{Now: now, Version: damage.Versions[version], Missing: missing}
}
