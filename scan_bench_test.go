package mend_test

import (
	"path/filepath"
	"testing"

	"mend"
	"mend/agent"
	"mend/agent/opencode"
	"mend/internal/bigstore"
)

func BenchmarkScanTree(b *testing.B)       { benchmarkScan(b, bigstore.Tree, bigstore.Plain) }
func BenchmarkScanTreeVaried(b *testing.B) { benchmarkScan(b, bigstore.Tree, bigstore.Varied) }
func BenchmarkScanDatabase(b *testing.B)   { benchmarkScan(b, bigstore.Database, bigstore.Plain) }

func BenchmarkScanDatabaseVaried(b *testing.B) { benchmarkScan(b, bigstore.Database, bigstore.Varied) }

// The diagnosis of every session of a store of 20,000 parts.
func benchmarkScan(b *testing.B, write func(string, bigstore.Mix, int, uint64) error, mix bigstore.Mix) {
	dir := b.TempDir()
	if err := write(dir, mix, 20_000, 1); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		c, err := mend.Open(mend.Options{Agents: []agent.Agent{opencode.Agent{}}, Store: filepath.Join(dir, "opencode"), Journal: b.TempDir(), Cache: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		heads, err := c.Sessions(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for f := range c.Scan(b.Context(), heads) {
			if f.Err != nil {
				b.Fatal(f.Err)
			}
			n++
		}
		if n < 10 {
			b.Fatalf("%d sessions scanned", n)
		}
	}
}
