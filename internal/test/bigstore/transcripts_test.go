package bigstore

import (
	"os"
	"path/filepath"
	"testing"
)

// The same seed gives the same transcripts, about 100 KB each.
func TestTranscripts(t *testing.T) {
	const n = 12
	var sums [2]int64
	for i := range sums {
		dir := t.TempDir()
		if err := Transcripts(dir, n, 1); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "projects", "*", "*.jsonl"))
		if err != nil || len(files) != n {
			t.Fatalf("%d files, %v", len(files), err)
		}
		for _, f := range files {
			info, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			sums[i] += info.Size()
		}
	}
	if sums[0] != sums[1] || sums[0] < n*20_000 || sums[0] > n*300_000 {
		t.Errorf("%d transcripts have %v bytes", n, sums)
	}
}
