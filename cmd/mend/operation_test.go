package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mend/cmd/mend/internal/frame"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/journal"
)

// newBrokenStore returns a tree of n sessions that are broken by the same damage.
func newBrokenStore(t *testing.T, n int) *testStore {
	ts := newTestStore(t, 0)
	damage.Edit(ts, ts.path, ts.session, damage.ByName(ts, "blank answer"))
	for i := 1; i < n; i++ {
		ts.copySession(i, fmt.Sprintf("Session %d", i))
	}
	return ts
}

// answerOf has the common members of the answers of repair, undo, redo, show and log.
type answerOf struct {
	Repairs []struct{ ID, Session, State, Operation, UndoneBy string }
	Failed  []struct {
		Session string
		Repairs []string
		Error   struct{ Code, Message string }
	}
}

// operations returns the number of entries of each operation.
func (a *answerOf) operations() map[string]int {
	n := map[string]int{}
	for _, r := range a.Repairs {
		n[r.Operation]++
	}
	return n
}

// TestUndoOperation: all repairs of one command are one operation: one line in the log, which one command undoes and
// another one applies again.
func TestUndoOperation(t *testing.T) {
	n := storetest.Count(104, 8)
	if testing.Short() {
		n = 5
	}
	ts := newBrokenStore(t, n)
	damaged := ts.snapshot()
	ts.want(frame.ExitDone, "repair", "--yes")
	repaired := ts.snapshot()

	log := ts.want(frame.ExitDone, "log")
	if want := fmt.Sprintf("%d repairs, %d changes", n, n); strings.Count(log, "\n") != 1 || !strings.Contains(log, want) || !strings.Contains(log, "op-qevajo") {
		t.Errorf("log = %s, want one line with %q", log, want)
	}
	if all := ts.want(frame.ExitDone, "log", "-v"); strings.Count(all, "\n") != n+1 {
		t.Errorf("log -v has %d lines, want %d", strings.Count(all, "\n"), n+1)
	}
	if out := ts.want(frame.ExitDone, "show", "op-qev"); !strings.HasPrefix(out, "op-qevajo") || strings.Count(out, "\n") != n+1 {
		t.Error(out)
	}
	if out := ts.want(frame.ExitDone, "undo", "--dry-run"); !strings.Contains(out, fmt.Sprintf("Undo would revert %d changes in %d sessions.", n, n)) {
		t.Error(out)
	}

	if out := ts.want(frame.ExitDone, "undo", "--yes"); !strings.Contains(out, fmt.Sprintf("Undone: %d repairs of %d sessions", n, n)) || !strings.Contains(out, "mend undo --redo op-qevajo") {
		t.Error(out)
	}
	if !maps.Equal(ts.snapshot(), damaged) {
		t.Error("the undo does not restore the store")
	}
	if out := ts.want(frame.ExitRefused, "undo", "op-qevajo", "--yes"); !strings.Contains(out, "nothing of it is left to undo") {
		t.Error(out)
	}

	ts.want(frame.ExitDone, "redo", "--yes")
	if !maps.Equal(ts.snapshot(), repaired) {
		t.Error("the redo does not restore the store")
	}
	var a answerOf
	ts.runJSON(&a, "undo", "op-qevajo", "--yes")
	if !maps.Equal(ts.snapshot(), damaged) || len(a.Repairs) != n || len(a.operations()) != 1 || len(a.Failed) != 0 {
		t.Errorf("undo = %d repairs, %v, %v", len(a.Repairs), a.operations(), a.Failed)
	}
	ts.runJSON(&a, "redo", "op-qevajo", "--yes")
	if !maps.Equal(ts.snapshot(), repaired) {
		t.Error("the second redo does not restore the store")
	}
	log = ts.want(frame.ExitDone, "log", "-n", "2")
	if strings.Count(log, "\n") != 2 || !strings.Contains(log, fmt.Sprintf("redo of %d repairs", n)) || !strings.Contains(log, fmt.Sprintf("undo of %d repairs", n)) {
		t.Errorf("log -n 2 = %s", log)
	}
	ts.want(frame.ExitDone, "verify")
	export := filepath.Join(t.TempDir(), "audit.jsonl")
	ts.want(frame.ExitDone, "log", "--export", export)
	ts.want(frame.ExitDone, "verify", export)
}

// TestUndoOperationConflict: if another program has changed one session of an operation, its undo restores the others,
// and with --force that one, too. A single repair of an operation can be undone.
func TestUndoOperationConflict(t *testing.T) {
	ts := newBrokenStore(t, 4)
	damaged := ts.snapshot()
	ts.want(frame.ExitDone, "repair", "--yes")
	repaired := ts.snapshot()
	ts.want(frame.ExitUsage, "undo", "op-qevajo", "--yes", "--session", ts.session)
	ts.want(frame.ExitUsage, "undo", "op-qevajo", "--yes", "--only", "prt_1")
	ts.want(frame.ExitDone, "undo", "goqare", "--yes")

	// another program changes the repaired record of the third session
	var path string
	for name := range repaired {
		if repaired[name] != damaged[name] && ts.snapshot()[name] == repaired[name] {
			path = max(path, name)
		}
	}
	text, err := os.ReadFile(filepath.Join(ts.path, path))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(ts.path, path), append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}

	if out := ts.want(frame.ExitDone, "log"); !strings.Contains(out, "1 undone") {
		t.Error(out)
	}
	var a answerOf
	if code, out := ts.runJSON(&a, "undo", "--yes"); code != frame.ExitConflict || len(a.Repairs) != 2 || len(a.Failed) != 1 || a.Failed[0].Error.Code != "conflict" {
		t.Errorf("undo: exit code %d: %s", code, out)
	}
	if code, out := ts.mend("undo", "op-qevajo", "--yes"); code != frame.ExitConflict || !strings.Contains(out, "later changes") {
		t.Errorf("undo exits with %d: %s", code, out)
	}
	ts.want(frame.ExitDone, "undo", "op-qevajo", "--yes", "--force")
	if !maps.Equal(ts.snapshot(), damaged) {
		t.Error("the undo does not restore the store")
	}
}

// TestUndoOperationKilled: if the undo of an operation is killed, the same command undoes the rest, and nothing twice.
func TestUndoOperationKilled(t *testing.T) {
	t.Parallel()
	for _, wait := range []int{1, 7} {
		ts := newBrokenStore(t, 12)
		damaged := ts.snapshot()
		ts.want(frame.ExitDone, "repair", "--yes")
		cmd := exec.CommandContext(t.Context(), "mend", "undo", "op-qevajo", "--yes", "--store", ts.path)
		cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Dir(ts.journal))
		if err := os.Rename(ts.journal, filepath.Join(filepath.Dir(ts.journal), "mend")); err != nil {
			t.Fatal(err)
		}
		ts.journal = filepath.Join(filepath.Dir(ts.journal), "mend")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		l := mend.OpenJournal(ts.journal)
		l.Unlocked = true
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
			if es, err := l.Log(journal.Query{}); err == nil && len(es) >= 12+wait {
				break
			}
			time.Sleep(time.Millisecond) // the command needs the processor
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()

		if code, out := ts.mend("undo", "op-qevajo", "--yes"); code != frame.ExitDone && code != frame.ExitRefused { // refused: all was undone before the kill
			t.Fatalf("undo exits with %d: %s", code, out)
		}
		if !maps.Equal(ts.snapshot(), damaged) {
			t.Error("the undo does not restore the store")
		}
		es, err := mend.OpenJournal(ts.journal).Log(journal.Query{})
		if err != nil {
			t.Fatal(err)
		}
		undone := map[uint64]int{}
		for _, e := range es {
			for _, seq := range e.Cause.Entries {
				if string(e.State) == "committed" {
					undone[seq]++
				}
			}
		}
		if len(undone) != 12 || slices.Max(slices.Collect(maps.Values(undone))) != 1 {
			t.Errorf("undos by repair: %v, want one for each of 12", undone)
		}
		ts.want(frame.ExitDone, "redo", "op-qevajo", "--yes")
		ts.want(frame.ExitDone, "verify")
	}
}

// A busyWriter is a standard output that checks at each write that mend does not hold the journal.
type busyWriter struct {
	journal string
	err     error
	written int
}

func (w *busyWriter) Write(b []byte) (int, error) {
	w.written += len(b)
	j, err := journal.Open(w.journal, journal.Options{Timeout: time.Millisecond})
	if err == nil {
		err = j.Close()
	}
	w.err = errors.Join(w.err, err)
	return len(b), nil
}

// TestSlowReader: no verb locks the journal while the user reads its output.
func TestSlowReader(t *testing.T) {
	ts := newBrokenStore(t, 2)
	ts.want(frame.ExitDone, "repair", "--yes")
	for _, args := range [][]string{
		{"log"},
		{"log", "-v"},
		{"log", "-n", "1"},
		{"log", "--json"},
		{"show", "qevajo"},
		{"show", "op-qevajo"},
		{"show", "op-qevajo", "--json"},
		{"undo", "qevajo", "--dry-run"},
		{"undo", "--dry-run"},
		{"undo", "--session", ts.session, "--dry-run"},
		{"undo", "--yes"},
		{"redo", "--dry-run"},
		{"redo", "--yes"},
	} {
		w := &busyWriter{journal: ts.journal}
		env := &frame.Env{Terminal: &term.Terminal{In: strings.NewReader(""), Out: w, Err: w}}
		root := newRoot(env)
		env.Opt.Journal.Dir, env.Opt.Cache = ts.journal, filepath.Join(ts.journal, "cache")
		root.SetArgs(append(args, "--store", ts.path))
		if code := env.Report(root.ExecuteContext(t.Context())); code != frame.ExitDone || w.err != nil || w.written == 0 {
			t.Errorf("mend %v: exit code %d, %d bytes, %v", args, code, w.written, w.err)
		}
	}
}
