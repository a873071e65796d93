package main

import (
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
	killed := exec.Command("sleep", "100")
	if err := killed.Start(); err != nil {
		t.Skip(err)
	}
	identity, err := processes.Process(killed.Process.Pid).Identity()
	if err != nil {
		t.Skip(err)
	}
	state := hookState{Verb: "hook", PID: killed.Process.Pid, Identity: identity, Format: hookFormat, Counts: recoveryCounts{}, Since: time.Now()}
	state.Counts.add(live.Detected, "y", 3)
	state.outcome(hookOutcome{Session: "ses_1", Why: "it is busy"})
	if err := writeHookState(journal, state); err != nil {
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
	for name, text := range map[string]string{"7.json": "[", "8.json": `{"format":2}`, "9.json": `{"format":1,"pid":99999996,"counts":7}`} {
		writeState(t, journal, name, text)
	}
	r := newHookReporter(journal, hookState{Verb: "hook"}, slog.New(slog.DiscardHandler))
	r.report(live.Report{Outcome: live.Repaired, Class: repair.EmptyContentMessage, Session: "ses_1", Entry: "quail"})
	r.report(live.Report{Session: "ses_2", Why: strings.Repeat("x", 2*maxWhy)})
	var notes strings.Builder
	status := func() (s statusJSON) {
		notes.Reset()
		addLive(&term.Terminal{Err: &notes}, &s, journal)
		return s
	}
	s := status()
	if s.Live.total(live.Detected) != 4 || s.Live.total(live.Repaired) != 1 || s.Hooks != 1 || strings.Count(notes.String(), "note:") != 3 {
		t.Errorf("status says %+v, and notes %s", s, notes.String())
	}
	if len(s.GivenUp) != 1 || s.GivenUp[0].Session != "ses_2" || len(s.GivenUp[0].Why) != maxWhy {
		t.Errorf("ses_1 was repaired since; given up: %+v", s.GivenUp)
	}
	if r.end(); status().Hooks != 0 {
		t.Error("a process that said that it ends counts as running")
	}
}

// TestOldHookStates checks that the files of the newest processes are kept.
func TestOldHookStates(t *testing.T) {
	journal := t.TempDir()
	for n := range maxHookFiles + 10 {
		writeState(t, journal, fmt.Sprintf("%d-1.json", 1_000+n), "{}")
	}
	newHookReporter(journal, hookState{Verb: "hook"}, slog.New(slog.DiscardHandler))
	if all := hookFiles(journal); len(all) != maxHookFiles || filepath.Base(all[len(all)-1]) != "1011-1.json" {
		t.Errorf("%d files are left, the oldest is %s", len(all), all[len(all)-1])
	}
}
