//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hinshun/vt10x"

	"mend/internal/term"
	"mend/internal/test/claude"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
)

// TestUI repairs, undoes and redoes on a real terminal of 80 columns and 24 rows.
func TestUI(t *testing.T) {
	for i, version := range damage.Versions {
		if i == 1 {
			continue // a database as the next one
		}
		t.Run(version, func(t *testing.T) {
			ts := newTestStore(t, i)
			damage.Edit(ts, ts.path, ts.session, damage.ByName(ts, "blank answer"))
			damage.Edit(ts, ts.path, ts.session, func(s damage.Store) {
				if db, ok := s.(damage.Database); ok { // no machine has that folder's parent
					db.SQL("update session set directory = '/no-such-user/project'")
				}
			})
			damaged := ts.snapshot()
			s, code := ts.startUI()
			s.waitShown("1 broken")
			s.press("\r")
			s.waitShown("▲ R11")
			s.waitShown("only whitespace")
			s.press("r")
			s.waitShown("Make this change? y/n")
			s.press("y")
			s.waitShown("Repaired as qevajo")
			s.waitShown("healthy")
			repaired := ts.snapshot()
			if equalSnapshots(damaged, repaired) {
				t.Error("the store is not repaired")
			}
			s.press("u")
			s.waitShown("Undo repair qevajo")
			s.press("y")
			s.waitShown("Undone (goqare)")
			s.waitShown("▲ R11")
			if !equalSnapshots(damaged, ts.snapshot()) {
				t.Error("the store is not as it was before the repair")
			}
			s.press("R")
			s.waitShown("Redo repair qevajo")
			s.press("y")
			s.waitShown("Applied again (")
			s.press("\x7f\x7f") // the first may end what is read again
			s.waitShown("0 broken")
			s.press("l")
			s.waitShown("Journal: 3 entries")
			s.waitShown("done  A title  redo of qevajo, 1 change")
			s.press("q")
			if got := <-code; got != exitDone {
				t.Errorf("exit code %d, want %d", got, exitDone)
			}
			s.wait("\x1b[?1049l") // the terminal is as it was
		})
	}
}

// startUI starts mend ui, and returns its exit code when it has ended.
func (ts *testStore) startUI() (*screen, chan int) {
	s := newScreen(ts.T)
	code := make(chan int, 1)
	go func() {
		a := &environment{Terminal: &term.Terminal{In: s.tty, Out: s.tty, Err: s.tty, CanAsk: true, Width: 80}}
		root := a.root()
		a.opt.Journal.Dir, a.opt.Cache = ts.journal, ts.journal+"/cache"
		root.SetArgs([]string{"ui", "--store", ts.path})
		code <- a.report(root.ExecuteContext(ts.Context()))
	}()
	return s, code
}

// The screen shows a session of Claude Code, repairs it and undoes that.
func TestUIClaude(t *testing.T) {
	storetest.NeedWrites(t)
	root, journal := filepath.Join(t.TempDir(), ".claude"), t.TempDir()
	file := filepath.Join(root, "projects", "-home-user-project", claude.Session+".jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	broken := claude.ByName("parent unknown").Broken()
	if err := os.WriteFile(file, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newScreen(t)
	code := make(chan int, 1)
	go func() {
		a := &environment{Terminal: &term.Terminal{In: s.tty, Out: s.tty, Err: s.tty, CanAsk: true, Width: 80}}
		cmd := a.root()
		a.opt.Journal.Dir, a.opt.Cache = journal, filepath.Join(journal, "cache")
		cmd.SetArgs([]string{"ui", "--store", root})
		code <- a.report(cmd.ExecuteContext(t.Context()))
	}()
	s.waitShown("1 broken")
	s.press("\r")
	s.waitShown("chain_broken")
	s.press("r")
	s.waitShown("Make this change? y/n")
	s.press("y")
	s.waitShown("Repaired as qevajo")
	s.press("u")
	s.waitShown("Undo repair qevajo")
	s.press("y")
	s.waitShown("Undone (goqare)")
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, broken) {
		t.Errorf("undone: %d bytes, %v, want the %d before", len(now), err, len(broken))
	}
	s.press("q")
	if got := <-code; got != exitDone {
		t.Errorf("exit code %d, want %d", got, exitDone)
	}
}

func equalSnapshots(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, text := range a {
		if b[name] != text {
			return false
		}
	}
	return true
}

// waitShown waits until the terminal shows a text, as a terminal does: of lines that change, a program sends
// only the characters that differ.
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
