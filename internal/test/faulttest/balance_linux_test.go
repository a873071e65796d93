package faulttest_test

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mend/change"
)

// settle recovers, and resolves conflicts by keeping the records.
func (c *crowd) settle() {
	if code, out := c.runUnfiltered("recover"); code != 0 && code != 3 {
		c.problem("recover: exit code %d\n%s", code, out)
	}
	for _, e := range c.entries() {
		if e.State != change.Conflicted {
			continue
		}
		if code, out := c.runUnfiltered("resolve", "--yes", e.ID, "--keep"); code != 0 {
			c.problem("resolve %s --keep: exit code %d\n%s", e.ID, code, out)
		}
	}
}

func (c *crowd) check() {
	state := map[string]change.State{}
	found, taken := map[[sha256.Size]byte]bool{}, map[[sha256.Size]byte]bool{}
	for _, e := range c.entries() {
		state[e.ID] = e.State
		if e.State == change.Pending || e.State == change.Conflicted {
			c.problem("entry %s is %s", e.ID, e.State)
		}
		for _, op := range e.Ops {
			if op.Pre != nil {
				found[op.Pre.SHA256] = true
				taken[op.Pre.SHA256] = taken[op.Pre.SHA256] || e.State == change.Committed
			}
		}
	}
	for _, id := range c.printed {
		if state[id] != change.Committed {
			c.problem("repair %s was reported as done, and the journal has it as %q", id, state[id])
		}
	}
	if err := c.verify(); err != nil {
		c.problem("the journal: %v", err)
	}
	left := c.leftovers()
	left = slices.DeleteFunc(left, func(p string) bool { return strings.Contains(p, "/cache/mend/") }) // a later scan removes it
	if len(left) > 0 {
		c.problem("left over: %q", left)
	}
	sum := &sweepResult{}
	(&cutCase{sandbox: c.sandbox, sum: sum}).checkStructure()
	c.problems = append(c.problems, sum.problems...)
	c.checkWrites(found, taken)
}

// checkWrites checks that every write of the agent is in the store, or in the journal as an image before a change that was
// made, or, if its file was replaced meanwhile, among the kept files. A write that was gone later may also be an image before
// a change that was reverted.
func (c *crowd) checkWrites(found, taken map[[sha256.Size]byte]bool) {
	c.Helper()
	stored := map[string]bool{}
	messages, parts := c.open().Records()
	for _, r := range append(messages, parts...) {
		stored[r.Data] = true
	}
	kept, count := c.kept(), map[string]int{}
	check := func(l writtenRecord, journal map[[sha256.Size]byte]bool) {
		switch {
		case stored[l.Data]:
			count["in the store"]++
		case journal[l.digest]:
			count["in the journal"]++
		case l.late && kept[l.Data]:
			count["kept"]++
		case l.late:
			count["too late"]++
		default:
			c.problem("what the agent wrote to %s is lost; kept: %t:\n%s", l.ID, kept[l.Data], l.Data)
		}
	}
	for _, l := range c.agent.written {
		check(l, taken)
	}
	for _, l := range c.agent.overwritten {
		check(l, found)
	}
	c.Logf("the last and the overwritten writes of the agent: %v", count)
}

// kept returns the content of the kept files: the agent wrote into them after they were replaced.
func (c *crowd) kept() map[string]bool {
	c.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(c.store, ".mend", "kept"), func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		found[string(data)] = true
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) { // a database keeps nothing
		c.Fatal(err)
	}
	return found
}
