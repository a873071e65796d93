//go:build e2e

package claude_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	fixture "mend/internal/test/claude"
	"mend/internal/test/endpoint"
)

// TestRealKill kills Claude Code at random moments of a prompt with a call. The transcript that it leaves has no
// finding, and the next prompt is answered.
func TestRealKill(t *testing.T) {
	cmd := install(t)
	kills := 8
	if testing.Short() {
		kills = 2
	}
	healthy := len(askHealthy(t, cmd, "baseline").Blocks)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range kills {
		delay := time.Duration(800+rng.IntN(2500)) * time.Millisecond
		t.Run(fmt.Sprint(delay), func(t *testing.T) {
			t.Parallel()
			h := fixture.NewHome(t, cmd)
			h.Put(fixture.Session, fixture.Baseline)
			api := endpoint.New(fixture.Script)
			defer api.Close()
			p := h.Start(t.Context(), api.URL, fixture.Session, fmt.Sprintf(`kill %d CALL [["Bash",{"command":"sleep 3"}]]END`, i), true)
			time.Sleep(delay)
			must(t, p.Process.Signal(syscall.SIGKILL))
			_ = p.Wait()
			h.WaitEnded()
			c := client(t, h)
			id, r, err := repairSession(t, c, fixture.Session)
			if err != nil || id != "" || len(r.Remaining) > 0 {
				t.Errorf("Repair = %q, %v, %v, want nothing to do", id, r.Remaining, err)
			}
			if reply := h.Prompt(fixture.Session, prompt, true); !reply.Answered || len(reply.Blocks) < healthy {
				t.Errorf("after the kill: answered %t, %d blocks: %s", reply.Answered, len(reply.Blocks), reply.Output)
			}
		})
	}
}

// TestRealTwoProcesses has two processes send a prompt in one session at the same time. If the next request lacks one
// of the two prompts, it has both after the repair.
func TestRealTwoProcesses(t *testing.T) {
	cmd := install(t)
	for try := range 4 {
		h := fixture.NewHome(t, cmd)
		h.Put(fixture.Session, fixture.Baseline)
		texts := []string{"from the first process", "from the second process"}
		var asked [2]sync.Once
		var sent, done sync.WaitGroup
		sent.Add(2)
		api := endpoint.New(func(n int, r endpoint.Request) endpoint.Content {
			body := fmt.Sprint(r.Messages)
			for i, text := range texts {
				if strings.Contains(body, text) {
					asked[i].Do(sent.Done)
				}
			}
			if len(r.Tools) > 0 { // neither is answered before both have sent their prompt
				sent.Wait()
			}
			return fixture.Script(n, r)
		})
		for _, text := range texts {
			p := h.Start(t.Context(), api.URL, fixture.Session, text, true)
			done.Go(func() { _ = p.Wait() })
		}
		done.Wait()
		api.Close()
		h.WaitEnded()
		written := h.Read(fixture.Session)
		before := h.Prompt(fixture.Session, prompt, true)
		h.Put(fixture.Session, written)
		c := client(t, h)
		id, r, err := repairSession(t, c, fixture.Session)
		if err != nil || slices.ContainsFunc(r.Remaining, isBroken) {
			t.Fatalf("Repair = %v, %v", r.Remaining, err)
		}
		after := h.Prompt(fixture.Session, prompt, true)
		t.Logf("try %d: before %d blocks, repair %q, after %d", try, len(before.Blocks), id, len(after.Blocks))
		contains := func(blocks []string, text string) bool { return strings.Contains(strings.Join(blocks, "\n"), text) }
		both := contains(after.Blocks, texts[0]) && contains(after.Blocks, texts[1])
		if !after.Answered || !both {
			t.Errorf("after the repair a prompt is missing: %s\n%s", after.Output, written[len(fixture.Baseline):])
		}
		if id != "" {
			return
		}
	}
}

// TestRealFullDisk sends one prompt to a running process while nothing can be written to the transcript. Claude Code
// continues, and the next record names a parent that is not in the file. After the repair the request is complete.
func TestRealFullDisk(t *testing.T) {
	cmd := install(t)
	if os.Geteuid() != 0 {
		t.Skip("mounting a small disk needs root")
	}
	healthy := len(askHealthy(t, cmd, "baseline").Blocks)
	h := fixture.NewHome(t, cmd)
	disk := h.Root() // the whole store, so that a transcript can be exchanged with a staged one
	must(t, os.MkdirAll(disk, 0o700))
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	h.Put(fixture.Session, fixture.Baseline)
	api := endpoint.New(fixture.Script)
	defer api.Close()
	filler := filepath.Join(disk, "filler")
	ctx, cancel := context.WithTimeout(t.Context(), fixture.Timeout)
	defer cancel()
	err := h.Converse(ctx, api.URL, fixture.Session, []string{"on a full disk", "with room again"}, func(i int) {
		switch i {
		case 0: // before the first prompt: no byte is free
			f, err := os.Create(filler)
			must(t, err)
			for block := make([]byte, 4096); err == nil; {
				_, err = f.Write(block)
			}
			f.Close()
		case 1:
			must(t, os.Remove(filler))
			time.Sleep(6 * time.Second) // longer than Claude Code's own repair covers
		}
	})
	must(t, err)
	written := h.Read(fixture.Session)
	before := h.Prompt(fixture.Session, prompt, true)
	h.Put(fixture.Session, written)
	c := client(t, h)
	id, r, err := repairSession(t, c, fixture.Session)
	if err != nil || slices.ContainsFunc(r.Remaining, isBroken) {
		t.Fatalf("Repair = %v, %v", r.Remaining, err)
	}
	repaired := h.Read(fixture.Session)
	after := h.Prompt(fixture.Session, prompt, true)
	t.Logf("before %d blocks, repair %q, after %d", len(before.Blocks), id, len(after.Blocks))
	if lost := len(before.Blocks) < healthy; !after.Answered || len(after.Blocks) < healthy || (id != "") != lost || !lost && *version == fixture.Versions[0] {
		t.Errorf("after the repair %q: answered %t, %d blocks, want %d and more: %s", id, after.Answered, len(after.Blocks), healthy, after.Output)
	}
	if id == "" {
		return
	}
	h.Put(fixture.Session, repaired)
	checkUndo(t, c, h, fixture.Session, id, written)
}
