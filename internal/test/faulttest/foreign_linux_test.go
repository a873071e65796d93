package faulttest_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/internal/test/faulttest"
)

// A writer is one way for another program to write a file during a change.
type writer struct {
	name string
	file func(sb *sandbox) string // the file in the store
	old  bool                     // it writes through a descriptor from before the change
}

// foreign is the text that the other program writes.
const foreign = `{"type":"text","text":"written by another program"}`

var writers = []writer{
	{"over a file that is replaced", func(sb *sandbox) string { return sb.differing(true, true) }, false},
	{"over a file that is deleted", func(sb *sandbox) string { return sb.differing(true, false) }, false},
	{"the file that is created", func(sb *sandbox) string { return sb.differing(false, true) }, false},
	{"through an old descriptor, a file that is replaced", func(sb *sandbox) string { return sb.differing(true, true) }, true},
	{"through an old descriptor, a file that is deleted", func(sb *sandbox) string { return sb.differing(true, false) }, true},
}

// differing returns a file that the change creates, removes or replaces.
func (sb *sandbox) differing(before, after bool) string {
	for _, name := range slices.Sorted(maps.Keys(sb.before)) {
		_, exists := sb.after[name]
		if before && exists == after && sb.before[name] != sb.after[name] {
			return name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sb.after)) {
		if _, previous := sb.before[name]; !before && !previous && strings.HasSuffix(name, ".json") && sb.before[filepath.Dir(name)] != "" {
			return name
		}
	}
	sb.Fatalf("found no file that exists before: %t, and after: %t", before, after)
	return ""
}

// TestForeignWrites: if another program writes at any call of a repair, which then continues or is killed, none of its bytes
// is lost, and the other records are all as before or all as after the change.
func TestForeignWrites(t *testing.T) {
	needLevel(t)
	for _, wr := range writers {
		for _, a := range []faulttest.Action{faulttest.Resume, faulttest.Kill} {
			t.Run(fmt.Sprintf("%s/%v", wr.name, a), func(t *testing.T) {
				t.Parallel()
				report(t, newSandbox(t, nil, built, repairFirst(tree)).sweepForeign(wr, a))
			})
		}
	}
}

func (sb *sandbox) sweepForeign(wr writer, a faulttest.Action) *sweepResult {
	sb.Helper()
	name := wr.file(sb)
	path := filepath.Join(sb.store, name)
	sum := &sweepResult{What: "another program writes " + wr.name, Store: sb.kind, Verb: sb.name}
	for k := range sb.cuts(sum) {
		sb.begin()
		write := func() error { return os.WriteFile(path, []byte(foreign), 0o644) }
		if wr.old {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				sb.Fatal(err)
			}
			defer f.Close()
			write = func() error { return writeOver(f) }
		}
		r := sb.run(faulttest.Fault{At: k, Action: a, Frozen: func(faulttest.Call) {
			if err := write(); err != nil {
				sb.Errorf("writing: %v", err)
			}
		}}, sb.verb...)
		if !r.Hit {
			return sum
		}
		sum.Cuts++
		c := &cutCase{sandbox: sb, sum: sum, run: r, where: fmt.Sprintf("%v, %v, call %d (%v)", sum, a, k, r.Calls[k-1])}
		c.checkForeign(name, wr.old, discarding(r.Calls[:k]))
	}
	return sum
}

func writeOver(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(foreign), 0)
	return err
}

// discarding reports whether mend has begun to remove the replaced files: they may have been removed with later writes.
func discarding(calls []faulttest.Call) bool {
	at := changing(calls)
	return len(at) > 0 && slices.ContainsFunc(calls[at[len(at)-1]:], func(c faulttest.Call) bool {
		return c.Name == "unlinkat" && strings.Contains(c.Paths[0], "/.mend/")
	})
}

// checkForeign recovers and checks that the other program's bytes are in the record, or among the kept files if it wrote into
// a replaced file.
func (c *cutCase) checkForeign(name string, old, tooLate bool) {
	s := c.settle()
	c.add(s.problemList)
	now := maps.Clone(s.records)
	switch {
	case strings.HasSuffix(now[name], foreign):
	case !s.kept && (!old || !tooLate):
		c.sum.Foreign++
		c.problem("the foreign bytes are lost; the file holds %.90q", now[name])
	case !old:
		c.problem("the foreign bytes are no longer in the store; the file holds %.90q", now[name])
	}
	before, after := maps.Clone(c.before), maps.Clone(c.after)
	for _, m := range []snapshot{before, after, now} {
		delete(m, name)
	}
	switch {
	case maps.Equal(now, before):
		c.sum.Before++
	case maps.Equal(now, after):
		c.sum.After++
	default:
		c.sum.Mixed++
		c.problem("the other records are neither before nor after:\n%s", differences(before, after, now))
	}
}

// A settlement is the state after a recovery that follows a write of another program.
type settlement struct {
	problemList
	records snapshot
	kept    bool // the other program's bytes are among the kept files
}

// settle recovers the sandbox, or returns the result for an equal sandbox.
func (sb *sandbox) settle() *settlement {
	sb.Helper()
	key := sb.state().digest()
	if s := sb.settlements[key]; s != nil {
		return s
	}
	s := &settlement{}
	sb.settlements[key] = s
	sb.runUnfiltered("recover") // a conflict has its own exit code
	s.checkSecondRecovery(sb)
	s.records, s.kept = sb.records(), sb.kept()
	if err := sb.verify(); err != nil {
		s.problem("the journal: %v", err)
	}
	return s
}

func (sb *sandbox) kept() bool {
	sb.Helper()
	found := false
	err := filepath.WalkDir(filepath.Join(sb.store, ".mend", "kept"), func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil //nolint:nilerror // a missing folder has no kept file
		}
		data, err := os.ReadFile(p)
		found = found || string(data) == foreign
		return err
	})
	if err != nil {
		sb.Fatal(err)
	}
	return found
}
