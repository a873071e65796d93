package txn_test

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"mend/change"
	"mend/internal/test/storetest"
	"mend/journal"
	"mend/txn"
)

// A disk has the records and the staged changes of a fakeStore. It outlives the store, as after a kill.
type disk struct {
	records map[string]string
	staged  map[string]int // the number of ops, by folder
}

// A fakeStore writes one record after the other. Settle decides by content alone.
type fakeStore struct {
	*disk
	step   func(call string) error
	calls  []string                                    // of Settle and Discard
	commit func(change.Staged) (change.Outcome, error) // replaces Commit, unless nil
	settle func(change.Staged) (change.Outcome, error) // replaces Settle, unless nil
}

var storeID = change.StoreID{Kind: "fake", Root: "/fake"}

func (s *fakeStore) Prepare(_ context.Context, p change.Plan) (change.Staged, error) {
	st := change.Staged{Store: storeID, Dir: p.Ops[0].Ref.String(), Ops: p.Ops}
	for _, o := range p.Ops {
		if now, ok := s.records[o.Ref.String()]; ok != (o.Pre != nil) || ok && now != string(o.Pre.Data) {
			return st, &change.ConflictError{Conflicts: []change.Conflict{{Ref: o.Ref, Why: "it is " + now}}}
		}
	}
	if err := s.step("stage"); err != nil {
		return st, err
	}
	s.staged[st.Dir] = len(p.Ops)
	return st, nil
}

func (s *fakeStore) Commit(_ context.Context, st change.Staged) (change.Outcome, error) {
	if s.commit != nil {
		return s.commit(st)
	}
	return change.Outcome{State: change.Committed}, s.write(st.Ops)
}

// write puts every Post in place. Only a crash makes it fail.
func (s *fakeStore) write(ops []change.Op) error {
	for _, o := range ops {
		if err := s.step("write " + o.Ref.String()); err != nil {
			return err
		}
		if delete(s.records, o.Ref.String()); o.Post != nil {
			s.records[o.Ref.String()] = string(o.Post.Data)
		}
	}
	return nil
}

func (s *fakeStore) Settle(ctx context.Context, st change.Staged) (change.Outcome, error) {
	s.calls = append(s.calls, "settle "+st.Dir)
	if s.settle != nil {
		return s.settle(st)
	}
	for _, o := range st.Ops {
		if now, ok := s.records[o.Ref.String()]; ok != (o.Post != nil) || ok && now != string(o.Post.Data) {
			return change.Outcome{State: change.Aborted}, errors.Join(ctx.Err(), s.write(change.Inverse(st.Ops)))
		}
	}
	return change.Outcome{State: change.Committed}, ctx.Err()
}

func (s *fakeStore) Discard(ctx context.Context, st change.Staged) error {
	s.calls = append(s.calls, "discard "+st.Dir)
	if err := errors.Join(ctx.Err(), s.step("discard")); err != nil {
		return err
	}
	if delete(s.staged, st.Dir); st.Dir == "" {
		clear(s.staged)
	}
	return nil
}

// A fixture is a disk with a journal. Each call opens store and journal again, as a new process would.
type fixture struct {
	t *testing.T
	disk
	dir string
}

func newFixture(t *testing.T) *fixture {
	return &fixture{t, disk{map[string]string{"a": "1", "gone": "1"}, map[string]int{}}, storetest.FastDir(t)}
}

// open opens the journal and the store with the step hook, which may be nil, and calls do with them.
func (f *fixture) open(step func(string) error, do func(*journal.Journal, *fakeStore) error) error {
	if step == nil {
		step = func(string) error { return nil }
	}
	j, err := journal.Open(filepath.Join(f.dir, "journal"), journal.Options{Step: step})
	if err != nil {
		return err
	}
	return errors.Join(do(j, &fakeStore{disk: &f.disk, step: step}), j.Close())
}

func (f *fixture) run(step func(string) error, ops []change.Op) error {
	return f.open(step, func(j *journal.Journal, s *fakeStore) error {
		_, err := txn.Run(context.Background(), j, s, planOf(ops...))
		return err
	})
}

func (f *fixture) recover(step func(string) error) error {
	return f.open(step, func(j *journal.Journal, s *fakeStore) error {
		_, err := txn.Recover(context.Background(), j, s, storeID, pendingIn(f.t, j))
		return err
	})
}

func (f *fixture) entries() (es []change.Entry) {
	f.t.Helper()
	err := f.open(nil, func(j *journal.Journal, _ *fakeStore) (err error) {
		if _, err = j.Verify(""); err == nil {
			es, err = j.List(journal.Query{})
		}
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return es
}

func pendingIn(t *testing.T, j *journal.Journal) []change.Entry {
	t.Helper()
	es, err := j.List(journal.Query{State: change.Pending})
	if err != nil {
		t.Fatal(err)
	}
	return es
}

func sessionRef(name string) change.Ref {
	return change.Ref{Kind: change.KindSession, Session: name}
}

func planOf(ops ...change.Op) change.Plan {
	return change.Plan{Session: ops[0].Ref.Session, Cause: change.Cause{Kind: change.CauseScan}, Ops: ops}
}

// threeOps returns ops that change, create and delete a record.
func threeOps() []change.Op {
	return []change.Op{
		{Ref: sessionRef("a"), Pre: file("1"), Post: file("2")},
		{Ref: sessionRef("new"), Post: file("2")},
		{Ref: sessionRef("gone"), Pre: file("1")},
	}
}

var (
	before = map[string]string{"a": "1", "gone": "1"}
	after  = map[string]string{"a": "2", "new": "2"}
)

// wantConsistent checks that all records are as before the change or as after it, as the state of the journal's
// newest entry requires, and that nothing is staged. It reports whether they are as after the change.
func (f *fixture) wantConsistent(step string, before, after map[string]string) bool {
	f.t.Helper()
	es := f.entries()
	committed := len(es) > 0 && es[0].State == change.Committed
	want := before
	if committed {
		want = after
	} else if len(es) > 0 && es[0].State != change.Aborted {
		f.t.Fatalf("%s: the entry is %s", step, es[0].State)
	}
	if !maps.Equal(f.records, want) || len(f.staged) > 0 {
		f.t.Fatalf("%s: committed %t, and the store has %v, staged %v", step, committed, f.records, f.staged)
	}
	return committed
}

// wantCalls checks the calls of Settle and Discard.
func (s *fakeStore) wantCalls(t *testing.T, when string, want ...string) {
	t.Helper()
	if !slices.Equal(s.calls, want) {
		t.Errorf("%s: the calls are %q, want %q", when, s.calls, want)
	}
}
