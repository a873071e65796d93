package mend_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mend/agent"
	"mend/agent/claude"
	"mend/agent/opencode"
	"mend/change"
	"mend/internal/keep"
	"mend/internal/mend"
	"mend/internal/test/bigstore"
	"mend/internal/test/dbtest"
)

// BenchmarkKeepTurn measures what a copy costs at the end of a turn: one prompt and one answer were added to a
// session that was kept before. With MEND_BENCH_GB the database has more than 1 GB.
func BenchmarkKeepTurn(b *testing.B) {
	sizes, parts := []int{200, 2000, 20_000}, 20_000
	if os.Getenv("MEND_BENCH_GB") != "" {
		parts = 1_000_000
	}
	dir := b.TempDir()
	if err := bigstore.Database(dir, bigstore.Varied(parts, 1, sizes...)); err != nil {
		b.Fatal(err)
	}
	store := filepath.Join(dir, "opencode")
	c, err := mend.Open(mend.Options{Agents: []agent.Agent{opencode.Agent{}}, Store: store, Journal: mend.OpenJournal(b.TempDir()), Cache: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	heads, err := c.Sessions(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	slices.SortFunc(heads, func(x, y change.Head) int { return cmp.Compare(x.Created, y.Created) })
	for n, size := range sizes {
		b.Run(fmt.Sprintf("database/%d messages", size), func(b *testing.B) {
			benchmarkTurn(b, c, heads[n].ID, func(turn int) {
				turn += 1000 * n
				for table, id := range map[string]string{"message": "msg_zz%[2]d", "part": "prt_zz%[2]d"} {
					owner := map[string]string{"message": "session_id, ", "part": "'msg_zz%[2]d', session_id, "}[table]
					cols := map[string]string{"message": "session_id, ", "part": "message_id, session_id, "}[table]
					dbtest.Alter(b, filepath.Join(store, "opencode.db"), fmt.Sprintf("INSERT INTO %[1]s (id, "+cols+"time_created, time_updated, data) SELECT '"+id+"', "+owner+
						"time_created + %[2]d, time_updated + %[2]d, data FROM %[1]s WHERE id = (SELECT max(id) FROM %[1]s WHERE session_id = '%[3]s')", table, turn, heads[n].ID))
				}
			})
		})
	}
	b.Run("tree/2000 messages", func(b *testing.B) {
		dir := b.TempDir()
		if err := bigstore.Tree(dir, bigstore.Varied(1, 1, 2000)); err != nil {
			b.Fatal(err)
		}
		storage := filepath.Join(dir, "opencode", "storage")
		c, err := mend.Open(mend.Options{Agents: []agent.Agent{opencode.Agent{}}, Store: storage, Journal: mend.OpenJournal(b.TempDir()), Cache: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		heads, err := c.Sessions(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		head := slices.MinFunc(heads, func(x, y change.Head) int { return cmp.Compare(x.Created, y.Created) })
		files, err := filepath.Glob(filepath.Join(storage, "message", head.ID, "*.json"))
		if err != nil || len(files) < 2000 {
			b.Fatalf("%d messages, %v", len(files), err)
		}
		last := strings.TrimSuffix(filepath.Base(files[len(files)-1]), ".json")
		parts, err := filepath.Glob(filepath.Join(storage, "part", last, "*.json"))
		if err != nil || len(parts) == 0 {
			b.Fatalf("%d parts, %v", len(parts), err)
		}
		benchmarkTurn(b, c, head.ID, func(turn int) {
			id := fmt.Sprintf("msg_zz%d", turn)
			for from, to := range map[string]string{files[len(files)-1]: filepath.Join("message", head.ID, id+".json"), parts[0]: filepath.Join("part", id, fmt.Sprintf("prt_zz%d.json", turn))} {
				data, err := os.ReadFile(from)
				if err != nil {
					b.Fatal(err)
				}
				text := strings.ReplaceAll(strings.ReplaceAll(string(data), last, id), strings.TrimSuffix(filepath.Base(parts[0]), ".json"), fmt.Sprintf("prt_zz%d", turn))
				if err := os.MkdirAll(filepath.Dir(filepath.Join(storage, to)), 0o755); err != nil {
					b.Fatal(err)
				}
				dbtest.Write(b, filepath.Join(storage, to), text)
			}
		})
	})
	for _, size := range sizes {
		b.Run(fmt.Sprintf("transcript/%d messages", size), func(b *testing.B) {
			root := filepath.Join(b.TempDir(), ".claude")
			path := filepath.Join(root, "projects", "-work", "00000000-0000-4000-8000-000000000000.jsonl")
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				b.Fatal(err)
			}
			f, err := os.Create(path)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			var text strings.Builder
			for i := range 150 {
				fmt.Fprintf(&text, "word%d ", i*i*7919%1000)
			}
			line := func(i int) {
				kind := []string{"user", "assistant"}[i%2]
				fmt.Fprintf(f, `{"parentUuid":"%08d-0000-4000-8000-000000000000","isSidechain":false,"type":"%s","message":{"role":"%s","content":"%d %s"},"uuid":"%08d-0000-4000-8000-000000000000","timestamp":"2026-01-01T00:00:00.000Z","sessionId":"00000000-0000-4000-8000-000000000000","version":"2.1.332","cwd":"/work","gitBranch":"main"}`+"\n", i-1, kind, kind, i, text.String(), i)
			}
			for i := range size {
				line(i)
			}
			c, err := mend.Open(mend.Options{Agents: []agent.Agent{claude.Agent{}}, Store: root, Journal: mend.OpenJournal(b.TempDir()), Cache: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			benchmarkTurn(b, c, "00000000-0000-4000-8000-000000000000", func(turn int) { line(size + 2*turn); line(size + 2*turn + 1) })
		})
	}
}

// benchmarkTurn adds turns to a session and keeps each.
func benchmarkTurn(b *testing.B, c *mend.Store, id string, turn func(n int)) {
	b.Helper()
	journal := mend.OpenJournal(b.TempDir())
	var bytes, size int64
	copyNow := func() {
		head, err := c.Session(b.Context(), id)
		if err != nil {
			b.Fatal(err)
		}
		err = journal.Kept(keep.Options{}, func(k *keep.Keep) error {
			saved, err := c.Keep(b.Context(), k, head, "turn")
			bytes, size = bytes+saved.Bytes, saved.State.Size
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	time.Sleep(3 * time.Second) // what was written just now is read again, see [change.Stamp]
	copyNow()
	dir, err := journal.Folder()
	if err != nil {
		b.Fatal(err)
	}
	file, err := os.Stat(keep.Path(dir))
	if err != nil {
		b.Fatal(err)
	}
	first, share := bytes, float64(file.Size())/float64(size)
	bytes = 0
	var times []time.Duration
	var cpu float64
	n := 0
	for b.Loop() {
		b.StopTimer()
		n++
		turn(n)
		before, began := cpuTime(b), time.Now()
		b.StartTimer()
		copyNow()
		times = append(times, time.Since(began))
		cpu += cpuTime(b) - before
	}
	slices.Sort(times)
	b.ReportMetric(cpu*1000/float64(n), "cpu-ms/op")
	b.ReportMetric(times[len(times)/2].Seconds()*1000, "median-ms")
	b.ReportMetric(float64(bytes)/float64(n), "bytes/turn")
	b.ReportMetric(float64(first), "bytes-first")
	b.ReportMetric(share, "of-session")
}
