//go:build e2e

package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"mend/internal/test/damage"
	"mend/internal/test/storetest"
)

var hookRecoveries = flag.Int("recoveries", 1000, "recoveries of TestLiveHookMemory")

// TestLiveHookMemory: the memory of "mend hook" does not grow with the number of recoveries, and the process is idle
// between them.
func TestLiveHookMemory(t *testing.T) {
	recoveries := *hookRecoveries
	if testing.Short() {
		recoveries = min(recoveries, 100)
	}
	store, session := blankTextStore(t)
	state := t.TempDir()
	cmd := exec.Command("mend", "hook", "--store", store)
	cmd.Env = append(os.Environ(), "GOGC=", "XDG_STATE_HOME="+state, "XDG_CACHE_HOME="+state, "XDG_CONFIG_HOME="+state)
	in, out := storetest.StartPiped(t, cmd)
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	send := func(text string) {
		if _, err := io.WriteString(in, text+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	lines := bufio.NewScanner(out)
	send(`{"type":"hello","protocol":1,"plugin":"test","directory":"/p"}`)
	recoverOnce := func(n int) {
		damage.Text(damage.Hello, " \n")(damage.Tree{T: t, Root: store, Session: session})
		created := fmt.Sprintf(`"created":%d`, time.Now().UnixMilli()+1) // after the last repair
		messages := strings.NewReplacer("\n", "", "msg_x2", fmt.Sprintf("msg_x2%d", n), `"created":2`, created).Replace(refusedMessages(session))
		send(strings.TrimSpace(errorLine(session)))
		for lines.Scan() {
			var l struct {
				Type, Method string
				ID           int
				Body         struct{ Message string }
			}
			if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
				t.Fatalf("%s: %v", lines.Bytes(), err)
			}
			if l.Type != "call" {
				continue
			}
			answer := "null"
			if l.Method == "messages" {
				answer = messages
			}
			send(fmt.Sprintf(`{"type":"answer","id":%d,"data":%s}`, l.ID, answer))
			if strings.Contains(l.Body.Message, "Undo: mend undo") {
				if !strings.HasPrefix(l.Body.Message, "Session repaired.") {
					t.Fatalf("recovery %d: %s", n, l.Body.Message)
				}
				return
			}
		}
		t.Fatalf("recovery %d: the hook ended; log:\n%s", n, readFile(t, filepath.Join(state, "mend", "hook.log")))
	}
	var first usage
	for n := range recoveries {
		recoverOnce(n)
		if n == recoveries/10 {
			first = measure(t, cmd.Process.Pid)
		}
	}
	last := measure(t, cmd.Process.Pid)
	if last.memory > 40<<20 || last.memory > first.memory+(8<<20) || last.files > first.files+5 || last.children != 0 {
		t.Errorf("after %d recoveries %+v, after a tenth %+v", recoveries, last, first)
	}
	busy := cpuTime(t, cmd.Process.Pid)
	time.Sleep(10 * time.Second)
	idle := cpuTime(t, cmd.Process.Pid) - busy
	if idle > 20*time.Millisecond { // two ticks of the clock; 0.1 % is one
		t.Errorf("%v of CPU time in 10 s without work", idle)
	}
	t.Logf("after a tenth %+v, after %d recoveries %+v; %v of CPU time in 10 s without work", first, recoveries, last, idle)
}

func cpuTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		t.Fatal(err)
	}
	times, err := p.Times()
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration((times.User + times.System) * float64(time.Second))
}
