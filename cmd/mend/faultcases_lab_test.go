package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mend/internal/storetest"
	"mend/internal/wound"
	"mend/testdata"
)

// A lab is a broken store with a journal, on which the real program is run.
type lab struct {
	*testing.T
	dir     string // holds all of it, and is the user's home
	store   string // the folder of the tree, or the database
	session string
}

// long is the second number in `make torture`, else the first.
func long(usual, torture int) int {
	if os.Getenv("MEND_TORTURE") != "" {
		return torture
	}
	return usual
}

// newLab unpacks the store of that OpenCode into dir, or a folder in memory for
// "", and gives it an answer that is nothing but blanks.
func newLab(t *testing.T, version, dir string) lab {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the program")
	}
	if dir == "" {
		dir = storetest.FastDir(t)
	}
	l := lab{T: t, dir: dir}
	archive, store := testdata.OpenCode1153, "storage"
	if version != wound.Versions[0] {
		archive, store = testdata.OpenCode11833, "opencode.db"
	}
	l.store = filepath.Join(dir, "data", "opencode", store)
	err := os.MkdirAll(filepath.Join(dir, "data"), 0o755)
	if err == nil {
		l.session, err = testdata.Unpack(archive, filepath.Join(dir, "data"))
	}
	if err != nil {
		t.Fatal(err)
	}
	wound.Text(wound.Hello, " \n")(l.open())
	return l
}

func (l lab) open() wound.Store { return woundStore(l, l.store, l.session) }

// blanks gives the session n more texts that are nothing but blanks.
func (l lab) blanks(n int) {
	l.Helper()
	s := l.open()
	text := wound.Of(s, wound.Hello, "text")[0]
	for i := range n {
		more := text
		more.ID = fmt.Sprintf("%s%06d", text.ID, i)
		s.Put(more)
	}
}

// An ending is how a command ended and what it wrote.
type ending struct {
	out, err string
	code     int // -1 after a signal that was not caught
	state    *os.ProcessState
}

// command is a program in the lab, such as mend; the caller starts it.
func (l lab) command(name string, args ...string) (*exec.Cmd, *ending) {
	var a ending
	cmd := exec.CommandContext(l.Context(), name, args...)
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "HOME="+l.dir)
	for _, name := range []string{"data", "state", "cache", "config"} {
		cmd.Env = append(cmd.Env, fmt.Sprintf("XDG_%s_HOME=%s", strings.ToUpper(name), filepath.Join(l.dir, name)))
	}
	cmd.Dir = l.dir
	cmd.Stdout, cmd.Stderr = sink{&a.out}, sink{&a.err}
	return cmd, &a
}

type sink struct{ s *string }

func (w sink) Write(b []byte) (int, error) {
	*w.s += string(b)
	return len(b), nil
}

// end waits for a command and takes down how it ended. A minute is too long for
// any of them.
func (l lab) end(cmd *exec.Cmd, a *ending) {
	l.Helper()
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	if !timer.Stop() {
		l.Errorf("%v: still running after a minute", cmd.Args)
	}
	a.state = cmd.ProcessState
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		a.code = exit.ExitCode()
	} else if err != nil {
		l.Fatal(err)
	}
}

// mend runs the program to its end.
func (l lab) mend(args ...string) ending {
	l.Helper()
	return l.run("mend", args...)
}

// sh runs a line of the shell, which may limit itself before it starts mend.
func (l lab) sh(line string) ending {
	l.Helper()
	return l.run("sh", "-c", line)
}

func (l lab) run(name string, args ...string) ending {
	l.Helper()
	cmd, a := l.command(name, args...)
	if err := cmd.Start(); err != nil {
		l.Fatal(err)
	}
	l.end(cmd, a)
	return *a
}

// exits runs the program and wants that exit code.
func (l lab) exits(code int, args ...string) ending {
	l.Helper()
	a := l.mend(args...)
	if a.code != code {
		l.Fatalf("mend %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), a.code, code, a.out, a.err)
	}
	return a
}

// says wants the answer to have the text, and no sign of a crash.
func (l lab) says(a ending, text string) {
	l.Helper()
	all := a.out + a.err
	if !strings.Contains(all, text) {
		l.Errorf("the program says\n%s\nwant %q", all, text)
	}
	for _, sign := range []string{"panic", "goroutine ", "SIGSEGV", "SIGBUS", "unexpected fault"} {
		if strings.Contains(all, sign) {
			l.Errorf("the program crashed:\n%s", all)
		}
	}
}

// repaired repairs the session and returns the id of the repair.
func (l lab) repaired() string {
	l.Helper()
	return l.newest(l.exits(exitDone, "repair", l.session, "--json"))
}

// newest is the id of the first repair in a JSON answer.
func (l lab) newest(a ending) string {
	l.Helper()
	var v struct{ Repairs []struct{ ID string } }
	if err := json.NewDecoder(bytes.NewReader([]byte(a.out))).Decode(&v); err != nil || len(v.Repairs) == 0 {
		l.Fatalf("no repair in %s (%v)", a.out, err)
	}
	return v.Repairs[0].ID
}

// snapshot is all that the store holds.
func (l lab) snapshot() map[string]string {
	l.Helper()
	all, err := wound.Snapshot(l.store)
	if err != nil {
		l.Fatal(err)
	}
	delete(all, ".") // its mode alone, and some file systems count in it
	return all
}

// same wants the store to hold what it held.
func (l lab) same(when string, want map[string]string) {
	l.Helper()
	if diff := cmp.Diff(want, l.snapshot()); diff != "" {
		l.Fatalf("%s: the store (-want +got):\n%s", when, diff)
	}
}
