//go:build e2e

package claude_test

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	fixture "mend/internal/test/claude"
	"mend/internal/test/endpoint"
	"mend/repair"
)

// TestRealRunning: mend refuses to repair a session while a process of any version uses it, and repairs it after the
// process was killed. Another session of the same directory can be repaired meanwhile.
func TestRealRunning(t *testing.T) {
	const other = "00000000-0000-4000-8000-000000000000"
	broken := fixture.New()
	fixture.ByName("parent unknown").Apply(broken)
	onVersions(t, func(t *testing.T, version string, h *fixture.Home) {
		h.Put(fixture.Session, broken.Bytes())
		h.Put(other, broken.Bytes())
		age(t, h.File(fixture.Session), h.File(other))
		c := client(t, h)
		refused := func(when string) {
			t.Helper()
			if _, _, err := repairSession(t, c, fixture.Session); !errors.Is(err, repair.ErrBusy) {
				t.Errorf("%s: Repair = %v, want %v", when, err, repair.ErrBusy)
			}
		}
		called := make(chan struct{}, 9)
		api := endpoint.New(func(n int, r endpoint.Request) endpoint.Content {
			if len(r.Tools) > 0 {
				called <- struct{}{}
			}
			return fixture.Script(n, r)
		})
		defer api.Close()
		p := h.Start(t.Context(), api.URL, fixture.Session, `wait CALL [["Bash",{"command":"timeout 25 tail -f /dev/null"}]]END`, true)
		<-called
		time.Sleep(500 * time.Millisecond)
		refused("in a call")
		if !testing.Short() {
			if id, _, err := repairSession(t, c, other); err != nil || id == "" {
				t.Errorf("the other session: Repair = %q, %v", id, err)
			}
		}
		must(t, p.Process.Signal(syscall.SIGKILL))
		_ = p.Wait()
		h.WaitEnded()
		id, _, err := repairSession(t, c, fixture.Session)
		if err != nil || id == "" {
			t.Errorf("after the kill: Repair = %q, %v", id, err)
		}
	})
}

// TestRealRunningOnScreen: a session that is open in the terminal is in use before its first prompt.
func TestRealRunningOnScreen(t *testing.T) {
	if testing.Short() {
		t.Skip("TestRealRunning is the sample")
	}
	broken := fixture.New()
	fixture.ByName("empty prompt").Apply(broken)
	onVersions(t, func(t *testing.T, version string, h *fixture.Home) {
		h.Put(fixture.Session, broken.Bytes())
		age(t, h.File(fixture.Session))
		api := endpoint.New(fixture.Script)
		defer api.Close()
		term := h.Open(api.URL, "--resume", fixture.Session)
		term.Wait("Done 13.")
		c := client(t, h)
		if _, _, err := repairSession(t, c, fixture.Session); !errors.Is(err, repair.ErrBusy) {
			t.Errorf("Repair = %v, want %v", err, repair.ErrBusy)
		}
	})
}

// age makes files an hour old: older than any process of a test, but not as old as files that Claude Code deletes.
func age(t *testing.T, files ...string) {
	t.Helper()
	at := time.Now().Add(-time.Hour)
	for _, f := range files {
		must(t, os.Chtimes(f, at, at))
	}
}
