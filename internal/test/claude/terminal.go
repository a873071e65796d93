package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
)

// The size of a [Terminal].
const columns, rows = 120, 50

// A Terminal is the program on a screen.
type Terminal struct {
	*exec.Cmd
	t   testing.TB
	tty *os.File

	mu   sync.Mutex
	term vt10x.Terminal
}

// Open starts the program with its screen. Close ends it.
func (h *Home) Open(api string, args ...string) *Terminal {
	h.t.Helper()
	h.skipQuestions()
	cmd := h.command(context.Background(), api, append([]string{"--model", model}, args...)...)
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	t := &Terminal{Cmd: cmd, t: h.t, term: vt10x.New(vt10x.WithSize(columns, rows))}
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: rows, Cols: columns})
	if err != nil {
		h.t.Fatal(err)
	}
	t.tty = tty
	h.t.Cleanup(t.Close)
	go func() {
		for buf := make([]byte, 64<<10); ; {
			n, err := tty.Read(buf)
			t.mu.Lock()
			_, _ = t.term.Write(buf[:n])
			t.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return t
}

// skipQuestions answers the program's questions to a new user.
func (h *Home) skipQuestions() {
	h.t.Helper()
	settings := map[string]any{
		"hasCompletedOnboarding": true, "theme": "dark", "bypassPermissionsModeAccepted": true,
		"customApiKeyResponses": map[string]any{"approved": []string{key}},
		"projects":              map[string]any{h.work(): map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true, "allowedTools": []string{}}},
	}
	data, err := json.Marshal(settings)
	if err == nil {
		err = os.WriteFile(filepath.Join(h.dir, ".claude.json"), data, 0o600)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// Shown returns the text on the screen.
func (t *Terminal) Shown() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.term.String()
}

// Type presses keys.
func (t *Terminal) Type(keys string) {
	t.t.Helper()
	if _, err := t.tty.WriteString(keys); err != nil {
		t.t.Fatal(err)
	}
}

// Send types a line and sends it when the screen has not changed for two seconds: while the program loads a
// session it drops typed keys.
func (t *Terminal) Send(line string) {
	t.t.Helper()
	for end, last, since := time.Now().Add(Timeout), "", time.Now(); time.Since(since) < 2*time.Second; time.Sleep(50 * time.Millisecond) {
		if now := t.Shown(); now != last {
			last, since = now, time.Now()
		}
		if time.Now().After(end) {
			t.t.Fatalf("the screen keeps changing:\n%s", last)
		}
	}
	t.Type(line)
	t.Wait("❯ " + line)
	time.Sleep(500 * time.Millisecond) // the program searches while a user types
	t.Type("\r")
}

// Wait waits until the screen shows a text.
func (t *Terminal) Wait(text string) {
	t.t.Helper()
	if err := t.wait(text); err != nil {
		t.t.Fatal(err)
	}
}

func (t *Terminal) wait(text string) error {
	for end := time.Now().Add(Timeout); ; time.Sleep(50 * time.Millisecond) {
		shown := t.Shown()
		if strings.Contains(strings.Join(strings.Fields(shown), " "), text) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("the screen does not show %q:\n%s", text, shown)
		}
	}
}

// Close kills the program.
func (t *Terminal) Close() {
	_ = t.Process.Kill()
	_ = t.Cmd.Wait()
	_ = t.tty.Close()
}
