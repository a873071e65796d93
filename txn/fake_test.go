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

// A disk is the memory of a fakeStore: records and staged changes.
type disk struct {
	records map[string]string
	staged  map[string]int // ops, by folder
}

// A fakeStore writes one record after the other, and decides by content alone. Its hooks replace a method's result.
type fakeStore struct {
	*disk
	step   func(call string) error
	calls  []string // of Settle and Discard
	commit func(change.Staged) (change.Outcome, error)
	settle func(change.Staged) (change.Outcome, error)
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

// A world is a fake disk with a journal. Each call opens both again, as a new process would.
type world struct {
	t *testing.T
	disk
	dir string
}

func newWorld(t *testing.T) *world {
	return &world{t, disk{map[string]string{"a": "1", "gone": "1"}, map[string]int{}}, storetest.FastDir(t)}
}

// open calls do with journal and store, both with the step hook, which may be nil.
func (w *world) open(step func(string) error, do func(*journal.Journal, *fakeStore) error) error {
	if step == nil {
		step = func(string) error { return nil }
	}
	j, err := journal.Open(filepath.Join(w.dir, "journal"), journal.Options{Step: step})
	if err != nil {
		return err
	}
	return errors.Join(do(j, &fakeStore{disk: &w.disk, step: step}), j.Close())
}

func (w *world) run(step func(string) error, ops []change.Op) error {
	return w.open(step, func(j *journal.Journal, s *fakeStore) error {
		_, err := txn.Run(context.Background(), j, s, planOf(ops...))
		return err
	})
}

func (w *world) recover(step func(string) error) error {
	return w.open(step, func(j *journal.Journal, s *fakeStore) error {
		_, err := txn.Recover(context.Background(), j, s, storeID, pendingIn(w.t, j))
		return err
	})
}

func (w *world) entries() (es []change.Entry) {
	w.t.Helper()
	err := w.open(nil, func(j *journal.Journal, _ *fakeStore) (err error) {
		if _, err = j.Verify(); err == nil {
			es, err = j.List(journal.Query{})
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
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

// threeOps change a record, make one and remove one.
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
func (w *world) wantConsistent(step string, before, after map[string]string) bool {
	w.t.Helper()
	es := w.entries()
	committed := len(es) > 0 && es[0].State == change.Committed
	want := before
	if committed {
		want = after
	} else if len(es) > 0 && es[0].State != change.Aborted {
		w.t.Fatalf("%s: the entry is %s", step, es[0].State)
	}
	if !maps.Equal(w.records, want) || len(w.staged) > 0 {
		w.t.Fatalf("%s: committed %t, and the store has %v, staged %v", step, committed, w.records, w.staged)
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
