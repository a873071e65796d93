//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"

	"mend/cmd/mend/internal/frame"
	"mend/internal/term"
	"mend/internal/test/claude"
)

// A screen is a terminal of 80 columns and 24 rows, with all that was sent to it.
type screen struct {
	*testing.T
	keyboard, tty *os.File

	mu    sync.Mutex
	more  sync.Cond // text has grown or ended is set
	text  []byte
	ended bool
}

func newScreen(t *testing.T) *screen {
	t.Helper()
	keyboard, tty, err := pty.Open()
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	if err := pty.Setsize(keyboard, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	s := &screen{T: t, keyboard: keyboard, tty: tty}
	s.more.L = &s.mu
	hung := time.AfterFunc(2*time.Minute, s.end) // a text that is not shown by then fails the test
	t.Cleanup(func() { _, _, _ = hung.Stop(), tty.Close(), keyboard.Close() })
	go s.read()
	return s
}

// end makes each wait fail.
func (s *screen) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.more.Broadcast()
}

// shown returns everything that was sent to the screen.
func (s *screen) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text)
}

func (s *screen) read() {
	for buf := make([]byte, 4096); ; {
		n, err := s.keyboard.Read(buf)
		s.mu.Lock()
		s.text, s.ended = append(s.text, buf[:n]...), err != nil
		s.more.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// wait waits until the screen has shown one of the texts.
func (s *screen) wait(texts ...string) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !slices.ContainsFunc(texts, func(t string) bool { return bytes.Contains(s.text, []byte(t)) }) {
		if s.ended {
			s.Fatalf("the screen does not show %q:\n%q", texts, s.text)
		}
		s.more.Wait()
	}
}

func (s *screen) press(keys string) {
	s.Helper()
	if _, err := s.keyboard.WriteString(keys); err != nil {
		s.Fatal(err)
	}
}

// TestPicker: on a terminal of 80 columns and 24 rows a row is chosen by arrows or by a filter, or none is.
func TestPicker(t *testing.T) {
	var rows [][]any
	for i := range 100 {
		rows = append(rows, []any{fmt.Sprintf("ses_%03d", i), term.Faint("3 days ago"), fmt.Sprintf("Title %d, %s", i, strings.Repeat("long ", 30))})
	}
	rows[70][2] = "家族 👩‍👩‍👧 שלום"
	for name, c := range map[string]struct {
		keys []string
		want int // -1 for none
	}{
		"the first":         {[]string{"\r"}, 0},
		"by arrows":         {[]string{"\x1b[B", "\x1b[B", "\x1b[A", "\r"}, 1},
		"past the screen":   {[]string{"\x1b[6~", "\x1b[6~", "\r"}, 42},
		"the last":          {[]string{"\x1b[F", "\r"}, 99},
		"by words":          {[]string{"TITLE", " 57", "\r"}, 57},
		"by a wide title":   {[]string{"שלום", "\r"}, 70},
		"after a wrong key": {[]string{"xyz", "\r", "\x7f", "\x7f", "\x7f", "_012", "\r"}, 12},
		"left":              {[]string{"\x1b[B", "\x03"}, -1},
		"left by q":         {[]string{"\x1b[B", "q"}, -1},
		"a q in the filter": {[]string{"xq", "\x7f", "\x7f", "_003", "\r"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t)
			a := &frame.Env{Terminal: &term.Terminal{In: s.tty, Out: io.Discard, Err: s.tty, CanAsk: true, Width: 80}}
			type result struct {
				i   int
				err error
			}
			done := make(chan result, 1)
			go func() {
				i, err := a.Pick(t.Context(), "Which session?", rows)
				done <- result{i, err}
			}()
			s.wait("of 100")
			for _, k := range c.keys {
				s.press(k)
			}
			r := <-done
			if c.want < 0 && !errors.Is(r.err, term.ErrDeclined) || c.want >= 0 && (r.err != nil || r.i != c.want) {
				t.Errorf("keys %q pick %d, %v; want %d\n%q", c.keys, r.i, r.err, c.want, s.text)
			}
		})
	}
	if _, err := (&term.Terminal{}).Pick(t.Context(), "Which session?", rows); err == nil || !strings.Contains(err.Error(), "no terminal") {
		t.Errorf("without a terminal: %v", err)
	}
}

// run runs mend on the screen and the test store, and sends its exit code.
func (s *screen) run(ts *testStore, args ...string) <-chan int {
	a := &frame.Env{Terminal: &term.Terminal{In: s.tty, Out: s.tty, Err: s.tty, CanAsk: true, CanDraw: true, Width: 80}}
	root := newRoot(a)
	a.Opt.Journal.Dir, a.Opt.Cache = ts.journal, filepath.Join(ts.journal, "cache")
	root.SetArgs(append(args, "--store", ts.path))
	done := make(chan int, 1)
	go func() { done <- a.Report(root.ExecuteContext(ts.Context())) }()
	return done
}

// TestTerminal: on a terminal these questions are asked, and the answers have these effects.
func TestTerminal(t *testing.T) {
	t.Setenv("PAGER", "cat")
	ts := newTestStore(t, 0)
	ts.damage(ts.kind("text after tool"))
	ts.damage(ts.kind("reasoning last"))
	other := ts.copySession(1, "Add dark mode")
	damaged := ts.snapshot()
	for _, c := range []struct {
		name  string
		args  []string
		talk  [][2]string // text to wait for, and keys to type then
		want  int
		shows []string
	}{
		{
			"fix offers what is broken",
			[]string{"fix", "out of cheese"},
			[][2]string{{"Is it one of these?", "dark\r"}, {`Repair "Add dark mode"? [y/n/d/?] `, "n\n"}},
			frame.ExitRefused,
			[]string{"mend does not know this error. 2 of 2 sessions are broken."},
		},
		{"fix, and it is none of these", []string{"fix", "out of cheese", "--yes"}, [][2]string{{"Is it one of these?", "q"}}, frame.ExitRefused, []string{"cancelled; nothing was changed"}},
		{
			"fix with an id",
			[]string{"fix", "out of cheese in " + other},
			[][2]string{{`Repair "Add dark mode"? [y/n/d/?] `, "n\n"}},
			frame.ExitRefused,
			[]string{"wrong A text follows the bash call"},
		},
		{
			"fix asks for the session",
			[]string{"fix", "Error: messages.1: `tool_use` ids were found\nwithout `tool_result` blocks immediately after"},
			[][2]string{
				{"Which session", "dark\r"},
				{`Repair "Add dark mode"? [y/n/d/?] `, "y\n"},
			},
			frame.ExitDone,
			[]string{"its next request breaks this rule (R1) at messages.1", `Repaired "Add dark mode" (qevajo)`, "Undo: mend undo qevajo"},
		},
		{
			"undo without an id",
			[]string{"undo"},
			[][2]string{{`Undo repair qevajo of "Add dark mode"? [y/n/d/?] `, "d\n"}, {"msg_", ""}, {"dark mode\"? [y/n/d/?] ", "y\n"}},
			frame.ExitDone,
			[]string{"Session", "Why", "Changed", "Lost", `Undone: repair qevajo of "Add dark mode" (goqare)`},
		},
		{
			"redo without an id",
			[]string{"redo"},
			[][2]string{{`Redo repair qevajo of "Add dark mode"? [y/n/d/?] `, "what\n"}, {"no: change nothing", "n\n"}},
			frame.ExitRefused,
			nil,
		},
		{"undo with nothing in force", []string{"undo"}, nil, frame.ExitRefused, []string{"no change is in force"}},
		{
			"a request without a name",
			[]string{"scan", "--request"},
			[][2]string{{"Which session?", "\x1b[B\r"}},
			frame.ExitProblems,
			[]string{"messages.0", "▲ R1"},
		},
		{"a request, and no session is chosen", []string{"scan", "--request"}, [][2]string{{"Which session?", "\x03"}}, frame.ExitRefused, nil},
		{"a patch in the pager", []string{"repair", other, "--dry-run", "-p"}, nil, frame.ExitDone, []string{"+ create msg_", `+type: "step-start"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScreen(t)
			done := s.run(ts, c.args...)
			for _, step := range c.talk {
				s.wait(step[0])
				if step[1] != "" {
					s.press(step[1])
				}
			}
			if got := <-done; got != c.want {
				t.Errorf("mend %q: exit code %d, want %d", c.args, got, c.want)
			}
			if _, err := s.tty.WriteString("(the end)"); err != nil {
				t.Fatal(err)
			}
			s.wait("(the end)")
			all := strings.Join(strings.Fields(ansi.Strip(s.shown())), " ") // lines are wrapped
			for _, text := range c.shows {
				if !strings.Contains(all, strings.Join(strings.Fields(text), " ")) {
					t.Errorf("mend %q does not show %q:\n%s", c.args, text, all)
				}
			}
		})
	}
	if !maps.Equal(ts.snapshot(), damaged) {
		t.Error("the store differs from before")
	}
}

// TestRepairAsksForAllAgents: without a session, repair asks once about the sessions of all agents.
func TestRepairAsksForAllAgents(t *testing.T) {
	ts := newTestStore(t, 0)
	ts.damage(ts.kind("text after tool"))
	home := t.TempDir()
	file := filepath.Join(home, ".claude", "projects", "-home-user-project", claude.Session+".jsonl")
	broken := claude.ByName("parent unknown").Broken()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, broken, 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_DATA_HOME", filepath.Dir(ts.data))
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	s := newScreen(t)
	code := make(chan int, 1)
	go func() {
		a := &frame.Env{Terminal: &term.Terminal{In: s.tty, Out: s.tty, Err: s.tty, CanAsk: true, Width: 80}}
		cmd := newRoot(a)
		a.Opt.Journal.Dir, a.Opt.Cache = ts.journal, filepath.Join(ts.journal, "cache")
		cmd.SetArgs([]string{"repair"})
		code <- a.Report(cmd.ExecuteContext(t.Context()))
	}()
	before := ts.snapshot()
	s.wait("Repair 2 sessions?")
	s.press("y\n")
	if got := <-code; got != frame.ExitDone {
		t.Errorf("exit code %d, want %d:\n%s", got, frame.ExitDone, s.shown())
	}
	if now, err := os.ReadFile(file); err != nil || len(now) <= len(broken) || maps.Equal(ts.snapshot(), before) {
		t.Errorf("Claude Code: %d bytes, %v, %d before; OpenCode unchanged: %t", len(now), err, len(broken), maps.Equal(ts.snapshot(), before))
	}
}

// TestFixAsksForTheWay: if nothing is broken, fix asks what happened, and continues with what helps.
func TestFixAsksForTheWay(t *testing.T) {
	t.Setenv("PAGER", "cat")
	ts := newTestStore(t, 0)
	const asks = "What happened?"
	for way, c := range map[string]struct {
		talk [][2]string
		want int
		show string
	}{
		"not listed":  {[][2]string{{asks, "renamed\r"}, {"Where is it now?", "\n"}}, frame.ExitProblems, "Nothing to bring back"},
		"forgotten":   {[][2]string{{asks, "forgotten\r"}}, frame.ExitProblems, "mend restore --compaction"},
		"deleted":     {[][2]string{{asks, "deleted\r"}}, frame.ExitProblems, "only its prompts"},
		"damaged":     {[][2]string{{asks, "database\r"}}, frame.ExitProblems, "none is damaged now"},
		"each prompt": {[][2]string{{asks, "each\r"}, {"Paste the error", "prompt is too long: 205000 tokens > 200000 maximum\n\n"}}, frame.ExitProblems, "mend trim"},
		"none":        {[][2]string{{asks, "q"}}, frame.ExitRefused, "cancelled"},
	} {
		t.Run(way, func(t *testing.T) {
			s := newScreen(t)
			done := s.run(ts, "fix", "out of cheese")
			for _, step := range c.talk {
				s.wait(step[0])
				s.press(step[1])
			}
			if got := <-done; got != c.want {
				t.Errorf("exit code %d, want %d:\n%s", got, c.want, s.shown())
			}
			s.wait(c.show)
		})
	}
}
