package mend_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/repair"
)

// TestBusy: a session with an unfinished answer is busy while a process of the agent runs, and is repaired only with
// force. Without such a process it is not busy.
func TestBusy(t *testing.T) {
	b := newBench(t)
	tree := damage.Tree{T: t, Root: b.store, Session: b.session}
	damage.Text(damage.Hello, " ")(tree)
	messages, _ := tree.Records()
	tree.Put(messages[len(messages)-1].Edit(func(m map[string]any) {
		m["time"] = map[string]any{"created": now().Add(-time.Minute).UnixMilli()}
		delete(m, "finish")
	}))
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Skip(err)
	}
	program := filepath.Join(storetest.FastDir(t), "opencode")
	storetest.CopyProgram(t, cat, program)
	cmd := exec.Command(program)
	cmd.Env = []string{"XDG_DATA_HOME=" + filepath.Dir(filepath.Dir(b.store))}
	end := storetest.StartCat(t, cmd)
	if _, err := b.client.ProposeRepair(t.Context(), b.head(t), repair.Request{}); !errors.Is(err, repair.ErrBusy) || !strings.Contains(err.Error(), "not finished") {
		t.Errorf("ProposeRepair of a busy session: %v, want ErrBusy with the reason", err)
	}
	r, err := b.client.ProposeRepair(t.Context(), b.head(t), repair.Request{Force: true})
	if err != nil || len(r.Plan.Ops) != 1 {
		t.Errorf("ProposeRepair by force = %v, %v, want one op", r.Plan, err)
	}
	end()
	if space, err := os.Readlink("/proc/self/ns/pid"); err != nil || space != "pid:[4026531836]" { // not the machine's own namespace
		t.Skip("the system does not list all processes")
	}
	// A process of another test may look like the agent for a moment.
	for until := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if _, err = b.client.ProposeRepair(t.Context(), b.head(t), repair.Request{}); err == nil || time.Now().After(until) {
			break
		}
	}
	if err != nil {
		t.Errorf("ProposeRepair after the agent was killed: %v", err)
	}
}
