//go:build linux || darwin

package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mend/internal/wound"
)

// TestCase34KilledGC kills forget, which writes the journal anew, at random
// moments: the journal is whole, the store as it was, and in the end the bytes
// are gone.
func TestCase34KilledGC(t *testing.T) {
	l := newLab(t, wound.Versions[0], "")
	text := wound.Of(l.open(), wound.Hello, "text")[0]
	const secret = "xyzzy-secret"
	l.open().Put(text.Edit(func(v map[string]any) { v["note"] = secret }))
	l.blanks(100)
	before := l.snapshot()
	l.repaired()
	l.exits(exitDone, "undo", "--session", l.session)
	file := filepath.Join(l.dir, "state", "mend", "journal.db")
	r, killed := rand.New(rand.NewPCG(3, 4)), 0
	for range long(3, 200) {
		cmd, a := l.command("mend", "forget", l.session, "--yes")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(10+r.IntN(60)) * time.Millisecond)
		_ = cmd.Process.Kill()
		l.end(cmd, a)
		if a.code < 0 {
			killed++
		}
		l.exits(exitDone, "verify")
		l.exits(exitDone, "log")
		l.same("killed", before)
	}
	l.exits(exitDone, "forget", l.session, "--yes")
	l.exits(exitDone, "verify")
	data, err := os.ReadFile(file)
	if err != nil || bytes.Contains(data, []byte(secret)) {
		t.Errorf("the journal still holds what was forgotten (%v)", err)
	}
	t.Logf("%d killed", killed)
}
