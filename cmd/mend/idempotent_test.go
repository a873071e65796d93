package main

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/agent"
	"mend/agent/claude"
	"mend/agent/opencode"
	"mend/agent/opencode/database"
	"mend/agent/opencode/tree"
	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/internal/mend"
	claudetest "mend/internal/test/claude"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/internal/unattended"
	"mend/journal"
	"mend/repair"
	"mend/txn"
)

// A repetitionCase is a kind of damage in a store.
type repetitionCase struct {
	agent, store, name string
	write              func(t *testing.T, dir string) (path, session string)
}

// repetitionCases returns each kind of damage in each store. A plain run leaves out large transcripts.
func repetitionCases() (all []repetitionCase) {
	for i, store := range []string{"tree 1.1", "sqlite 1.2", "sqlite 1.18"} {
		for _, w := range damage.Table {
			if damage.AddsFile(w.Name) {
				continue // mend does not move the file
			}
			all = append(all, repetitionCase{"OpenCode", store, w.Name, func(t *testing.T, dir string) (string, string) {
				ts := newTestStoreIn(t, i, dir)
				damage.Edit(t, ts.path, ts.session, w.Apply)
				return ts.path, ts.session
			}})
		}
	}
	for _, d := range claudetest.Damages {
		if !storetest.AllCases() && len(d.Broken()) > largeTranscript {
			continue
		}
		all = append(all, repetitionCase{"Claude Code", "transcripts", d.Name, func(t *testing.T, dir string) (string, string) {
			folder := filepath.Join(dir, ".claude", "projects", "-home-user-project")
			if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, claudetest.Session+".jsonl"), d.Broken(), 0o600)); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(dir, ".claude"), claudetest.Session
		}})
	}
	return all
}

// TestRepeatedRepairs: a second repair, undo or redo changes nothing; nor does the second of plugin and command. A
// repair that is interrupted before any call that changes the disk and repeated, or made by two processes at once, has
// the result of one repair; this is tried for the first damage of each class in each store.
func TestRepeatedRepairs(t *testing.T) {
	if testing.Short() {
		t.Skip("it repairs hundreds of sessions")
	}
	var firsts sync.Map // by class and store
	for _, c := range repetitionCases() {
		if storetest.AllCases() || c.name == "tool running" && c.store != "sqlite 1.2" || c.name == "result twice" {
			t.Run(c.store+" "+c.name, func(t *testing.T) { t.Parallel(); tryRepetition(t, c, &firsts) })
		}
	}
}

// A repetition is a damaged session that is repaired twice.
type repetition struct {
	*testing.T
	c       repetitionCase
	dir     string // has the store and the journal
	path    string
	session string
	request repair.Request
	plan    change.Plan
	damaged map[string]string
}

func newRepetition(t *testing.T, c repetitionCase) *repetition {
	t.Helper()
	w := &repetition{T: t, c: c, dir: storetest.FastDir(t), request: repair.Request{Force: true, Latent: true}}
	w.path, w.session = c.write(t, w.dir)
	w.damaged = w.snapshot()
	return w
}

func (w *repetition) journal() string { return filepath.Join(w.dir, "journal") }

func (w *repetition) snapshot() map[string]string {
	w.Helper()
	all, err := damage.Snapshot(w.path)
	if err != nil {
		w.Fatal(err)
	}
	return all
}

func (w *repetition) client() *mend.Store {
	w.Helper()
	c, err := mend.Open(mend.Options{Agents: []agent.Agent{opencode.Agent{}, claude.Agent{}}, Store: w.path, Journal: mend.OpenJournal(w.journal()), Cache: filepath.Join(w.dir, "cache")})
	if err != nil {
		w.Fatal(err)
	}
	return c
}

func (w *repetition) propose(c *mend.Store) change.Plan {
	w.Helper()
	head, err := c.Session(w.Context(), w.session)
	if err != nil {
		w.Fatal(err)
	}
	r, err := c.ProposeRepair(w.Context(), head, w.request)
	if err != nil {
		w.Fatal(err)
	}
	return r.Plan
}

func (w *repetition) entries() []change.Entry {
	w.Helper()
	es, err := mend.OpenJournal(w.journal()).Log(journal.Query{})
	if err != nil {
		w.Fatal(err)
	}
	return es
}

// wantUnchanged checks that f neither changes the store nor adds an entry.
func (w *repetition) wantUnchanged(what string, f func()) {
	w.Helper()
	before, n := w.snapshot(), len(w.entries())
	f()
	if !maps.Equal(w.snapshot(), before) {
		w.Errorf("%s changes the store", what)
	}
	if got := len(w.entries()); got != n {
		w.Errorf("%s adds %d entries", what, got-n)
	}
}

func digestOf(p change.Plan) string { return change.PlanDigest(change.InfosOf(p.Ops)) }

// tryRepetition tries all repetitions with one damage, if mend repairs it.
func tryRepetition(t *testing.T, c repetitionCase, firsts *sync.Map) {
	w := newRepetition(t, c)
	client := w.client()
	w.plan = w.propose(client)
	if len(w.plan.Ops) == 0 {
		return
	}
	classes := map[string]bool{}
	for _, f := range w.plan.Cause.Findings {
		classes[f.Class] = true
	}
	repaired := w.repairTwice(client)
	w.undoAndRedoTwice(client, repaired)
	w.pluginAndCommand()
	first := false
	for class := range classes {
		_, known := firsts.LoadOrStore(class+" in "+c.store, true)
		first = first || !known
	}
	if first {
		w.repairInterrupted(repaired)
		w.twoProcesses(repaired)
	}
}

func (w *repetition) repairTwice(c *mend.Store) map[string]string {
	w.Helper()
	if again := w.propose(w.client()); digestOf(again) != digestOf(w.plan) {
		w.Errorf("the same session has a different plan")
	}
	e, err := c.Apply(w.Context(), w.plan)
	if err != nil {
		w.Fatal(err)
	}
	if e.Digest != change.PlanDigest(e.Ops) || len(e.Ops) == len(w.plan.Ops) && e.Digest != digestOf(w.plan) {
		w.Errorf("the entry has the digest %s", e.Digest)
	}
	w.wantUnchanged("a second repair", func() {
		if p := w.propose(c); len(p.Ops) != 0 {
			w.Errorf("the second plan has %d ops: %v", len(p.Ops), p.Cause.Diagnoses)
		} else if _, err := c.Apply(w.Context(), p); !errors.Is(err, change.ErrInvalid) {
			w.Errorf("an empty plan: %v", err)
		}
	})
	return w.snapshot()
}

func (w *repetition) undoAndRedoTwice(c *mend.Store, repaired map[string]string) {
	w.Helper()
	id := w.entries()[0].ID
	undo := func() (change.Plan, error) { return c.ProposeUndo(w.Context(), mend.UndoRequest{IDs: []string{id}}) }
	redo := func() (change.Plan, error) {
		return c.ProposeUndo(w.Context(), mend.UndoRequest{IDs: []string{id}, Redo: true})
	}
	for _, step := range []struct {
		what    string
		propose func() (change.Plan, error)
		want    map[string]string
		refused error
	}{{"undo", undo, w.damaged, mend.ErrUndone}, {"redo", redo, repaired, mend.ErrNothingToDo}} {
		p, err := step.propose()
		if err == nil {
			_, err = c.Apply(w.Context(), p)
		}
		if err != nil {
			w.Fatalf("%s: %v", step.what, err)
		}
		if !maps.Equal(w.snapshot(), step.want) {
			w.Errorf("%s: the store has another content than expected", step.what)
		}
		w.wantUnchanged("a second "+step.what, func() {
			if _, err := step.propose(); !errors.Is(err, step.refused) {
				w.Errorf("a second %s: %v", step.what, err)
			}
		})
		if step.what == "undo" {
			if p := w.propose(c); digestOf(p) != digestOf(w.plan) {
				w.Error("after an undo the plan is different")
			}
		}
	}
}

// pluginAndCommand repairs as the plugin does and as the command does, in either order.
func (w *repetition) pluginAndCommand() {
	w.Helper()
	for _, pluginFirst := range []bool{true, false} {
		o := newRepetition(w.T, w.c)
		c, left := o.client(), false
		plugin := func() int {
			_, r, err := unattended.New(c).Repair(o.Context(), change.Head{ID: o.session}, repair.Request{Force: true, Latent: true}, nil)
			if _, asks := errors.AsType[*repair.AskError](err); err != nil && !asks {
				o.Errorf("the plugin: %v", err)
			}
			left = slices.ContainsFunc(r.Remaining, func(d repair.Diagnosis) bool { return d.Severity == repair.Broken && d.Tier == repair.Ask })
			return len(o.entries())
		}
		command := func() int {
			if p := o.propose(c); len(p.Ops) > 0 {
				if _, err := c.Apply(o.Context(), p); err != nil {
					o.Errorf("the command: %v", err)
				}
			}
			return len(o.entries())
		}
		first, second := command, plugin
		if pluginFirst {
			first, second = plugin, command
		}
		if n := first(); n != 1 || left {
			continue // the plugin asks the user
		}
		o.wantUnchanged("the second repair, of plugin and command,", func() { second() })
	}
}

// errKilled is the error of each call after a kill.
var errKilled = errors.New("killed")

// repairInterrupted stops a repair before each call that changes the disk, in a plain run before each third call, and
// repeats the repair.
func (w *repetition) repairInterrupted(repaired map[string]string) {
	w.Helper()
	for n := 0; ; n += storetest.Count(1, 3) {
		o := newRepetition(w.T, w.c)
		calls, last := 0, ""
		if err := o.repairWith(func(call string) error {
			if calls++; calls > n {
				last = call
				return errKilled
			}
			return nil
		}); err == nil {
			if n == 0 {
				w.Error("no call changes the disk")
			}
			return
		}
		c := o.client()
		if _, err := c.Recover(o.Context(), false); err != nil {
			w.Fatalf("call %d: recovering: %v", n, err)
		}
		if p := o.propose(c); len(p.Ops) > 0 {
			if _, err := c.Apply(o.Context(), p); err != nil {
				w.Fatalf("call %d: repeating: %v", n, err)
			}
		}
		if _, err := c.Recover(o.Context(), true); err != nil {
			w.Fatalf("call %d: cleaning up: %v", n, err)
		}
		if !maps.Equal(o.snapshot(), repaired) {
			w.Errorf("call %d (%s): the store differs from the store after one repair:\n%s", n, last, cmp.Diff(repaired, o.snapshot()))
		}
		committed := 0
		for _, e := range o.entries() {
			if e.State == change.Committed {
				committed++
			}
		}
		if committed != 1 {
			w.Errorf("call %d: %d repairs are committed", n, committed)
		}
		o.wantUnchanged("one more plan", func() {
			if p := o.propose(c); len(p.Ops) != 0 {
				w.Errorf("call %d: one more plan has %d ops", n, len(p.Ops))
			}
		})
	}
}

// repairWith repairs as a command does. It calls step before each call that changes the disk. After step has
// failed, no other call is made.
func (w *repetition) repairWith(step func(string) error) error {
	w.Helper()
	var killed error
	once := func(call string) error {
		if killed == nil {
			killed = step(call)
		}
		return killed
	}
	p := w.propose(w.client())
	j, err := journal.Open(w.journal(), journal.Options{Step: once})
	if err != nil {
		return err
	}
	defer func() { _ = j.Close() }()
	st, err := w.writer(j.ID(), once)
	if err != nil {
		return err
	}
	_, err = txn.Run(context.WithoutCancel(w.Context()), j, st, p)
	return errors.Join(err, killed)
}

func (w *repetition) writer(owner string, step func(string) error) (txn.Store, error) {
	switch w.c.store {
	case "tree 1.1":
		return tree.Open(w.path, false, tree.Options{Owner: owner, Step: step})
	case "transcripts":
		st, err := claude.Agent{}.Open(agent.Located{Path: w.path}, nil)
		if err != nil {
			return nil, err
		}
		return st.Writer(owner)
	}
	return database.Open(w.path, database.Options{Step: step})
}

// twoProcesses starts two commands at once.
func (w *repetition) twoProcesses(repaired map[string]string) {
	w.Helper()
	o := newRepetition(w.T, w.c)
	var both [2]*exec.Cmd
	var out [2]bytes.Buffer
	for i := range both {
		both[i] = exec.Command("mend", "repair", o.session, "--store", o.path, "--latent", "--force", "--yes")
		both[i].Env = append(os.Environ(), "HOME="+o.dir, "XDG_STATE_HOME="+o.dir, "XDG_CACHE_HOME="+o.dir, "XDG_CONFIG_HOME="+o.dir)
		both[i].Stdout, both[i].Stderr = &out[i], &out[i]
		if err := both[i].Start(); err != nil {
			w.Fatal(err)
		}
	}
	for i := range both {
		_ = both[i].Wait()
		if code := both[i].ProcessState.ExitCode(); code != frame.ExitDone && code != frame.ExitProblems && code != frame.ExitRefused && code != frame.ExitConflict {
			w.Errorf("process %d exits with %d:\n%s", i, code, &out[i])
		}
	}
	es, err := mend.OpenJournal(filepath.Join(o.dir, "mend")).Log(journal.Query{State: change.Committed})
	if err != nil || len(es) != 1 {
		w.Errorf("two processes leave %d repairs, %v:\n%s\n%s", len(es), err, &out[0], &out[1])
	}
	if !maps.Equal(o.snapshot(), repaired) {
		w.Error("the store after two processes differs from the store after one")
	}
}

// checkTable compares the table between two marks of testdata/found.md with the results: found gets the table, and
// returns the correct table and the differences. With -update it writes the table.
func checkTable(t *testing.T, begin, end string, found func(written string) (now string, differ []string)) {
	t.Helper()
	const page = "../../testdata/found.md"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begins := strings.Cut(string(data), begin)
	written, tail, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("testdata/found.md does not have the marks %s and %s", begin, end)
	}
	now, differ := found(written)
	switch {
	case *update:
		if err := os.WriteFile(page, []byte(head+begin+now+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	case len(differ) > 0:
		t.Errorf("the table in testdata/found.md differs from the results; -update writes it:\n%s", strings.Join(differ, "\n"))
	}
}
