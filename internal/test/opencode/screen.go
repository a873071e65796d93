package opencode

import (
	"os/exec"
	"strings"
)

// A Screen is OpenCode's TUI in a separate tmux.
type Screen struct{ home *Home }

// Open starts the TUI. It ends with the test. The test is skipped without tmux.
func (h *Home) Open(args ...string) *Screen {
	h.t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		h.t.Skip(err)
	}
	s := &Screen{h}
	s.tmux(append([]string{"new-session", "-d", "-x", "120", "-y", "40", h.exe}, args...)...)
	h.t.Cleanup(func() { s.tmux("kill-server") })
	return s
}

// Shown returns the text on the screen.
func (s *Screen) Shown() string { return s.tmux("capture-pane", "-p") }

// Type types a line.
func (s *Screen) Type(text string) {
	s.tmux("send-keys", "-l", text)
	s.tmux("send-keys", "Enter")
}

func (s *Screen) tmux(args ...string) string {
	s.home.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-f", "/dev/null"}, args...)...)
	cmd.Dir = s.home.Project()
	cmd.Env = append(s.home.env(), "TERM=xterm-256color", "TMUX_TMPDIR="+s.home.path("tmp"), "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.home.t.Errorf("tmux %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
