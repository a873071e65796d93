//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"
)

// A screen is a terminal of 80 columns and 24 rows, and all that was shown on it.
type screen struct {
	*testing.T
	keyboard, tty *os.File

	mu    sync.Mutex
	more  sync.Cond // text grew, or nothing follows
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
	t.Cleanup(func() { _, _ = tty.Close(), keyboard.Close() })
	go s.read()
	return s
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

// wait waits until the screen has shown a text.
func (s *screen) wait(text string) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !bytes.Contains(s.text, []byte(text)) {
		if s.ended {
			s.Fatalf("the screen does not show %q:\n%q", text, s.text)
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

// TestPicker picks on a terminal of 80 columns and 24 rows: by the arrows, by the filter, or not.
func TestPicker(t *testing.T) {
	var rows [][]string
	for i := range 100 {
		rows = append(rows, []string{fmt.Sprintf("ses_%03d", i), faint("3 days ago"), fmt.Sprintf("Title %d, %s", i, strings.Repeat("long ", 30))})
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
	} {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t)
			a := &app{terminal: terminal{in: s.tty, out: io.Discard, err: s.tty, canAsk: true, width: 80}}
			type result struct {
				i   int
				err error
			}
			done := make(chan result, 1)
			go func() {
				i, err := a.pick(t.Context(), "Which session?", rows)
				done <- result{i, err}
			}()
			s.wait("of 100")
			for _, k := range c.keys {
				s.press(k)
			}
			r := <-done
			if c.want < 0 && !errors.Is(r.err, errDeclined) || c.want >= 0 && (r.err != nil || r.i != c.want) {
				t.Errorf("keys %q pick %d, %v; want %d\n%q", c.keys, r.i, r.err, c.want, s.text)
			}
		})
	}
	if _, err := (&app{}).pick(t.Context(), "Which session?", rows); !errors.Is(err, errNoTerminal) {
		t.Errorf("without a terminal: %v", err)
	}
}
