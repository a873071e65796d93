package mend_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"mend/agent"
	"mend/agent/opencode"
	"mend/internal/mend"
	"mend/internal/test/bigstore"
	"mend/internal/test/storetest"
	"mend/repair"
)

// planned returns a function that plans the repair of a session of that shape and size,
// and how many bytes the session has.
func planned(tb testing.TB, shape bigstore.Shape, n int) (plan func() int, size int64) {
	tb.Helper()
	dir := storetest.FastDir(tb)
	g, err := bigstore.GrowthTree(dir, shape, n)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := mend.Open(mend.Options{Agents: []agent.Agent{opencode.Agent{}}, Store: filepath.Join(dir, "opencode"), Journal: mend.OpenJournal(tb.TempDir()), Cache: tb.TempDir()})
	if err != nil {
		tb.Fatal(err)
	}
	head, err := c.Session(tb.Context(), g.Session)
	if err != nil {
		tb.Fatal(err)
	}
	return func() int {
		r, err := c.ProposeRepair(tb.Context(), head, repair.Request{Latent: true, Force: true})
		if err != nil {
			tb.Fatal(err)
		}
		return len(r.Plan.Ops)
	}, g.Bytes
}

// Every shape of which the growth is measured is one that a repair has work with.
func TestShapesNeedRepair(t *testing.T) {
	for _, shape := range bigstore.Shapes() {
		if plan, _ := planned(t, shape, 50); plan() == 0 {
			t.Errorf("%s: nothing is repaired", shape.Name)
		}
	}
}

// BenchmarkGrowth plans the repair of sessions that grow in one dimension each: no
// doubling should take more than 2.5 times the time. It also reports how many bytes are
// allocated for each byte of the session.
func BenchmarkGrowth(b *testing.B) {
	for _, shape := range bigstore.Shapes() {
		for _, n := range shape.Sizes {
			b.Run(fmt.Sprintf("%s/%d", shape.Name, n), func(b *testing.B) {
				plan, size := planned(b, shape, n)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				for b.Loop() {
					plan()
				}
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/float64(size), "allocated-B/session-B")
			})
		}
	}
}
