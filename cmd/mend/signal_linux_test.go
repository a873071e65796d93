package main

import (
	"io"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/damage"
)

// TestSignalEndsReading: a signal ends a verb that only reads and whose output no process reads. Such a verb does not
// check its context again, and a verb that reads the journal never checks it.
func TestSignalEndsReading(t *testing.T) {
	t.Parallel()
	sb := newSandbox(t, damage.Versions[0], "")
	sb.addBlankTexts(100)
	id := sb.mustRepair()
	sb.mustExit(frame.ExitDone, "undo", "--yes", id)
	for _, c := range []struct {
		signal syscall.Signal
		args   []string
	}{
		{syscall.SIGINT, []string{"repair", sb.session, "--dry-run", "-p"}},
		{syscall.SIGTERM, []string{"scan", "--all", "-v"}},
		{syscall.SIGINT, []string{"log", "--json"}},
		{syscall.SIGTERM, []string{"show", id}},
	} {
		signal, args := c.signal, c.args
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
			t.Skip(err)
		}
		cmd, a := sb.command("mend", args...)
		cmd.Stdout, cmd.Stderr = w, w
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if _, err := io.ReadFull(r, make([]byte, 6000)); err != nil { // then mend is in the middle of a write
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		sb.wait(cmd, a)
		if a.code != frame.ExitSignalled+int(signal) {
			t.Errorf("mend %v, %v: exit code %d", args, signal, a.code)
		}
	}
}
