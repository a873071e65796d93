package mend_test

import (
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

// TestGrowth: the plan of a repair allocates at most 2.5 times as many bytes for a session of twice the size, whatever
// grows.
func TestGrowth(t *testing.T) {
	storetest.Long(t)
	for _, shape := range bigstore.Shapes() {
		t.Run(shape.Name, func(t *testing.T) {
			small, large := allocatedBytes(t, shape, shape.Small), allocatedBytes(t, shape, 2*shape.Small)
			if large > 2.5*small {
				t.Errorf("%.1f MB for the size %d, %.1f MB for twice that", small/1e6, shape.Small, large/1e6)
			}
		})
	}
}

// allocatedBytes returns how many bytes are allocated to plan the repair of a session of that shape and size.
func allocatedBytes(t *testing.T, shape bigstore.Shape, n int) float64 {
	t.Helper()
	dir := storetest.FastDir(t)
	id, err := bigstore.GrowthTree(dir, shape, n)
	if err != nil {
		t.Fatal(err)
	}
	c, err := mend.Open(mend.Options{
		Agents: []agent.Agent{opencode.Agent{}}, Store: filepath.Join(dir, "opencode"),
		Journal: mend.OpenJournal(t.TempDir()), Cache: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	head, err := c.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := c.ProposeRepair(t.Context(), head, repair.Request{Latent: true, Force: true})
	runtime.ReadMemStats(&after)
	if err != nil || len(r.Plan.Ops) == 0 {
		t.Fatalf("%d records are changed, %v", len(r.Plan.Ops), err)
	}
	return float64(after.TotalAlloc - before.TotalAlloc)
}
