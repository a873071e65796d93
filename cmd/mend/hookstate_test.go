package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mend/internal/live"
	"mend/internal/processes"
	"mend/internal/term"
	"mend/repair"
)

// writeState writes the file of a process.
func writeState(t *testing.T, journal, name, text string) {
	t.Helper()
	if err := os.MkdirAll(hooksDir(journal), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(hooksDir(journal), name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestHookState checks what status says of hooks: of one that runs, of one that ended, of one that
// was killed, of one whose number another process has now, and of files that are damaged.
func TestHookState(t *testing.T) {
	journal := t.TempDir()
	writeState(t, journal, "../recoveries.json", `{"detected":{"x":2},"cured":{"x":2}}`)
	killed := exec.Command("sleep", "100")
	if err := killed.Start(); err != nil {
		t.Skip(err)
	}
	identity, err := processes.Process(killed.Process.Pid).Identity()
	if err != nil {
		t.Skip(err)
	}
	state := hookState{Verb: "hook", PID: killed.Process.Pid, Identity: identity, Format: hookFormat, Counts: recoveryCounts{}}
	state.Counts.add(live.Detected, "y", 3)
	state.outcome(hookOutcome{Session: "ses_1", Why: "it is busy"})
	if err := writeHookState(filepath.Join(hooksDir(journal), fmt.Sprintf("%d.json", state.PID)), state); err != nil {
		t.Fatal(err)
	}
	if !state.running() {
		t.Error("a process that runs does not count as running")
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	if state.running() {
		t.Error("a process that was killed counts as running")
	}
	parent := hookState{PID: os.Getppid(), Identity: "another"}
	if parent.running() {
		t.Error("another process with the number counts as running")
	}
	for name, text := range map[string]string{"99999997.json": "[", "99999998.json": `{"format":2}`, "99999999.json": `{"format":1,"pid":8}`, "99999996.json": `{"format":1,"pid":99999996,"counts":7}`} {
		writeState(t, journal, name, text)
	}
	all, sum, err := readHookFiles(journal)
	if err != nil || len(all) != 5 || sum.Counts[live.Repaired]["x"] != 2 {
		t.Errorf("%d files, sum %+v, %v", len(all), sum, err)
	}

	r := newHookReporter(journal, hookState{Verb: "hook"}, slog.New(slog.DiscardHandler))
	r.report(live.Report{Outcome: live.Repaired, Class: repair.EmptyContentMessage, Session: "ses_1", Entry: "quail"})
	r.report(live.Report{Session: "ses_2", Why: strings.Repeat("x", 2*maxWhy)})
	if all, sum, err = readHookFiles(journal); err != nil || len(all) != 1 || all[0].err != nil {
		t.Fatalf("%d files, %v, want that of this process alone", len(all), err)
	}
	if sum.Counts[live.Repaired]["x"] != 2 || sum.Counts[live.Detected]["y"] != 3 || len(sum.Sessions) != 1 {
		t.Errorf("the sum is %+v", sum)
	}
	own := all[0].state
	if !own.running() || own.Counts[live.Detected][repair.EmptyContentMessage] != 1 || len(own.Sessions) != 2 || len(own.Sessions[1].Why) != maxWhy {
		t.Errorf("the state of this process is %+v", own)
	}
	if sum.add(own); sum.Sessions[0].Session != "ses_1" || sum.Sessions[0].Why != "" {
		t.Errorf("the session was repaired since: %+v", sum.Sessions)
	}
	r.end()
	if all, _, _ = readHookFiles(journal); all[0].state.running() {
		t.Error("a process that said that it ends counts as running")
	}
}

// TestNewerHookState checks that what a newer mend wrote stays.
func TestNewerHookState(t *testing.T) {
	journal := t.TempDir()
	newer := map[string]string{fmt.Sprintf("%d.json", os.Getppid()): `{"format":2,"x":1}`, endedFile: `{"format":2,"y":1}`}
	for name, text := range newer {
		writeState(t, journal, name, text)
	}
	writeState(t, journal, "99999999.json", `{"format":1,"pid":99999999}`)
	newHookReporter(journal, hookState{Verb: "hook"}, slog.New(slog.DiscardHandler))
	for name, text := range newer {
		if got := readFile(t, filepath.Join(hooksDir(journal), name)); got != text {
			t.Errorf("%s has %s, want %s", name, got, text)
		}
	}
}

// TestSumOnce checks that a process is counted once, even if the one that adds it up is killed before it
// removes its file.
func TestSumOnce(t *testing.T) {
	journal := t.TempDir()
	state := hookState{Format: hookFormat, Verb: "hook", PID: 99999999, Since: time.Now(), Counts: recoveryCounts{}}
	state.Counts.add(live.Detected, "y", 3)
	path := filepath.Join(hooksDir(journal), "99999999.json")
	for n := range 3 {
		if err := writeHookState(path, state); err != nil { // the first time, and as if it had not been removed
			t.Fatal(err)
		}
		if n > 0 {
			var s statusJSON
			addLive(&term.Terminal{}, &s, journal)
			if got := s.Live.total(live.Detected); got != 3 {
				t.Errorf("status counts %d errors, want 3", got)
			}
		}
		if err := sumEnded(journal); err != nil {
			t.Fatal(err)
		}
		_, sum, err := readHookFiles(journal)
		if got := sum.Counts.total(live.Detected); got != 3 || err != nil {
			t.Errorf("the sum has %d errors, %v, want 3", got, err)
		}
	}
	state.Since = state.Since.Add(time.Second) // another process with the number
	if err := errors.Join(writeHookState(path, state), sumEnded(journal)); err != nil {
		t.Fatal(err)
	}
	if _, sum, _ := readHookFiles(journal); sum.Counts.total(live.Detected) != 6 {
		t.Errorf("the sum is %+v, want 6 errors", sum.Counts)
	}
}
