package codex

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
)

// Screen runs the program on a screen, and waits until the function until returns true for its content, for at most 20
// seconds. It returns the content and a function that kills the program.
func (h *Home) Screen(until func(shown string) bool, args ...string) (shown string, kill func()) {
	h.t.Helper()
	return h.ScreenType(func(string) string { return "" }, until, args...)
}

// ScreenType is Screen with keys: once a second it types the keys that keys returns for the content.
func (h *Home) ScreenType(keys func(shown string) string, until func(shown string) bool, args ...string) (shown string, kill func()) {
	h.t.Helper()
	const columns, rows = 120, 40
	cmd := h.Command(context.Background(), args...)
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: rows, Cols: columns})
	if err != nil {
		h.t.Fatal(err)
	}
	var mu sync.Mutex
	screen := vt10x.New(vt10x.WithSize(columns, rows), vt10x.WithWriter(tty)) // it answers the program's queries to the terminal
	go func() {
		for buf := make([]byte, 64<<10); ; {
			n, err := tty.Read(buf)
			mu.Lock()
			_, _ = screen.Write(buf[:n])
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = tty.Close()
	}
	typed := time.Now()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		mu.Lock()
		shown = screen.String()
		mu.Unlock()
		if time.Since(typed) > time.Second {
			_, _ = tty.WriteString(keys(shown))
			typed = time.Now()
		}
		if until(shown) {
			break
		}
	}
	return strings.TrimSpace(shown), kill
}
