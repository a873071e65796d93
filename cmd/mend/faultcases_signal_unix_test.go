//go:build linux || darwin

package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"mend/internal/wound"
)

// A moment is a place in the middle of a change, told by what is in the store.
type moment struct {
	name string
	come func() bool
}

// moments are those of a change of many records: while it is staged, as it
// begins, and while records change.
func (l lab) moments(folder string, begin int) []moment {
	count := func(pattern string) int {
		names, _ := filepath.Glob(pattern)
		return len(names)
	}
	entries := func() int {
		names, _ := os.ReadDir(folder)
		return len(names)
	}
	mend := filepath.Join(l.store, ".mend", "*")
	return []moment{
		{"staging", func() bool { return count(filepath.Join(mend, "1.new")) > 0 }},
		{"staged", func() bool { return count(filepath.Join(mend, "1")) > 0 }},
		{"first record", func() bool { return entries() != begin }},
		{"fortieth record", func() bool { n := entries(); return n >= begin+40 || n <= begin-40 }},
	}
}

// TestCase36Signals stops repairs, undos and redos in the middle by SIGINT and
// SIGTERM: each is finished, or put back.
func TestCase36Signals(t *testing.T) {
	l, folder, states := signalLab(t)
	done, stopped := 0, 0
	for i := range long(4, 100) {
		begin, _ := os.ReadDir(folder)
		verb := []string{"undo", "redo"}[i%2]
		before, after := states[i%2], states[1-i%2]
		at := l.moments(folder, len(begin))[(i+i/4)%4]
		signal := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[i%2]
		a := l.stopAt(at, []syscall.Signal{signal}, verb, "qevajo")
		switch a.code {
		case exitDone:
			done++
			l.same(verb+" that was finished", after)
			continue
		case exitSignalled + int(signal):
			stopped++
			l.says(a, "what had begun was finished or put back")
		default:
			t.Fatalf("%s at %s, signal %v: exit code %d\n%s%s", verb, at.name, signal, a.code, a.out, a.err)
		}
		l.same(verb+" that was put back at "+at.name, before)
		l.says(l.exits(exitDone, "recover"), "Nothing was pending")
		l.exits(exitDone, verb, "qevajo")
		l.same(verb, after)
	}
	l.exits(exitDone, "verify")
	t.Logf("%d finished, %d put back", done, stopped)
	if stopped == 0 {
		t.Error("no signal stopped anything")
	}
}

// TestCase36SecondSignal sends two signals: the second kills, and recovery makes
// it whole.
func TestCase36SecondSignal(t *testing.T) {
	l, folder, states := signalLab(t)
	killed := 0
	for i := range long(4, 100) {
		begin, _ := os.ReadDir(folder)
		at := l.moments(folder, len(begin))[i%4]
		a := l.stopAt(at, []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, "undo", "qevajo")
		if a.code < 0 {
			killed++
		}
		l.exits(exitDone, "recover")
		now := l.snapshot()
		switch {
		case maps.Equal(now, states[1]):
			l.exits(exitDone, "redo", "qevajo")
		case maps.Equal(now, states[0]):
		default:
			t.Fatalf("killed at %s: the store is neither before nor after", at.name)
		}
		l.same("mended", states[0])
	}
	l.exits(exitDone, "verify")
	t.Logf("%d killed by the second signal", killed)
}

// signalLab repairs a session with many blanks. It returns the folder of their
// parts, and what the store holds repaired and wounded.
func signalLab(t *testing.T) (lab, string, [2]map[string]string) {
	t.Helper()
	l := newLab(t, wound.Versions[0], "")
	l.blanks(120)
	wounded := l.snapshot()
	if id := l.repaired(); id != "qevajo" {
		t.Fatalf("the repair is %s", id)
	}
	folder := filepath.Join(l.store, "part", wound.Of(l.open(), wound.Hello, "reasoning")[0].Owner)
	return l, folder, [2]map[string]string{l.snapshot(), wounded}
}

// stopAt runs mend and sends it the signals when the moment has come.
func (l lab) stopAt(at moment, signals []syscall.Signal, args ...string) ending {
	l.Helper()
	cmd, a := l.command("mend", args...)
	if err := cmd.Start(); err != nil {
		l.Fatal(err)
	}
	quit := make(chan struct{})
	go func() {
		defer close(quit)
		send(cmd, at, signals, l.Context().Done())
	}()
	l.end(cmd, a)
	<-quit
	return *a
}

func send(cmd *exec.Cmd, at moment, signals []syscall.Signal, end <-chan struct{}) {
	for start := time.Now(); !at.come(); time.Sleep(20 * time.Microsecond) {
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
		_ = cmd.Process.Signal(s) // it may be done already
		time.Sleep(500 * time.Microsecond)
	}
}
