package mend_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"mend/agent"
	"mend/agent/claude"
	"mend/agent/opencode"
	"mend/change"
	"mend/internal/mend"
	"mend/internal/test/bigstore"
	"mend/internal/test/dbtest"
	"mend/internal/unattended"
	"mend/repair"
)

func BenchmarkScanTree(b *testing.B)     { benchmarkScan(b, bigstore.Tree) }
func BenchmarkScanDatabase(b *testing.B) { benchmarkScan(b, bigstore.Database) }

// BenchmarkScanTranscripts scans 100 transcripts of Claude Code, of 10 MB.
func BenchmarkScanTranscripts(b *testing.B) {
	dir := filepath.Join(b.TempDir(), ".claude")
	if err := bigstore.Transcripts(dir, 100, 1); err != nil {
		b.Fatal(err)
	}
	benchmarkScanOf(b, claude.Agent{}, dir)
}

// The diagnosis of every session of a store of 20,000 parts.
func benchmarkScan(b *testing.B, write func(string, bigstore.Mix) error) {
	dir := b.TempDir()
	if err := write(dir, bigstore.Varied(20_000, 1)); err != nil {
		b.Fatal(err)
	}
	benchmarkScanOf(b, opencode.Agent{}, filepath.Join(dir, "opencode"))
}

func benchmarkScanOf(b *testing.B, a agent.Agent, store string) {
	b.ReportAllocs()
	for b.Loop() {
		c, err := mend.Open(mend.Options{Agents: []agent.Agent{a}, Store: store, Journal: mend.OpenJournal(b.TempDir()), Cache: b.TempDir()})
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
// check of one healthy session that has changed since the last check, in a store with others.
// The CPU time is that of all threads; for a tree it is compared with that of reading the files of
// the session.
func BenchmarkPreflight(b *testing.B) {
	sizes := []int{200, 2000}
	for _, kind := range []struct {
		name  string
		write func(string, bigstore.Mix) error
	}{{"tree", bigstore.Tree}, {"database", bigstore.Database}} {
		dir := b.TempDir()
		if err := kind.write(dir, bigstore.Varied(60_000, 1, sizes...)); err != nil {
			b.Fatal(err)
		}
		c, err := mend.Open(mend.Options{Agents: []agent.Agent{opencode.Agent{}}, Store: filepath.Join(dir, "opencode"), Journal: mend.OpenJournal(b.TempDir()), Cache: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		heads, err := c.Sessions(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		slices.SortFunc(heads, func(x, y change.Head) int { return cmp.Compare(x.Created, y.Created) })
		accept := func(context.Context, repair.Result) error { return nil }
		for n, size := range sizes {
			b.Run(fmt.Sprintf("%s/%d messages", kind.name, size), func(b *testing.B) {
				var times []time.Duration
				var cpu, reading float64
				for b.Loop() {
					b.StopTimer()
					store := filepath.Join(dir, "opencode")
					changeLast(b, store, heads[n].ID)
					before := cpuTime(b)
					readFiles(b, store, heads[n].ID)
					reading += cpuTime(b) - before
					before, began := cpuTime(b), time.Now()
					b.StartTimer()
					if entry, _, err := unattended.New(c).RepairIf(b.Context(), change.Head{ID: heads[n].ID}, repair.Request{Force: true}, accept); entry != "" || err != nil {
						b.Fatal(entry, err)
					}
					times = append(times, time.Since(began))
					cpu += cpuTime(b) - before
				}
				slices.Sort(times)
				b.ReportMetric(cpu*1000/float64(b.N), "cpu-ms/op")
				if kind.name == "tree" {
					b.ReportMetric(cpu/reading, "of-reading")
				}
				b.ReportMetric(times[len(times)/2].Seconds()*1000, "median-ms")
				b.ReportMetric(times[len(times)*99/100].Seconds()*1000, "p99-ms")
			})
		}
	}
}

// changeLast makes the last message of a session one that changed now.
func changeLast(b *testing.B, store, id string) {
	b.Helper()
	db := filepath.Join(store, "opencode.db")
	if _, err := os.Stat(db); err == nil {
		dbtest.Alter(b, db, fmt.Sprintf("UPDATE message SET time_updated = %d WHERE id = (SELECT max(id) FROM message WHERE session_id = '%s')", time.Now().UnixMilli(), id))
		return
	}
	files, err := filepath.Glob(filepath.Join(store, "storage", "message", id, "*"))
	if err == nil {
		err = os.Chtimes(files[len(files)-1], time.Time{}, time.Now())
	}
	if err != nil {
		b.Fatal(err)
	}
}

// readFiles reads the files of a session in a tree; of a database nothing.
func readFiles(b *testing.B, store, id string) {
	b.Helper()
	messages, err := filepath.Glob(filepath.Join(store, "storage", "message", id, "*.json"))
	if err != nil {
		b.Fatal(err)
	}
	for _, m := range messages {
		parts := os.DirFS(filepath.Join(store, "storage", "part", strings.TrimSuffix(filepath.Base(m), ".json")))
		_, err := os.ReadFile(m)
		names, lerr := fs.ReadDir(parts, ".")
		if err != nil || lerr != nil && !errors.Is(lerr, fs.ErrNotExist) { // a message may have no parts
			b.Fatal(err, lerr)
		}
		for _, name := range names {
			if _, err := fs.ReadFile(parts, name.Name()); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// cpuTime returns the CPU time of this process, in seconds.
func cpuTime(b *testing.B) float64 {
	b.Helper()
	p, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		b.Fatal(err)
	}
	times, err := p.Times()
	if err != nil {
		b.Fatal(err)
	}
	return times.User + times.System
}
