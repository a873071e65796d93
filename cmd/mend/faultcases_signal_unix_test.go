//go:build linux || darwin

package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/damage"
)

// A moment is a point during a change. The files of the store show whether it is reached.
type moment struct {
	name    string
	reached func() bool
}

// moments returns four moments of a change of many records. folder has begin files before the change.
func (sb sandbox) moments(folder string, begin int) []moment {
	count := func(pattern string) int {
		names, _ := filepath.Glob(pattern)
		return len(names)
	}
	entries := func() int {
		names, _ := os.ReadDir(folder)
		return len(names)
	}
	mend := filepath.Join(sb.store, ".mend", "*")
	return []moment{
		{"staging", func() bool { return count(filepath.Join(mend, "1.new")) > 0 }},
		{"staged", func() bool { return count(filepath.Join(mend, "1")) > 0 }},
		{"first record", func() bool { return entries() != begin }},
		{"fortieth record", func() bool { n := entries(); return n >= begin+40 || n <= begin-40 }},
	}
}

// TestCase36Signals: an undo or a redo that gets SIGINT or SIGTERM is finished or reverted, and the exit code says
// which.
func TestCase36Signals(t *testing.T) {
	t.Parallel()
	sb, folder, states := newSignalSandbox(t)
	done, stopped := 0, 0
	for i := range tortureCount(4, 100) {
		begin, _ := os.ReadDir(folder)
		verb := []string{"undo", "redo"}[i%2]
		before, after := states[i%2], states[1-i%2]
		at := sb.moments(folder, len(begin))[(i+i/4)%4]
		signal := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[i%2]
		a := sb.signalAt(at, []syscall.Signal{signal}, verb, "--yes", "qevajo")
		switch a.code {
		case frame.ExitDone:
			done++
			sb.wantSnapshot(verb+" that is finished", after)
			continue
		case frame.ExitSignalled + int(signal):
			if strings.Contains(a.err, "1 change was made before") { // the signal came after the commit
				done++
				sb.wantSnapshot(verb+" that was finished", after)
				continue
			}
			stopped++
			sb.wantOutput(a, "interrupted: nothing was changed")
		default:
			t.Fatalf("%s at %s, signal %v: exit code %d\n%s%s", verb, at.name, signal, a.code, a.out, a.err)
		}
		sb.wantSnapshot(verb+" that is reverted at "+at.name, before)
		sb.wantOutput(sb.mustExit(frame.ExitDone, "recover"), "No repair was pending")
		sb.mustExit(frame.ExitDone, verb, "--yes", "qevajo")
		sb.wantSnapshot(verb, after)
	}
	sb.mustExit(frame.ExitDone, "verify")
	t.Logf("%d finished, %d reverted", done, stopped)
	if stopped == 0 {
		t.Error("no signal stopped a command")
	}
}

// TestCase36SecondSignal: a second signal kills the program, and the recovery finishes or reverts the change.
func TestCase36SecondSignal(t *testing.T) {
	t.Parallel()
	sb, folder, states := newSignalSandbox(t)
	killed := 0
	for i := range tortureCount(4, 100) {
		begin, _ := os.ReadDir(folder)
		at := sb.moments(folder, len(begin))[i%4]
		a := sb.signalAt(at, []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, "undo", "--yes", "qevajo")
		if a.code < 0 {
			killed++
		}
		sb.mustExit(frame.ExitDone, "recover")
		now := sb.snapshot()
		switch {
		case maps.Equal(now, states[1]):
			sb.mustExit(frame.ExitDone, "redo", "--yes", "qevajo")
		case maps.Equal(now, states[0]):
		default:
			t.Fatalf("killed at %s: the store is neither repaired nor damaged", at.name)
		}
		sb.wantSnapshot("repaired", states[0])
	}
	sb.mustExit(frame.ExitDone, "verify")
	t.Logf("%d killed by the second signal", killed)
}

// newSignalSandbox repairs a session with many blank texts. It returns the folder of their parts, and the content of
// the store after and before the repair.
func newSignalSandbox(t *testing.T) (sandbox, string, [2]map[string]string) {
	t.Helper()
	sb := newSandbox(t, damage.Versions[0], "")
	sb.addBlankTexts(120)
	damaged := sb.snapshot()
	if id := sb.mustRepair(); id != "qevajo" {
		t.Fatalf("the repair is %s", id)
	}
	folder := filepath.Join(sb.store, "part", damage.Parts(sb.open(), damage.Hello, "reasoning")[0].Owner)
	return sb, folder, [2]map[string]string{sb.snapshot(), damaged}
}

// signalAt runs mend and sends it the signals at a moment.
func (sb sandbox) signalAt(at moment, signals []syscall.Signal, args ...string) cmdResult {
	sb.Helper()
	cmd, a := sb.command("mend", args...)
	if err := cmd.Start(); err != nil {
		sb.Fatal(err)
	}
	quit := make(chan struct{})
	go func() {
		defer close(quit)
		sendSignals(cmd, at, signals, sb.Context().Done())
	}()
	sb.wait(cmd, a)
	<-quit
	return *a
}

func sendSignals(cmd *exec.Cmd, at moment, signals []syscall.Signal, end <-chan struct{}) {
	for start := time.Now(); !at.reached(); time.Sleep(20 * time.Microsecond) {
		if time.Since(start) > 5*time.Second {
			return
		}
		select {
		case <-end:
			return
		default:
		}
	}
	for _, s := range signals {
		_ = cmd.Process.Signal(s) // it may have ended
		time.Sleep(500 * time.Microsecond)
	}
}
