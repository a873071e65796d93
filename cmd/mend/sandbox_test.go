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

	"github.com/adrg/xdg"
	"github.com/google/go-cmp/cmp"

	"mend/cmd/mend/internal/frame"
	"mend/internal/term"
	"mend/internal/test/damage"
	"mend/internal/test/dbtest"
	"mend/internal/test/storetest"
	"mend/testdata"
)

// A sandbox is a damaged store with a journal, for tests that run the program.
type sandbox struct {
	*testing.T
	dir     string // the home folder, which contains all other folders
	store   string // the root of the tree, or the database
	session string
}

// tortureCount returns torture in `make torture`, otherwise usual.
func tortureCount(usual, torture int) int {
	if os.Getenv("MEND_TORTURE") != "" {
		return torture
	}
	return usual
}

// newSandbox unpacks the store of a version into dir, or into memory if dir is "", and makes an answer blank.
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
	if version != damage.Versions[0] {
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
	if version != damage.Versions[0] { // OpenCode 1.18 answers no prompt in a session without its folder
		dbtest.Alter(t, sb.store, "UPDATE session SET directory = '"+dir+"'")
	}
	damage.Text(damage.Hello, " \n")(sb.open())
	return sb
}

func (sb sandbox) open() damage.Store { return openStore(sb, sb.store, sb.session) }

func (sb sandbox) addBlankTexts(n int) {
	sb.Helper()
	s := sb.open()
	text := damage.Parts(s, damage.Hello, "text")[0]
	for i := range n {
		more := text
		more.ID = fmt.Sprintf("%s%06d", text.ID, i)
		s.Put(more)
	}
}

type cmdResult struct {
	out, err string
	code     int // -1 if a signal killed the process
	state    *os.ProcessState
}

// command returns a command that runs in the sandbox. The caller starts it.
func (sb sandbox) command(name string, args ...string) (*exec.Cmd, *cmdResult) {
	var a cmdResult
	cmd := exec.CommandContext(sb.Context(), name, args...)
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "HOME="+sb.dir, "GOGC=")
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

// wait waits for a command and stores its result. It kills the command after a minute.
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

// mend runs mend. If setHome was called it runs in this process, which takes less time.
func (sb sandbox) mend(args ...string) cmdResult {
	sb.Helper()
	if os.Getenv("HOME") == sb.dir {
		return sb.runInProcess(args...)
	}
	return sb.run("mend", args...)
}

const hookHello = `{"type":"hello","protocol":1,"plugin":"v9","directory":"/p"}` + "\n"

// runInProcess runs a verb in this process. It must end within seconds.
func (sb sandbox) runInProcess(args ...string) cmdResult {
	sb.Helper()
	var out, err bytes.Buffer
	ended := make(chan int, 1)
	go func() { ended <- run(args, &term.Terminal{In: strings.NewReader(hookHello), Out: &out, Err: &err}) }()
	select {
	case code := <-ended:
		return cmdResult{out: out.String(), err: err.String(), code: code}
	case <-time.After(20 * time.Second):
		sb.Fatalf("mend %v does not end", args)
		return cmdResult{}
	}
}

// setHome makes this process, and mend in it, run in the sandbox.
func (sb sandbox) setHome() {
	sb.Cleanup(xdg.Reload) // runs after the variables are restored
	sb.Setenv("HOME", sb.dir)
	for _, name := range []string{"data", "state", "cache", "config"} {
		sb.Setenv(fmt.Sprintf("XDG_%s_HOME", strings.ToUpper(name)), filepath.Join(sb.dir, name))
	}
	sb.Chdir(sb.dir)
	xdg.Reload() // the package reads the environment only at start
}

// sh runs a shell command.
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

// mustExit runs mend and requires the exit code.
func (sb sandbox) mustExit(code int, args ...string) cmdResult {
	sb.Helper()
	a := sb.mend(args...)
	if a.code != code {
		sb.Fatalf("mend %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), a.code, code, a.out, a.err)
	}
	return a
}

// wantOutput checks that the output contains the text and no sign of a crash.
func (sb sandbox) wantOutput(a cmdResult, text string) {
	sb.Helper()
	all := a.out + a.err
	if !strings.Contains(all, text) {
		sb.Errorf("the output is\n%s\nwant %q in it", all, text)
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
	return sb.firstRepairID(sb.mustExit(frame.ExitDone, "repair", "--yes", sb.session, "--json"))
}

// firstRepairID returns the id of the first repair in a JSON answer.
func (sb sandbox) firstRepairID(a cmdResult) string {
	sb.Helper()
	var v struct{ Repairs []struct{ ID string } }
	if err := json.NewDecoder(bytes.NewReader([]byte(a.out))).Decode(&v); err != nil || len(v.Repairs) == 0 {
		sb.Fatalf("no repair in %s (%v)", a.out, err)
	}
	return v.Repairs[0].ID
}

func (sb sandbox) snapshot() map[string]string {
	sb.Helper()
	all, err := damage.Snapshot(sb.store)
	if err != nil {
		sb.Fatal(err)
	}
	delete(all, ".") // some file systems change the mode of the root
	return all
}

// wantSnapshot requires that the store has this content.
func (sb sandbox) wantSnapshot(when string, want map[string]string) {
	sb.Helper()
	if diff := cmp.Diff(want, sb.snapshot()); diff != "" {
		sb.Fatalf("%s: the store (-want +got):\n%s", when, diff)
	}
}
