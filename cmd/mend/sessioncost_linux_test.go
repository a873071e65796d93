package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/agent"
	"mend/agent/opencode"
	"mend/change"
	"mend/internal/mend"
	"mend/internal/test/bigstore"
	"mend/internal/unattended"
	"mend/repair"
)

// TestSessionCost: the cost of a repair, its undo and a check before a request depends on the session alone. In a store
// ten times as large they make at most 1.3 times as many allocations. Undo and check read less than a fifth of the
// additional data: the additional levels of the trees. A repair also reads the list of sessions.
func TestSessionCost(t *testing.T) {
	for _, kind := range []string{"database", "tree"} {
		t.Run(kind, func(t *testing.T) {
			names := []string{"repair", "undo", "check"}
			small, sizeSmall := sessionCosts(t, kind, 4)
			large, sizeLarge := sessionCosts(t, kind, 40)
			for i, name := range names {
				t.Logf("%s: %+v, in a store ten times as large %+v", name, small[i], large[i])
				if 10*large[i].calls > 13*small[i].calls {
					t.Errorf("%s makes %d allocations, and %d in a store ten times as large", name, small[i].calls, large[i].calls)
				}
				if name != "repair" && 5*(large[i].read-small[i].read) > sizeLarge-sizeSmall {
					t.Errorf("%s reads %d bytes of a store of %d, and %d of one of %d", name, small[i].read, sizeSmall, large[i].read, sizeLarge)
				}
			}
		})
	}
}

// A sessionCost is the cost of a command: the number of allocations, and the bytes that it reads from files.
type sessionCost struct{ calls, read int }

// sessionCosts returns the cost of a repair of one session in a store of n sessions, of its undo, and of a check of
// another session before a request, and the size of the store. Only these two sessions are broken.
func sessionCosts(t *testing.T, kind string, n int) (all []sessionCost, size int) {
	t.Helper()
	const turns = 15
	calls := 0
	h := newGrowthHome(t, kind, bigstore.Uniform{Sessions: n, Turns: turns, CallID: func(turn int) string {
		if calls++; calls <= 2*turns {
			return brokenCall(turn)
		}
		return fmt.Sprintf("toolu_%d", turn)
	}})
	err := filepath.WalkDir(h.path(".local/share"), func(_ string, e fs.DirEntry, err error) error {
		if info, errInfo := e.Info(); err == nil && errInfo == nil {
			size += int(info.Size())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := mend.Open(mend.Options{
		Agents: []agent.Agent{opencode.Agent{}}, Store: h.path(".local/share/opencode"), Journal: mend.OpenJournal(h.path("journal")),
	})
	if err != nil {
		t.Fatal(err)
	}
	heads, err := c.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(heads, func(a, b change.Head) int { return cmp.Compare(a.ID, b.ID) })
	none := func(context.Context, repair.Result) error { return repair.ErrBusy }
	steps := []func(){
		func() { h.run("repair " + heads[0].ID + " --yes") },
		func() { h.run("undo --yes") },
		func() {
			_, _, _ = unattended.New(c).Repair(t.Context(), change.Head{ID: heads[1].ID}, repair.Request{Force: true}, none)
		},
	}
	h.run("scan")
	for i, step := range steps {
		h.age(i)
		before := bytesRead(t)
		cost := measureCost(step)
		all = append(all, sessionCost{cost.calls, bytesRead(t) - before})
	}
	return all, size
}

// bytesRead returns how many bytes this process has read.
func bytesRead(t *testing.T) (n int) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/io")
	if err == nil {
		_, err = fmt.Sscanf(strings.SplitN(string(data), "\n", 2)[0], "rchar: %d", &n)
	}
	if err != nil {
		t.Skip(err)
	}
	return n
}
