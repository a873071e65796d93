package txn_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/change"
	"mend/fsstore"
	"mend/internal/storetest"
	"mend/internal/wound"
	"mend/journal"
	"mend/session"
	"mend/testdata"
	"mend/txn"
)

// A world is a store with a journal, opened anew for each act, as by a new
// process.
type world struct {
	t    *testing.T
	dir  string
	root string
	id   string // of the session
}

func newWorld(t *testing.T) world {
	t.Helper()
	dir := storetest.FastDir(t)
	id, err := testdata.Unpack(testdata.OpenCode1153, dir)
	if err != nil {
		t.Fatal(err)
	}
	return world{t, dir, filepath.Join(dir, "opencode", "storage"), id}
}

// act opens journal and store, each with the step hook, and runs f.
func (w world) act(step func(string) error, f func(*journal.Journal, *fsstore.Store) error) error {
	j, err := journal.Open(filepath.Join(w.dir, "journal"), journal.Options{Step: step})
	if err != nil {
		return err
	}
	st, err := fsstore.Open(w.root, "", fsstore.Options{Owner: j.ID(), Step: step})
	if err == nil {
		err = f(j, st)
	}
	return errors.Join(err, j.Close())
}

func (w world) snapshot() map[string]string {
	w.t.Helper()
	all, err := wound.Snapshot(w.root)
	if err != nil {
		w.t.Fatal(err)
	}
	for name := range all {
		if strings.HasPrefix(name, ".mend") {
			delete(all, name)
		}
	}
	delete(all, ".") // its mode only, but ext4 counts links in it
	return all
}

// plan is a plan that creates, in a new folder too, changes and deletes.
func (w world) plan() change.Plan {
	w.t.Helper()
	st, err := fsstore.Open(w.root, "", fsstore.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	before, err := st.Load(w.t.Context(), session.Session{ID: w.id})
	if err != nil {
		w.t.Fatal(err)
	}
	after := before.Clone()
	first, answer := &after.Messages[0], &after.Messages[1]
	if !after.InjectText(first, "prt_zzz", "created") {
		w.t.Fatal("no text injected")
	}
	if err := answer.Parts[2].Set([]byte(`"changed"`), "text"); err != nil {
		w.t.Fatal(err)
	}
	answer.Remove(answer.Parts[1].Ref)
	return change.Plan{Session: w.id, Cause: change.Cause{Kind: change.CauseScan}, Ops: change.Diff(before, after)}
}

func (w world) entries() []change.Entry {
	w.t.Helper()
	var es []change.Entry
	err := w.act(nil, func(j *journal.Journal, _ *fsstore.Store) (err error) {
		if _, err = j.Verify(); err != nil {
			return err
		}
		es, err = j.List(journal.Query{})
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return es
}

// lost removes the folder of the first message's parts, so that the plan makes it.
func (w world) lost() {
	w.t.Helper()
	messages, parts := wound.Tree{T: w.t, Root: w.root, Session: w.id}.Records()
	for _, p := range parts {
		if p.Owner == messages[0].ID {
			if err := os.RemoveAll(filepath.Join(w.root, "part", p.Owner)); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// decided checks that the store is wholly before or wholly after, that the
// journal says which, and that nothing is left over. It returns whether after.
func (w world) decided(k int, before, after map[string]string) bool {
	w.t.Helper()
	es := w.entries()
	now := w.snapshot()
	var want map[string]string
	switch {
	case len(es) == 0 || es[0].State == change.Aborted:
		want = before
	case es[0].State == change.Committed:
		want = after
	default:
		w.t.Fatalf("step %d: the entry is %s after recovery", k, es[0].State)
	}
	if diff := cmp.Diff(want, now); diff != "" {
		w.t.Fatalf("step %d: the journal and the store disagree (-journal +store):\n%s", k, diff)
	}
	return len(es) > 0 && es[0].State == change.Committed
}

func (w world) noLitter(k int) {
	w.t.Helper()
	if left, err := os.ReadDir(filepath.Join(w.root, ".mend")); err == nil && len(left) > 0 {
		w.t.Errorf("step %d: left over in .mend: %v", k, left)
	}
}

// run carries out p, failing as f says.
func (w world) run(f *storetest.Fault, p change.Plan) error {
	return w.act(f.Step, func(j *journal.Journal, st *fsstore.Store) error {
		_, err := txn.Run(context.Background(), j, st, p)
		return err
	})
}

// recover finishes what is pending, failing as f says.
func (w world) recover(f *storetest.Fault) error {
	return w.act(f.Step, func(j *journal.Journal, st *fsstore.Store) error {
		_, err := txn.Recover(context.Background(), j, st, st.ID())
		return err
	})
}

const never = 1 << 30

// ends gives the store before and after a run that nothing disturbs.
func ends(t *testing.T) (before, after map[string]string, steps int) {
	t.Helper()
	w := newWorld(t)
	w.lost()
	before = w.snapshot()
	f := &storetest.Fault{At: never}
	if err := w.run(f, w.plan()); err != nil {
		t.Fatal(err)
	}
	w.noLitter(never)
	return before, w.snapshot(), len(f.Calls)
}

// Whatever call it dies at, or that fails, the journal's own included: after
// recovery the store is whole, and a run that was told to be done is done. Fault cases 14 and 17.
func TestFaultAtEveryStep(t *testing.T) {
	before, after, steps := ends(t)
	if steps < 10 {
		t.Fatalf("a run has %d steps: the hook is not called", steps)
	}
	for _, once := range []bool{false, true} {
		var forward, back int
		for k := range steps {
			w := newWorld(t)
			w.lost()
			f := &storetest.Fault{At: k, Once: once}
			err := w.run(f, w.plan())
			var unsure *txn.PendingError
			if es := w.entries(); len(es) > 0 && es[0].State == change.Pending && !errors.As(err, &unsure) {
				t.Errorf("step %d (%s): the entry is pending; Run = %v, want a PendingError", k, f.Calls[k], err)
			}
			if rerr := w.recover(&storetest.Fault{At: never}); rerr != nil {
				t.Fatalf("step %d: Recover: %v", k, rerr)
			}
			committed := w.decided(k, before, after)
			w.noLitter(k)
			if err == nil && !committed {
				t.Errorf("step %d (%s): Run said done, and it is not", k, f.Calls[k])
			}
			if committed {
				forward++
			} else {
				back++
			}
		}
		t.Logf("once %t: %d steps, %d wholly after, %d wholly before", once, steps, forward, back)
		if forward == 0 || back == 0 {
			t.Errorf("once %t: %d after, %d before: want some of each", once, forward, back)
		}
	}
}

// Recovery that is itself cut, at every step of it, converges. Fault cases 15 and 34.
func TestRecoveryCutAtEveryStep(t *testing.T) {
	before, after, steps := ends(t)
	for k := 0; k < steps; k += 3 {
		for cut := 0; ; cut++ {
			w := newWorld(t)
			w.lost()
			_ = w.run(&storetest.Fault{At: k}, w.plan())
			f := &storetest.Fault{At: cut}
			_ = w.recover(f)
			if err := w.recover(&storetest.Fault{At: never}); err != nil {
				t.Fatalf("step %d, recovery cut at %d: %v", k, cut, err)
			}
			w.decided(k, before, after)
			w.noLitter(k)
			if !f.Hit() {
				break
			}
		}
	}
}

// An undo is a run like any other: cut at every step it leaves the store with
// the repair or without it. Fault case 34.
func TestUndoCutAtEveryStep(t *testing.T) {
	before, after, steps := ends(t)
	for k := 0; k < steps; k += 2 {
		w := newWorld(t)
		w.lost()
		if err := w.run(&storetest.Fault{At: never}, w.plan()); err != nil {
			t.Fatal(err)
		}
		var ops []change.Op
		err := w.act(nil, func(j *journal.Journal, _ *fsstore.Store) (err error) {
			es, err := j.List(journal.Query{})
			if err == nil {
				ops, err = j.Ops(es[0])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		inverse := change.Plan{Session: w.id, Cause: change.Cause{Kind: change.CauseUndo, Entries: []uint64{1}}, Ops: change.Inverse(ops)}
		_ = w.run(&storetest.Fault{At: k}, inverse)
		if err := w.recover(&storetest.Fault{At: never}); err != nil {
			t.Fatalf("step %d: Recover: %v", k, err)
		}
		if len(w.entries()) == 1 || w.entries()[0].State == change.Aborted { // the undo never took effect
			if diff := cmp.Diff(after, w.snapshot()); diff != "" {
				t.Fatalf("step %d: without the undo (-want +got):\n%s", k, diff)
			}
			continue
		}
		w.decided(k, after, before)
	}
}

// Errors of Run that change nothing leave nothing. Fault case 35.
func TestRunRefuses(t *testing.T) {
	w := newWorld(t)
	before := w.snapshot()
	p := w.plan()
	wrong := p
	wrong.Ops = append([]change.Op{}, p.Ops...)
	wrong.Ops[0].Pre = &change.Image{Data: []byte("something else"), Mode: 0o644}
	var conflict *change.ConflictError
	if err := w.run(&storetest.Fault{At: never}, wrong); !errors.As(err, &conflict) {
		t.Errorf("Run on a record that changed: %v, want a conflict", err)
	}
	if err := w.run(&storetest.Fault{At: never}, change.Plan{Session: w.id}); !errors.Is(err, change.ErrInvalid) {
		t.Errorf("Run of an empty plan: %v, want ErrInvalid", err)
	}
	w.noLitter(0)
	if diff := cmp.Diff(before, w.snapshot()); diff != "" {
		t.Errorf("the store changed (-want +got):\n%s", diff)
	}
	if es := w.entries(); len(es) > 0 {
		t.Errorf("the journal has %v, want nothing", es)
	}
}
