//go:build e2e

package main

import (
	"maps"
	"testing"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/damage"
)

// TestRealSetAside: after a part of an unknown type was set aside, the real OpenCode shows and continues the session.
// OpenCode 1.18 cannot show it before.
func TestRealSetAside(t *testing.T) {
	for i, version := range damage.Versions {
		t.Run(version, func(t *testing.T) {
			ts := newTestStore(t, i)
			damage.Edit(ts, ts.path, ts.session, unknownPart)
			c := &trial{testStore: ts, agents: newAgentPool(t, i, 1), damaged: ts.snapshot()}
			before := c.promptListed()
			if (before.Verdict == damage.Alive) != (i < 2) {
				t.Errorf("before it is %s: %.800s", before.Verdict, before.Output)
			}
			if code, out := ts.mend("repair", ts.session, "--set-aside", "--at-risk", "--yes"); code != frame.ExitDone {
				t.Fatalf("exit code %d:\n%s", code, out)
			}
			if r := c.promptListed(); r.Verdict != damage.Alive {
				t.Errorf("after it is set aside it is %s: %.800s", r.Verdict, r.Output)
			}
			if code, out := ts.mend("undo", "--yes"); code != frame.ExitDone || !maps.Equal(ts.snapshot(), c.damaged) {
				t.Errorf("the undo: exit code %d, the store is as before: %t\n%s", code, maps.Equal(ts.snapshot(), c.damaged), out)
			}
		})
	}
}
