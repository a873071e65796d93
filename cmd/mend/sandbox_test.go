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

// A sandbox is a broken store with a journal, on which the real program is run.
type sandbox struct {
	*testing.T
	dir     string // holds all of it, and is the user's home
	store   string // the folder of the tree, or the database
	session string
}

// tortureCount is the second number in `make torture`, else the first.
func tortureCount(usual, torture int) int {
	if os.Getenv("MEND_TORTURE") != "" {
		return torture
	}
	return usual
}

// newSandbox unpacks the store of that OpenCode into dir, or a folder in memory for
// "", and gives it an answer that is nothing but blanks.
func newSandbox(t *testing.T, version, dir string) sandbox {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the program")
	}
	if dir == "" {
		dir = storetest.FastDir(t)
	}
	sb := sandbox{T: t, dir: dir}
	archive, store := testdata.OpenCode1153, "storage"
	if version != wound.Versions[0] {
		archive, store = testdata.OpenCode11833, "opencode.db"
	}
	sb.store = filepath.Join(dir, "data", "opencode", store)
	err := os.MkdirAll(filepath.Join(dir, "data"), 0o755)
	if err == nil {
		sb.session, err = testdata.Unpack(archive, filepath.Join(dir, "data"))
	}
	if err != nil {
		t.Fatal(err)
	}
	wound.Text(wound.Hello, " \n")(sb.open())
	return sb
}

func (sb sandbox) open() wound.Store { return openStore(sb, sb.store, sb.session) }

// addBlankTexts gives the session n more texts that are nothing but blanks.
func (sb sandbox) addBlankTexts(n int) {
	sb.Helper()
	s := sb.open()
	text := wound.Of(s, wound.Hello, "text")[0]
	for i := range n {
		more := text
		more.ID = fmt.Sprintf("%s%06d", text.ID, i)
		s.Put(more)
	}
}

// An cmdResult is how a command ended and what it wrote.
type cmdResult struct {
	out, err string
	code     int // -1 after a signal that was not caught
	state    *os.ProcessState
}

// command is a program in the lab, such as mend; the caller starts it.
func (sb sandbox) command(name string, args ...string) (*exec.Cmd, *cmdResult) {
	var a cmdResult
	cmd := exec.CommandContext(sb.Context(), name, args...)
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "HOME="+sb.dir)
	for _, name := range []string{"data", "state", "cache", "config"} {
		cmd.Env = append(cmd.Env, fmt.Sprintf("XDG_%s_HOME=%s", strings.ToUpper(name), filepath.Join(sb.dir, name)))
	}
	cmd.Dir = sb.dir
	cmd.Stdout, cmd.Stderr = sink{&a.out}, sink{&a.err}
	return cmd, &a
}

type sink struct{ s *string }

func (w sink) Write(b []byte) (int, error) {
	*w.s += string(b)
	return len(b), nil
}

// wait waits for a command and takes down how it ended. A minute is too long for
// any of them.
func (sb sandbox) wait(cmd *exec.Cmd, a *cmdResult) {
	sb.Helper()
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	if !timer.Stop() {
		sb.Errorf("%v: still running after a minute", cmd.Args)
	}
	a.state = cmd.ProcessState
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		a.code = exit.ExitCode()
	} else if err != nil {
		sb.Fatal(err)
	}
}

// mend runs the program to its end.
func (sb sandbox) mend(args ...string) cmdResult {
	sb.Helper()
	return sb.run("mend", args...)
}

// sh runs a line of the shell, which may limit itself before it starts mend.
func (sb sandbox) sh(line string) cmdResult {
	sb.Helper()
	return sb.run("sh", "-c", line)
}

func (sb sandbox) run(name string, args ...string) cmdResult {
	sb.Helper()
	cmd, a := sb.command(name, args...)
	if err := cmd.Start(); err != nil {
		sb.Fatal(err)
	}
	sb.wait(cmd, a)
	return *a
}

// mustExit runs the program and wants that exit code.
func (sb sandbox) mustExit(code int, args ...string) cmdResult {
	sb.Helper()
	a := sb.mend(args...)
	if a.code != code {
		sb.Fatalf("mend %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), a.code, code, a.out, a.err)
	}
	return a
}

// wantOutput wants the answer to have the text, and no sign of a crash.
func (sb sandbox) wantOutput(a cmdResult, text string) {
	sb.Helper()
	all := a.out + a.err
	if !strings.Contains(all, text) {
		sb.Errorf("the program says\n%s\nwant %q", all, text)
	}
	for _, sign := range []string{"panic", "goroutine ", "SIGSEGV", "SIGBUS", "unexpected fault"} {
		if strings.Contains(all, sign) {
			sb.Errorf("the program crashed:\n%s", all)
		}
	}
}

// mustRepair repairs the session and returns the id of the repair.
func (sb sandbox) mustRepair() string {
	sb.Helper()
	return sb.firstRepairID(sb.mustExit(exitDone, "repair", sb.session, "--json"))
}

// firstRepairID is the id of the first repair in a JSON answer.
func (sb sandbox) firstRepairID(a cmdResult) string {
	sb.Helper()
	var v struct{ Repairs []struct{ ID string } }
	if err := json.NewDecoder(bytes.NewReader([]byte(a.out))).Decode(&v); err != nil || len(v.Repairs) == 0 {
		sb.Fatalf("no repair in %s (%v)", a.out, err)
	}
	return v.Repairs[0].ID
}

// snapshot is all that the store holds.
func (sb sandbox) snapshot() map[string]string {
	sb.Helper()
	all, err := wound.Snapshot(sb.store)
	if err != nil {
		sb.Fatal(err)
	}
	delete(all, ".") // its mode alone, and some file systems count in it
	return all
}

// wantSnapshot wants the store to hold what it held.
func (sb sandbox) wantSnapshot(when string, want map[string]string) {
	sb.Helper()
	if diff := cmp.Diff(want, sb.snapshot()); diff != "" {
		sb.Fatalf("%s: the store (-want +got):\n%s", when, diff)
	}
}
