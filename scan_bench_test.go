package mend_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"mend"
	"mend/agent"
	"mend/agent/claude"
	"mend/agent/opencode"
	"mend/internal/bigstore"
	"mend/repair"
	"mend/session"
)

func BenchmarkScanTree(b *testing.B)       { benchmarkScan(b, bigstore.Tree, bigstore.Plain) }
func BenchmarkScanTreeVaried(b *testing.B) { benchmarkScan(b, bigstore.Tree, bigstore.Varied) }
func BenchmarkScanDatabase(b *testing.B)   { benchmarkScan(b, bigstore.Database, bigstore.Plain) }

func BenchmarkScanDatabaseVaried(b *testing.B) { benchmarkScan(b, bigstore.Database, bigstore.Varied) }

// BenchmarkScanTranscripts scans 100 transcripts of Claude Code, of 10 MB.
func BenchmarkScanTranscripts(b *testing.B) {
	dir := filepath.Join(b.TempDir(), ".claude")
	if err := bigstore.Transcripts(dir, 100, 1); err != nil {
		b.Fatal(err)
	}
	benchmarkScanOf(b, claude.Agent{}, dir)
}

// The diagnosis of every session of a store of 20,000 parts.
func benchmarkScan(b *testing.B, write func(string, bigstore.Mix, int, uint64) error, mix bigstore.Mix) {
	dir := b.TempDir()
	if err := write(dir, mix, 20_000, 1); err != nil {
		b.Fatal(err)
	}
	benchmarkScanOf(b, opencode.Agent{}, filepath.Join(dir, "opencode"))
}

func benchmarkScanOf(b *testing.B, a agent.Agent, store string) {
	b.ReportAllocs()
	for b.Loop() {
		c, err := mend.Open(mend.Options{Agents: []agent.Agent{a}, Store: store, Journal: b.TempDir(), Cache: b.TempDir()})
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

// BenchmarkPreflight measures what a running agent waits for before each request: the
// check of one healthy session, of about 200 and of about 2,000 messages, in a store with
// others.
func BenchmarkPreflight(b *testing.B) {
	for _, kind := range []struct {
		name  string
		write func(string, bigstore.Mix, int, uint64) error
	}{{"tree", bigstore.Tree}, {"database", bigstore.Database}} {
		dir := b.TempDir()
		if err := kind.write(dir, bigstore.Plain, 60_000, 1); err != nil {
			b.Fatal(err)
		}
		c, err := mend.Open(mend.Options{Agents: []agent.Agent{opencode.Agent{}}, Store: filepath.Join(dir, "opencode"), Journal: b.TempDir(), Cache: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		heads, err := c.Sessions(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		accept := func(context.Context, repair.Result) error { return nil }
		for _, want := range []int{200, 2000} {
			id, messages := nearest(b, c, heads, want)
			b.Run(fmt.Sprintf("%s/%d messages", kind.name, messages), func(b *testing.B) {
				for b.Loop() {
					if entry, _, err := c.RepairIf(b.Context(), session.Head{ID: id}, repair.Request{Force: true}, accept); entry != "" || err != nil {
						b.Fatal(entry, err)
					}
				}
			})
		}
	}
}

// nearest returns the session whose number of messages is nearest to want.
func nearest(b *testing.B, c *mend.Client, heads []session.Head, want int) (id string, messages int) {
	b.Helper()
	for _, h := range heads {
		f, err := c.Forecast(b.Context(), h)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for _, t := range f.Request.Turns {
			n += len(t.Messages)
		}
		if id == "" || max(n-want, want-n) < max(messages-want, want-messages) {
			id, messages = h.ID, n
		}
	}
	return id, messages
}
