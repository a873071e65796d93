//go:build linux || darwin

package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/damage"
)

// TestCase34KilledGC: if forget, which rewrites the journal, is killed at any moment, the journal and the store are
// intact, and the next forget removes the bytes.
func TestCase34KilledGC(t *testing.T) {
	sb := newSandbox(t, damage.Versions[0], "")
	text := damage.Parts(sb.open(), damage.Hello, "text")[0]
	const secret = "xyzzy-secret"
	sb.open().Put(text.Edit(func(v map[string]any) { v["note"] = secret }))
	sb.addBlankTexts(100)
	before := sb.snapshot()
	sb.mustRepair()
	sb.mustExit(frame.ExitDone, "undo", "--yes", "--session", sb.session)
	file := filepath.Join(sb.dir, "state", "mend", "journal.db")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	sb.mustExit(frame.ExitDone, "forget", sb.session, "--yes")
	took := time.Since(began)
	r, killed, want := rand.New(rand.NewPCG(3, 4)), 0, tortureCount(3, 200)
	for tried := 0; killed < want && tried < 20*want; tried++ {
		if err := os.WriteFile(file, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd, a := sb.command("mend", "forget", sb.session, "--yes")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(r.Int64N(int64(took))))
		_ = cmd.Process.Kill()
		sb.wait(cmd, a)
		if a.code >= 0 {
			continue
		}
		killed++
		sb.mustExit(frame.ExitDone, "verify")
		sb.mustExit(frame.ExitDone, "log")
		sb.wantSnapshot("killed", before)
	}
	if killed < want {
		t.Errorf("%d were killed, want %d", killed, want)
	}
	sb.mustExit(frame.ExitDone, "forget", sb.session, "--yes")
	sb.mustExit(frame.ExitDone, "verify")
	data, err := os.ReadFile(file)
	if err != nil || bytes.Contains(data, []byte(secret)) {
		t.Errorf("the journal still has the forgotten data (%v)", err)
	}
}
