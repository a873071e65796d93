package mend_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend"
	"mend/agent"
	"mend/change"
	"mend/journal"
	"mend/repair"
	"mend/session"
	"mend/txn"
)

// A toyAgent shows what an agent has to implement. Its store is a folder, a session is a
// text file in it, and each line of the file is a message. It has one rule, that no
// message is blank, and one fix, a placeholder.
type toyAgent struct {
	agent.BaseAgent

	folder string
	crash  *toyCrash // nil for none
}

// A toyCrash ends the process in Commit.
type toyCrash struct {
	after bool // after the write, else before it
	ended bool
}

var errCrash = errors.New("the process has ended")

func (toyAgent) Name() string { return "toy" }

func (toyAgent) Classes() []repair.Class { return []repair.Class{repair.EmptyContentMessage} }

func (a toyAgent) Find(string) ([]agent.Located, error) {
	return []agent.Located{{Path: a.folder, Layout: "text"}}, nil
}

func (a toyAgent) Open(at agent.Located, _ func(string)) (agent.Store, error) {
	return toyStore{toyAgent: toyAgent{folder: at.Path, crash: a.crash}}, nil
}

type toyStore struct {
	agent.Base
	toyAgent
}

func (s toyStore) ID() change.StoreID { return change.StoreID{Kind: "toy", Root: s.folder} }

func (s toyStore) file(session string) string { return filepath.Join(s.folder, session+".txt") }

func (s toyStore) List(context.Context) (heads []session.Head, err error) {
	files, err := filepath.Glob(s.file("*"))
	for _, f := range files {
		heads = append(heads, session.Head{ID: strings.TrimSuffix(filepath.Base(f), ".txt")})
	}
	return heads, err
}

func (s toyStore) Records(_ context.Context, head session.Head) ([]session.Record, error) {
	data, err := os.ReadFile(s.file(head.ID))
	return []session.Record{{Ref: session.Ref{Kind: session.KindSession, Session: head.ID}, Data: data, Mode: 0o600}}, err
}

func (s toyStore) Case(ctx context.Context, head session.Head, _ repair.Request) (repair.Case, error) {
	records, err := s.Records(ctx, head)
	if err != nil {
		return nil, err
	}
	return newToyCase(records[0]), nil
}

func (s toyStore) Read(_ context.Context, refs []session.Ref) ([]*change.Image, error) {
	images := make([]*change.Image, len(refs))
	for i, r := range refs {
		if data, err := os.ReadFile(s.file(r.Session)); err == nil {
			images[i] = &change.Image{Data: data, Mode: 0o600}
		}
	}
	return images, nil
}

func (s toyStore) Writer(string) (txn.Store, error) { return s, nil }

// A toyCase is a conversation.
type toyCase struct {
	repair.BaseCase

	record   session.Record
	lines    []string
	findings repair.Findings
}

func newToyCase(r session.Record) *toyCase {
	c := &toyCase{record: r, lines: strings.Split(strings.TrimSuffix(string(r.Data), "\n"), "\n")}
	for i, line := range c.lines {
		if strings.TrimSpace(line) == "" {
			c.findings.Add(repair.InUse, repair.Finding{Code: "blank", Ref: r.Ref, Detail: fmt.Sprint(i), Class: repair.EmptyContentMessage, Severity: repair.Broken})
		}
	}
	return c
}

func (c *toyCase) Findings() *repair.Findings               { return &c.findings }
func (c *toyCase) Records(yield func(*session.Record) bool) { yield(&c.record) }
func (c *toyCase) Has(r session.Ref) bool                   { return r == c.record.Ref }
func (c *toyCase) Draft() repair.Draft {
	return &toyDraft{c: c, lines: slices.Clone(c.lines)}
}

func (c *toyCase) Describe(f repair.Finding) repair.Diagnosis {
	return repair.Diagnosis{Rule: f.Code, Class: f.Class, Severity: f.Severity, Ref: f.Ref, Message: f.Detail, Why: "The message is blank."}
}

func (c *toyCase) Fixes(f repair.Finding, _ repair.Draft) ([]repair.Fix, error) {
	return []repair.Fix{{Text: "It becomes a placeholder.", Alike: true, Edit: func(d repair.Draft) error {
		var i int
		_, err := fmt.Sscan(f.Detail, &i)
		d.(*toyDraft).lines[i] = "(nothing)"
		return err
	}}}, nil
}

// A toyDraft copies everything for each edit.
type toyDraft struct {
	repair.NoEdits

	c     *toyCase
	lines []string
}

func (d *toyDraft) Apply(_ repair.Finding, x repair.Fix) (repair.Edit, error) {
	before := slices.Clone(d.lines)
	if err := x.Edit(d); err != nil {
		d.lines = before
		return nil, err
	}
	return before, nil
}

func (d *toyDraft) Undo(e repair.Edit) { d.lines = e.([]string) }

func (d *toyDraft) Case() repair.Case {
	r := d.c.record
	r.Data = []byte(strings.Join(d.lines, "\n") + "\n")
	return newToyCase(r)
}

// Transactions: a new content is written beside the file and renamed over it.

func (s toyStore) staged(o change.Op) string { return s.file(o.Ref.Session) + ".new" }

func (s toyStore) Prepare(ctx context.Context, p change.Plan) (change.Staged, error) {
	st := change.Staged{Store: s.ID(), Ops: p.Ops}
	if out, err := s.Settle(ctx, st); err != nil || out.State != change.Aborted {
		return st, errors.Join(err, &change.ConflictError{Conflicts: out.Conflicts})
	}
	return st, os.WriteFile(s.staged(p.Ops[0]), p.Ops[0].Post.Data, p.Ops[0].Post.Mode)
}

func (s toyStore) Commit(ctx context.Context, st change.Staged) (change.Outcome, error) {
	if s.crash != nil {
		s.crash.ended = true
	}
	if s.crash == nil || s.crash.after {
		if err := os.Rename(s.staged(st.Ops[0]), s.file(st.Ops[0].Ref.Session)); err != nil {
			return change.Outcome{}, err
		}
	}
	return s.Settle(ctx, st)
}

func (s toyStore) Settle(ctx context.Context, st change.Staged) (change.Outcome, error) {
	if s.crash != nil && s.crash.ended {
		return change.Outcome{}, errCrash
	}
	o := st.Ops[0]
	now, err := s.Read(ctx, []session.Ref{o.Ref})
	switch {
	case err != nil:
		return change.Outcome{}, err
	case now[0].Equal(o.Post):
		return change.Outcome{State: change.Committed}, nil
	case now[0].Equal(o.Pre):
		return change.Outcome{State: change.Aborted}, nil
	}
	c := change.Conflict{Ref: o.Ref, Pre: o.Pre, Post: o.Post, Now: now[0], Why: "changed meanwhile"}
	return change.Outcome{State: change.Conflicted, Conflicts: []change.Conflict{c}}, nil
}

func (s toyStore) Discard(_ context.Context, st change.Staged) error {
	for _, o := range st.Ops {
		if err := os.Remove(s.staged(o)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// toyConversation is a session of the toy agent with two faults.
const toyConversation = "hello\n\nhow are you?\n \n"

func toyClient(t *testing.T, crash *toyCrash, dir string) (*mend.Client, mend.Options) {
	t.Helper()
	o := mend.Options{
		Agents:  []agent.Agent{toyAgent{folder: filepath.Join(dir, "talks"), crash: crash}},
		Journal: filepath.Join(dir, "journal"), Cache: filepath.Join(dir, "cache"),
	}
	c, err := mend.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return c, o
}

func toyFolder(t *testing.T) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "talks", "ses_1.txt")
	err := os.Mkdir(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte(toyConversation), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, file
}

func wantFile(t *testing.T, when, file, want string) {
	t.Helper()
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%s: the conversation is %q, %v, want %q", when, got, err, want)
	}
}

// An agent gets scan, repair, undo, redo and log from the facade.
func TestToyAgent(t *testing.T) {
	dir, file := toyFolder(t)
	c, o := toyClient(t, nil, dir)
	heads, err := c.Sessions(t.Context())
	if err != nil || len(heads) != 1 {
		t.Fatalf("Sessions = %v, %v, want one", heads, err)
	}
	scan := func(when string, want int) {
		t.Helper()
		for f := range c.ScanAll(t.Context(), heads) {
			if f.Err != nil || len(f.Diagnoses) != want {
				t.Errorf("%s: Scan found %v, %v, want %d findings", when, f.Diagnoses, f.Err, want)
			}
		}
	}
	apply := func(p change.Plan, err error) change.Entry {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		e, err := c.Apply(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	scan("first", 2)
	r, err := c.ProposeRepair(t.Context(), heads[0], repair.Request{})
	if len(r.Fixed) != 2 || len(r.Remaining) != 0 {
		t.Errorf("ProposeRepair fixes %v and leaves %v, want two and none", r.Fixed, r.Remaining)
	}
	e := apply(r.Plan, err)
	wantFile(t, "repaired", file, "hello\n(nothing)\nhow are you?\n(nothing)\n")
	scan("repaired", 0)
	apply(c.ProposeUndo(t.Context(), mend.UndoRequest{ID: e.ID}))
	wantFile(t, "undone", file, toyConversation)
	apply(c.ProposeRedo(t.Context(), e.ID, false))
	scan("redone", 0)
	if es, err := o.Log(journal.Query{Session: "ses_1"}); err != nil || len(es) != 3 {
		t.Errorf("Log = %v, %v, want three entries", es, err)
	}
	if err := os.WriteFile(file, []byte("something else\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var conflict *change.ConflictError
	if _, err := c.ProposeUndo(t.Context(), mend.UndoRequest{Session: "ses_1"}); !errors.As(err, &conflict) {
		t.Errorf("ProposeUndo of a conversation that was changed: %v, want a conflict", err)
	}
}

// An interrupted repair of the agent is completed or rolled back.
func TestToyAgentCrash(t *testing.T) {
	for _, after := range []bool{false, true} {
		dir, file := toyFolder(t)
		c, _ := toyClient(t, &toyCrash{after: after}, dir)
		var pending *txn.PendingError
		if _, _, err := c.Repair(t.Context(), "ses_1", repair.Request{}); !errors.As(err, &pending) {
			t.Fatalf("Repair that is cut = %v, want that it is pending", err)
		}
		c, _ = toyClient(t, nil, dir)
		done, err := c.Recover(t.Context())
		state, want := change.Aborted, toyConversation
		if after {
			state, want = change.Committed, "hello\n(nothing)\nhow are you?\n(nothing)\n"
		}
		if err != nil || len(done) != 1 || done[0].State != state {
			t.Errorf("Recover = %v, %v, want one entry that is %s", done, err, state)
		}
		wantFile(t, "recovered", file, want)
	}
}
