package faulttest_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mend/internal/test/dbtest"
	"mend/testdata"
)

// TestSignals: if a signal ends a clean of 100 MB of events, or its undo, all rows are in the database or none after a
// recovery, and an undo restores each row. A sample has 13 MB.
func TestSignals(t *testing.T) {
	needLevel(t)
	dir := fastDir(t)
	id, err := testdata.Unpack(archives[newest], dir)
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(dir, "opencode", "opencode.db")
	copies := 750
	if level() == "sample" {
		copies /= 8
	}
	const grow = `PRAGMA foreign_keys=OFF; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO event (id, aggregate_id, seq, type, data) SELECT id || 'x' || i, aggregate_id, seq + i * 10000, type, json_set(data, '$.more', hex(randomblob(300))) FROM event, n WHERE aggregate_id = '%s';
		UPDATE event_sequence SET seq = (SELECT max(seq) FROM event WHERE event.aggregate_id = event_sequence.aggregate_id)`
	dbtest.Alter(t, store, fmt.Sprintf(grow, copies, id), "PRAGMA wal_checkpoint(TRUNCATE)")
	rows := func() string {
		t.Helper()
		db, err := sqlite3.Open(store)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		st, _, err := db.Prepare("SELECT id, aggregate_id, seq, type, data FROM event ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		h, n := sha256.New(), 0
		for ; st.Step(); n++ {
			for i := range 5 {
				fmt.Fprintf(h, "%d %q\n", st.ColumnType(i), st.ColumnRawText(i))
			}
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		if st, _, err = db.Prepare("PRAGMA integrity_check"); err != nil || !st.Step() || st.ColumnText(0) != "ok" {
			t.Fatalf("the database is damaged: %v", err)
		}
		_ = st.Close()
		return fmt.Sprintf("%d rows, %x", n, h.Sum(nil)[:8])
	}
	mend := func(signal syscall.Signal, after time.Duration, verb ...string) (signalled bool, code int, out string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), built.mend, append(verb, "--store", store)...)
		cmd.Env = []string{"HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_STATE_HOME=" + filepath.Join(dir, "state"), "XDG_CACHE_HOME=" + filepath.Join(dir, "cache")}
		var b strings.Builder
		cmd.Stdout, cmd.Stderr = &b, &b
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }() // the exit code is checked
		if signal > 0 {
			select {
			case <-time.After(after):
				signalled = cmd.Process.Signal(signal) == nil
			case <-ended:
			}
		}
		<-ended
		return signalled, cmd.ProcessState.ExitCode(), b.String()
	}
	all := rows()
	const none = "0 rows, e3b0c44298fc1c14"
	begun := time.Now()
	if _, code, out := mend(0, 0, "clean", "events", "--yes"); code != 0 || rows() != none {
		t.Fatalf("mend clean: exit code %d, then %s: %s", code, rows(), out)
	}
	whole := time.Since(begun)
	begun = time.Now()
	if _, code, out := mend(0, 0, "undo", "--yes"); code != 0 || rows() != all {
		t.Fatalf("mend undo: exit code %d, then %s of %s: %s", code, rows(), all, out)
	}
	back := time.Since(begun)
	info, err := os.Stat(store)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MB, %s: clean takes %v, its undo %v", info.Size()>>20, all, whole.Round(time.Millisecond), back.Round(time.Millisecond))
	before, after := 0, 0
	// When each signal comes, in tenths of the time that the verb took: of each verb one comes when it has ended.
	tenths := [2][3]int{{13, 2, 6}, {2, 13, 6}}
	for i, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		for k := range 2 {
			verb, took, from, to := []string{"clean", "events", "--yes"}, whole, all, none
			if k%2 == 1 {
				verb, took, from, to = []string{"undo", "--yes"}, back, none, all
			}
			if rows() != from {
				if _, code, out := mend(0, 0, map[string][]string{all: {"undo", "--yes"}, none: {"clean", "events", "--yes"}}[from]...); code != 0 || rows() != from {
					t.Fatalf("mend: exit code %d, then %s: %s", code, rows(), out)
				}
			}
			at := took * time.Duration(tenths[k][i]) / 10
			signalled, code, out := mend(signal, at, verb...)
			where := fmt.Sprintf("%v after %v of mend %s (exit code %d)", signal, at.Round(time.Millisecond), strings.Join(verb, " "), code)
			if signalled && signal == syscall.SIGKILL && code != -1 {
				t.Errorf("%s: the signal did not end it", where)
			}
			if _, code, out := mend(0, 0, "recover"); code != 0 {
				t.Errorf("%s: mend recover: exit code %d: %s", where, code, out)
			}
			switch now := rows(); {
			case now == from && (code != 0 || !signalled):
				before++
			case now == to:
				after++
			default:
				t.Errorf("%s: then %s, want %s or %s: %s", where, now, from, to, out)
			}
		}
	}
	t.Logf("%d as before, %d as after", before, after)
	if before == 0 || after == 0 {
		t.Error("want some of each")
	}
}
