package mend_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"mend/agent"
	"mend/agent/opencode"
	"mend/internal/mend"
	"mend/internal/test/dbtest"
	"mend/internal/test/storetest"
)

// damagedDatabase returns a store whose database has so many copies of the rows of a session, and a page of zeros in
// the middle.
func damagedDatabase(t *testing.T, copies int) (c *mend.Store, size int64) {
	t.Helper()
	path, _ := dbtest.Unpack(t, "1.18.33")
	const grow = `PRAGMA journal_mode=DELETE; PRAGMA foreign_keys=OFF; BEGIN; CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n;
		INSERT INTO event (id, aggregate_id, seq, type, data) SELECT id || 'x' || i, aggregate_id, seq + i * 200, type, json_set(data, '$.padding', hex(zeroblob(1500))) FROM event, n;
		INSERT INTO message SELECT id || 'x' || i, session_id, time_created, time_updated, data FROM message, n;
		INSERT INTO part SELECT id || 'x' || i, message_id || 'x' || i, session_id, time_created, time_updated, json_set(data, '$.padding', hex(zeroblob(1500))) FROM part, n; COMMIT`
	dbtest.Alter(t, path, fmt.Sprintf(grow, copies))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clear(data[len(data)/8192*4096:][:4096])
	dbtest.Write(t, path, string(data))
	c, err = mend.Open(mend.Options{Agents: []agent.Agent{opencode.Agent{}}, Store: path, Journal: mend.OpenJournal(t.TempDir()), Cache: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return c, int64(len(data))
}

// TestSalvageGrowth: the bytes that a salvage reads, writes and allocates grow linearly with the size of the database.
func TestSalvageGrowth(t *testing.T) {
	storetest.NeedAllCases(t)
	if _, err := os.Stat("/proc/self/io"); err != nil {
		t.Skip(err)
	}
	moved := func() (n int64) {
		text, err := os.ReadFile("/proc/self/io")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var one int64
			if k, _ := fmt.Sscanf(line, "rchar: %d", &one); k == 1 {
				n += one
			}
			if k, _ := fmt.Sscanf(line, "wchar: %d", &one); k == 1 {
				n += one
			}
		}
		return n
	}
	allocated := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.TotalAlloc) //nolint:gosec // the value is far smaller
	}
	var perByte [2][2]float64
	for i, copies := range []int{80, 160} {
		c, size := damagedDatabase(t, copies)
		io, memory := moved(), allocated()
		if _, err := c.ProposeSalvage(t.Context(), true, nil); err != nil {
			t.Fatal(err)
		}
		perByte[i] = [2]float64{float64(moved()-io) / float64(size), float64(allocated()-memory) / float64(size)}
		t.Logf("%d MB: for each byte %.1f are read or written, and %.2f allocated", size>>20, perByte[i][0], perByte[i][1])
	}
	for k, what := range []string{"reads and writes", "allocates"} {
		if small, large := perByte[0][k], perByte[1][k]; large > small*1.3 {
			t.Errorf("a salvage %s %.1f bytes for each byte of a small database, and %.1f of a large one", what, small, large)
		}
	}
	if perByte[1][0] > 16 {
		t.Errorf("a salvage reads and writes %.1f times the database", perByte[1][0])
	}
}
