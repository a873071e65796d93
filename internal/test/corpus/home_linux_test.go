package corpus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// scratch is the folder of the homes. Its path is fixed, because the journals contain it.
const scratch = "/dev/shm/mend-corpus"

// lockScratch keeps other test processes out of the homes until the test has ended.
func lockScratch(t *testing.T) {
	t.Helper()
	f, err := os.OpenFile(scratch+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err == nil {
		err = errors.Join(os.RemoveAll(scratch), os.Mkdir(scratch, 0o700))
	}
	if err != nil {
		t.Fatalf("locking %s: %v", scratch, err)
	}
	t.Cleanup(func() {
		os.RemoveAll(scratch)
		f.Close()
	})
}

// A runner runs a program with the home of one case.
type runner struct {
	*testing.T
	home string
	run  func(args ...string) (code int, stdout, stderr string)
}

func newRunner(t *testing.T, name string) *runner {
	return &runner{T: t, home: filepath.Join(scratch, name)}
}

func (r *runner) withProgram(program string) *runner {
	r.run = func(args ...string) (int, string, string) {
		ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
		defer cancel()
		var out, errOut bytes.Buffer
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = r.env(), r.home, &out, &errOut
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			r.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), out.String(), errOut.String()
	}
	return r
}

func (r *runner) env() []string {
	return []string{"HOME=" + r.home, "PATH=" + os.Getenv("PATH"), "GOGC=off"} // no command runs long enough to need a collection
}

// entries lists the journal, newest first.
func (r *runner) entries() (all []entry) {
	r.Helper()
	code, out, errOut := r.run("log", "--json")
	var answer struct {
		Repairs []struct {
			ID, Session, State, UndoneBy string
			Cause                        struct{ Kind string }
			Ops                          []json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		r.Fatalf("mend log --json ends with code %d: %v\n%s%s", code, err, out, errOut)
	}
	for _, e := range answer.Repairs {
		all = append(all, entry{e.ID, e.Session, e.State, e.Cause.Kind, len(e.Ops), e.UndoneBy})
	}
	return all
}

func (r *runner) snapshot(bytes bool) map[string]string {
	r.Helper()
	all, err := snapshot(r.home, bytes)
	if err != nil {
		r.Fatal(err)
	}
	return all
}

func command(args []string) string { return "mend " + strings.Join(args, " ") }
