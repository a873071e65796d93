//go:build unix

package main

import (
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hinshun/vt10x"

	"mend/cmd/mend/internal/frame"
	"mend/internal/term"
	"mend/internal/test/claude"
	"mend/internal/test/damage"
)

// TestUI: on a real terminal of 80 columns and 24 rows a session is repaired, undone and redone.
func TestUI(t *testing.T) {
	t.Parallel()
	for i, version := range damage.Versions {
		if i == 1 {
			continue // a database, as the next version has
		}
		t.Run(version, func(t *testing.T) {
			ts := newTestStore(t, i)
			damage.Edit(ts, ts.path, ts.session, func(s damage.Store) {
				if db, ok := s.(damage.Database); ok { // a folder whose parent exists on no machine
					db.SQL("update session set directory = '/no-such-user/project'")
				}
			})
			damage.Edit(ts, ts.path, ts.session, damage.ByName(ts, "blank answer"))
			damaged := ts.snapshot()
			s, code := startUI(t, ts.path, ts.journal)
			s.waitShown("broken (1)")
			s.waitShown("▲ The text is only whitespace")
			s.press("r")
			s.waitShown("+text: \"[user interrupted]\"")
			s.waitShown("? y/n")
			s.press("y")
			s.waitShown("Repaired \"A title\" (qevajo)")
			s.waitShown("healthy (1)")
			repaired := ts.snapshot()
			if maps.Equal(damaged, repaired) {
				t.Error("the store is not repaired")
			}
			s.press("u")
			s.waitShown("Undo repair qevajo")
			s.press("y")
			s.waitShown("Undone: repair qevajo")
			s.waitShown("▲ The text is only whitespace")
			if !maps.Equal(damaged, ts.snapshot()) {
				t.Error("after the undo the store differs from before the repair")
			}
			s.press("R")
			s.waitShown("Redo repair qevajo")
			s.press("y")
			s.waitShown("Applied again: repair qevajo")
			s.waitShown("healthy (1)")
			s.press("U")
			s.waitShown("Undo redo walazu")
			s.press("y")
			s.waitShown("broken (1)")
			s.press("a")
			s.waitShown("Repair \"A title\"")
			s.press("yq") // a change in progress is finished first
			if got := <-code; got != frame.ExitDone {
				t.Errorf("exit code %d, want %d", got, frame.ExitDone)
			}
			s.wait("\x1b[?1049l") // the terminal is restored
			if maps.Equal(damaged, ts.snapshot()) {
				t.Error("the change before the end is not made")
			}
		})
	}
}

// startUI starts mend ui for a store. It returns its screen, and a channel that gets the exit code.
func startUI(t *testing.T, store, journal string) (*screen, chan int) {
	s := newScreen(t)
	code := make(chan int, 1)
	go func() {
		a := &frame.Env{Terminal: &term.Terminal{In: s.tty, Out: s.tty, Err: s.tty, CanAsk: true, Width: 80}}
		root := newRoot(a)
		a.Opt.Journal.Dir, a.Opt.Cache = journal, filepath.Join(journal, "cache")
		root.SetArgs([]string{"ui", "--store", store})
		code <- a.Report(root.ExecuteContext(t.Context()))
	}()
	return s, code
}

// TestUIClaude: the screen repairs several sessions of Claude Code as one operation, undoes the operation, and restores
// a deleted session from a copy. With NO_COLOR it shows no colour.
func TestUIClaude(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	root, journal := filepath.Join(t.TempDir(), ".claude"), t.TempDir()
	folder := filepath.Join(root, "projects", "-home-user-project")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	broken := claude.ByName("parent unknown").Broken()
	files := map[string][]byte{}
	for _, id := range []string{claude.Session, strings.Replace(claude.Session, "3", "4", 1)} {
		path := filepath.Join(folder, id+".jsonl")
		files[path] = bytes.ReplaceAll(broken, []byte(claude.Session), []byte(id))
		if err := os.WriteFile(path, files[path], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := &frame.Env{Terminal: &term.Terminal{Out: io.Discard, Err: io.Discard}}
	verb := newRoot(a)
	a.Opt.Journal.Dir, a.Opt.Cache = journal, filepath.Join(journal, "cache")
	verb.SetArgs([]string{"keep", "--store", root})
	if code := a.Report(verb.Execute()); code != frame.ExitDone {
		t.Fatalf("mend keep: exit code %d", code)
	}
	s, code := startUI(t, root, journal)
	s.waitShown("broken (2)")
	s.waitShown("▲")
	s.press("a")
	s.waitShown("Repair 2 sessions")
	s.press("y")
	s.waitShown("Repaired 2 of 2 sessions (op-qevajo). U undoes all of it.")
	s.waitShown("healthy (2)")
	s.press("U")
	s.waitShown("Undo 2 sessions: ")
	s.press("y")
	s.waitShown("Undone: 2 of 2 sessions (")
	s.waitShown("broken (2)")
	for path, damaged := range files {
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, damaged) {
			t.Errorf("undone: %d bytes, %v, want %d", len(now), err, len(damaged))
		}
	}
	s.press("/" + claude.Session + "\r")
	s.waitShown("broken (1)")
	deleted := filepath.Join(folder, claude.Session+".jsonl")
	if err := os.Remove(deleted); err != nil {
		t.Fatal(err)
	}
	s.press("s")
	s.waitShown("can be brought back (1)")
	s.waitShown("The agent no longer has any of it.")
	s.press("r")
	s.waitShown("Bring back")
	s.press("y")
	s.waitShown("Brought back")
	s.waitShown("broken (1)")
	if now, err := os.ReadFile(deleted); err != nil || !bytes.Equal(now, files[deleted]) {
		t.Errorf("restored: %d bytes, %v, want %d", len(now), err, len(files[deleted]))
	}
	s.press("\x7f") // removes the filter
	s.waitShown("broken (2)")
	id := "5" + claude.Session[1:]
	if err := os.WriteFile(filepath.Join(folder, id+".jsonl"), bytes.ReplaceAll(claude.New().Bytes(), []byte(claude.Session), []byte(id)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.press("s")
	s.waitShown("healthy (1)")
	s.press("q")
	if got := <-code; got != frame.ExitDone {
		t.Errorf("exit code %d, want %d", got, frame.ExitDone)
	}
	if colour := regexp.MustCompile(`\x1b\[[0-9;]*(3[0-7]|38)[;m]`).FindString(s.shown()); colour != "" {
		t.Errorf("a colour is shown: %q", colour)
	}
}

// waitShown waits until the emulated terminal shows a text. A program sends only the characters that differ from the
// lines before.
func (s *screen) waitShown(text string) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		term := vt10x.New(vt10x.WithSize(80, 24))
		if _, err := term.Write(s.text); err != nil {
			s.Fatal(err)
		}
		shown := term.String()
		if strings.Contains(shown, text) {
			return
		}
		if s.ended {
			s.Fatalf("the screen does not show %q:\n%s", text, shown)
		}
		s.more.Wait()
	}
}
