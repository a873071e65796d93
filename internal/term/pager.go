package term

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// Page runs print, and shows its output in the user's pager if standard output is a terminal.
func (t *Terminal) Page(print func(*Terminal)) {
	command := t.pager()
	if command == "" {
		print(t)
		return
	}
	var text bytes.Buffer
	paged := t.Clone()
	paged.Out = &text
	print(paged)
	words := strings.Fields(command)
	cmd := exec.Command(words[0], words[1:]...)
	// Unless the user set $LESS, less ends at once if the text fits on the screen, and shows colours.
	cmd.Env = append(os.Environ(), "LESS="+cmp.Or(os.Getenv("LESS"), "FRX"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text.Bytes()), t.Out, t.Err
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) && !errors.Is(err, syscall.EPIPE) { // the pager could not be run
		_, _ = t.Write(text.Bytes()) // WriteError reports an error
	}
}

// pager returns the command that shows long text: $PAGER, else less; "" without a terminal.
func (t *Terminal) pager() string {
	if t.Width == 0 || t.JSON {
		return ""
	}
	if p, ok := os.LookupEnv("PAGER"); ok {
		return strings.TrimSpace(p) // empty: no pager
	}
	return "less"
}
