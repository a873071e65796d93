package mend

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mend/agent"
	agentclaude "mend/agent/claude"
	"mend/internal/claude"
	"mend/internal/storetest"
	"mend/repair"
	"mend/session"
)

// TestScanAfterRepair: after a repair that leaves nothing broken, scan finds nothing broken, also in a transcript
// in which line ends were changed.
func TestScanAfterRepair(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	ends := [][]byte{[]byte("\r"), []byte("\r\n"), []byte(" "), {}, []byte("\n\n"), {0}, []byte("\u2028")}
	type transcript struct {
		name string
		data []byte
	}
	var all []transcript
	for _, d := range claude.Damages {
		all = append(all, transcript{d.Name, d.Broken()})
	}
	for seed := range uint64(storetest.Count(100, 20)) {
		all = append(all, transcript{fmt.Sprint("generated ", seed), claude.Generate(seed).Data})
	}
	for _, tr := range all {
		end, share := ends[rnd.IntN(len(ends))], []float64{0.1, 0.6, 1}[rnd.IntN(3)]
		lines := bytes.SplitAfter(tr.data, []byte("\n"))
		for i, line := range lines {
			if rnd.Float64() < share {
				lines[i] = append(bytes.TrimSuffix(slices.Clone(line), []byte("\n")), end...)
			}
		}
		checkScanAfterRepair(t, fmt.Sprintf("%s, %.0f %% of the lines end with %q", tr.name, share*100, end), bytes.Join(lines, nil))
	}
}

func checkScanAfterRepair(t *testing.T, name string, data []byte) {
	t.Helper()
	dir, err := os.MkdirTemp("", "mend")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	folder := filepath.Join(dir, ".claude/projects/-home-user-project")
	path := filepath.Join(folder, claude.Session+".jsonl")
	old := time.Now().Add(-time.Hour)
	for _, err := range []error{os.MkdirAll(folder, 0o700), os.WriteFile(path, data, 0o600), os.Chtimes(path, old, old)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := Open(Options{Agents: []agent.Agent{agentclaude.Agent{}}, Store: filepath.Join(dir, ".claude"), Journal: filepath.Join(dir, "journal"), Cache: filepath.Join(dir, "cache")})
	if err != nil {
		t.Fatal(err)
	}
	heads, err := c.Sessions(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, h := range heads {
		r, err := c.ProposeRepair(t.Context(), h, repair.Request{})
		if err != nil || len(r.Plan.Ops) == 0 {
			continue
		}
		if _, err := c.Apply(t.Context(), r.Plan); err != nil {
			t.Errorf("%s: Apply = %v", name, err)
			continue
		}
		after, err := c.Session(t.Context(), h.ID)
		if err != nil {
			t.Errorf("%s: after the repair: %v", name, err)
			continue
		}
		for f := range c.Scan(t.Context(), []session.Head{after}) {
			said := slices.ContainsFunc(r.Remaining, func(d repair.Diagnosis) bool { return d.Severity == repair.Broken })
			if f.Severity() == repair.Broken && !said {
				t.Errorf("%s: broken after a repair that left nothing broken: %v %v", name, f.Err, f.Diagnoses)
			}
		}
	}
}
