//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/hinshun/vt10x"

	"mend/internal/damage"
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
			damaged := ts.snapshot()
			s := newScreen(t)
			code := make(chan int, 1)
			go func() {
				a := &app{terminal: terminal{in: s.tty, out: s.tty, err: s.tty, canAsk: true, width: 80}}
				root := a.root()
				a.opt.Journal, a.opt.Cache = ts.journal, ts.journal+"/cache"
				root.SetArgs([]string{"ui", "--store", ts.path})
				code <- a.report(root.ExecuteContext(t.Context()))
			}()
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
			s.waitShown("Restored as goqare")
			if !equalSnapshots(damaged, ts.snapshot()) {
				t.Error("the store is not as it was before the repair")
			}
			s.press("R")
			s.waitShown("Redo repair qevajo")
			s.press("y")
			s.waitShown("Applied again as")
			s.press("\x1b")
			s.waitShown("0 broken")
			s.press("l")
			s.waitShown("Journal: 3 entries")
			s.press("q")
			if got := <-code; got != exitDone {
				t.Errorf("exit code %d, want %d", got, exitDone)
			}
			s.wait("\x1b[?1049l") // the terminal is as it was
		})
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
