package mend_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"mend"
	"mend/agent"
	"mend/agent/opencode"
	"mend/internal/bigstore"
)

// planned plans the repair of a session of that shape and size.
func planned(tb testing.TB, shape bigstore.Shape, n int) func() int {
	tb.Helper()
	dir := tb.TempDir()
	id, err := bigstore.Growth(dir, shape, n)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := mend.Open(mend.Options{Agents: []agent.Agent{opencode.Agent{}}, Store: filepath.Join(dir, "opencode"), Journal: tb.TempDir(), Cache: tb.TempDir()})
	if err != nil {
		tb.Fatal(err)
	}
	head, err := c.Session(tb.Context(), id)
	if err != nil {
		tb.Fatal(err)
	}
	return func() int {
		r, err := c.ProposeRepair(tb.Context(), head, mend.RepairRequest{Latent: true, Force: true})
		if err != nil {
			tb.Fatal(err)
		}
		return len(r.Plan.Ops)
	}
}

// Every shape of which the growth is measured is one that a repair has work with.
func TestShapesNeedRepair(t *testing.T) {
	for _, shape := range bigstore.Shapes() {
		if planned(t, shape, 50)() == 0 {
			t.Errorf("%s: nothing is repaired", shape.Name)
		}
	}
}

// BenchmarkGrowth plans the repair of sessions that grow in one dimension each: no
// doubling should take more than 2.5 times the time.
func BenchmarkGrowth(b *testing.B) {
	for _, shape := range bigstore.Shapes() {
		for _, n := range shape.Sizes {
			b.Run(fmt.Sprintf("%s/%d", shape.Name, n), func(b *testing.B) {
				plan := planned(b, shape, n)
				for b.Loop() {
					plan()
				}
			})
		}
	}
}
