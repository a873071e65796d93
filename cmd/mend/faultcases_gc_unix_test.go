//go:build linux || darwin

package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mend/internal/test/damage"
)

// TestCase34KilledGC kills forget, which rewrites the journal, at random moments. The journal
// and the store must stay intact, and at the end the bytes are removed.
func TestCase34KilledGC(t *testing.T) {
	sb := newSandbox(t, damage.Versions[0], "")
	text := damage.Parts(sb.open(), damage.Hello, "text")[0]
	const secret = "xyzzy-secret"
	sb.open().Put(text.Edit(func(v map[string]any) { v["note"] = secret }))
	sb.addBlankTexts(100)
	before := sb.snapshot()
	sb.mustRepair()
	sb.mustExit(exitDone, "undo", "--yes", "--session", sb.session)
	file := filepath.Join(sb.dir, "state", "mend", "journal.db")
	r, killed := rand.New(rand.NewPCG(3, 4)), 0
	for range tortureCount(3, 200) {
		cmd, a := sb.command("mend", "forget", sb.session, "--yes")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(10+r.IntN(60)) * time.Millisecond)
		_ = cmd.Process.Kill()
		sb.wait(cmd, a)
		if a.code < 0 {
			killed++
		}
		sb.mustExit(exitDone, "verify")
		sb.mustExit(exitDone, "log")
		sb.wantSnapshot("killed", before)
	}
	sb.mustExit(exitDone, "forget", sb.session, "--yes")
	sb.mustExit(exitDone, "verify")
	data, err := os.ReadFile(file)
	if err != nil || bytes.Contains(data, []byte(secret)) {
		t.Errorf("the journal still holds what was forgotten (%v)", err)
	}
	t.Logf("%d killed", killed)
}
