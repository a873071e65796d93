package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/claude"
	"mend/internal/test/storetest"
)

// largeTranscript is the size in bytes from which a damaged transcript is tested only with MEND_SWEEP=all: one of 35 MB
// takes as long as all others.
const largeTranscript = 1 << 20

// TestScanAfterRepair: after a repair that exits with 0, scan reports no broken session, also if another program has
// changed the line ends of the transcript.
func TestScanAfterRepair(t *testing.T) {
	t.Parallel()
	storetest.Long(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	ends := [][]byte{[]byte("\r"), []byte("\r\n"), []byte(" "), {}, {0}, []byte("\u2028")}
	done, repaired := 0, 0
	for _, d := range claude.Damages {
		if !storetest.AllCases() && !claude.Everyday(d.Name) {
			continue
		}
		end, share := ends[rnd.IntN(len(ends))], []float64{0.1, 0.6, 1}[rnd.IntN(3)]
		data := d.Broken()
		if len(data) > largeTranscript && !storetest.AllCases() {
			continue
		}
		lines := bytes.SplitAfter(data, []byte("\n"))
		for i, line := range lines {
			if rnd.Float64() < share {
				lines[i] = append(bytes.TrimSuffix(slices.Clone(line), []byte("\n")), end...)
			}
		}
		dir := t.TempDir()
		store, journal := filepath.Join(dir, ".claude"), filepath.Join(dir, "journal")
		path := filepath.Join(store, "projects/-home-user-project", claude.Session+".jsonl")
		old := time.Now().Add(-time.Hour)
		for _, err := range []error{os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, bytes.Join(lines, nil), 0o600), os.Chtimes(path, old, old)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		code, out := runMend(t, store, journal, "repair", "--yes")
		after, found := runMend(t, store, journal, "scan")
		done++
		if code == frame.ExitDone {
			repaired++
			if after != frame.ExitDone {
				t.Errorf("%s, %.0f %% of the lines end with %q: repair exits with 0, then scan with %d\n%s\n%s", d.Name, share*100, end, after, out, found)
			}
		}
	}
	t.Logf("%d of %d repaired", repaired, done)
	if repaired == 0 {
		t.Error("none was repaired")
	}
}
