package txn_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/agent/opencode/tree"
	"mend/change"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/journal"
	"mend/testdata"
	"mend/txn"
)

// A fixture is a store with a journal. Each call opens both again, as a new process would.
type fixture struct {
	t    *testing.T
	dir  string
	root string
	id   string // of the session
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	dir := storetest.FastDir(t)
	id, err := testdata.Unpack(testdata.OpenCode1153, dir)
	if err != nil {
		t.Fatal(err)
	}
	return fixture{t, dir, filepath.Join(dir, "opencode", "storage"), id}
}

// reopen opens journal and store, both with the step hook, and calls do.
func (f fixture) reopen(step func(string) error, do func(*journal.Journal, *tree.Store) error) error {
	j, err := journal.Open(filepath.Join(f.dir, "journal"), journal.Options{Step: step})
	if err != nil {
		return err
	}
	st, err := tree.Open(f.root, false, tree.Options{Owner: j.ID(), Step: step})
	if err == nil {
		err = do(j, st)
	}
	return errors.Join(err, j.Close())
}

// snapshot returns the files of the store except those of mend.
func (f fixture) snapshot() map[string]string {
	f.t.Helper()
	all, err := damage.Snapshot(f.root)
	if err != nil {
		f.t.Fatal(err)
	}
	for name := range all {
		if strings.HasPrefix(name, ".mend") {
			delete(all, name)
		}
	}
	delete(all, ".") // its mode only, but ext4 counts links in it
	return all
}

// plan returns a plan that creates, also in a new folder, changes and deletes.
func (f fixture) plan() change.Plan {
	f.t.Helper()
	st, err := tree.Open(f.root, false, tree.Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	before, _, err := st.Load(f.t.Context(), change.Head{ID: f.id})
	if err != nil {
		f.t.Fatal(err)
	}
	after := before.Clone()
	first, answer := &after.Messages[0], &after.Messages[1]
	if !after.InjectText(first, "prt_zzz", "created") {
		f.t.Fatal("no text injected")
	}
	if err := answer.Parts[2].Set([]byte(`"changed"`), "text"); err != nil {
		f.t.Fatal(err)
	}
	answer.Remove(answer.Parts[1].Ref)
	return change.Plan{Session: f.id, Cause: change.Cause{Kind: change.CauseScan}, Ops: change.Diff(before.AllRecords, after.AllRecords)}
}

// entries verifies the journal and returns its entries, newest first.
func (f fixture) entries() []change.Entry {
	f.t.Helper()
	var es []change.Entry
	err := f.reopen(nil, func(j *journal.Journal, _ *tree.Store) (err error) {
		if _, err = j.Verify(); err != nil {
			return err
		}
		es, err = j.List(journal.Query{})
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return es
}

// removeFirstParts removes the folder of the first message's parts, so that the plan creates it.
func (f fixture) removeFirstParts() {
	f.t.Helper()
	messages, parts := damage.Tree{T: f.t, Root: f.root, Session: f.id}.Records()
	for _, p := range parts {
		if p.Owner == messages[0].ID {
			if err := os.RemoveAll(filepath.Join(f.root, "part", p.Owner)); err != nil {
				f.t.Fatal(err)
			}
		}
	}
}

// wantConsistent checks that the store is completely as before or as after the plan, and that the
// journal says the same. It reports whether it is as after. k is the step that failed.
func (f fixture) wantConsistent(k int, before, after map[string]string) bool {
	f.t.Helper()
	es := f.entries()
	now := f.snapshot()
	var want map[string]string
	switch {
	case len(es) == 0 || es[0].State == change.Aborted:
		want = before
	case es[0].State == change.Committed:
		want = after
	default:
		f.t.Fatalf("step %d: the entry is %s after recovery", k, es[0].State)
	}
	if diff := cmp.Diff(want, now); diff != "" {
		f.t.Fatalf("step %d: the journal and the store disagree (-journal +store):\n%s", k, diff)
	}
	return len(es) > 0 && es[0].State == change.Committed
}

// wantNoLeftovers checks that nothing is staged. k is the step that failed.
func (f fixture) wantNoLeftovers(k int) {
	f.t.Helper()
	if left, err := os.ReadDir(filepath.Join(f.root, ".mend")); err == nil && len(left) > 0 {
		f.t.Errorf("step %d: left over in .mend: %v", k, left)
	}
}

// run applies p with a fault.
func (f fixture) run(fault *storetest.Fault, p change.Plan) error {
	return f.reopen(fault.Step, func(j *journal.Journal, st *tree.Store) error {
		_, err := txn.Run(context.Background(), j, st, p)
		return err
	})
}

// recover recovers with a fault.
func (f fixture) recover(fault *storetest.Fault) error {
	return f.reopen(fault.Step, func(j *journal.Journal, st *tree.Store) error {
		err := recoverAll(context.Background(), j, st)
		return err
	})
}

// noFault is a step that no run reaches.
const noFault = 1 << 30

// undisturbed returns the store before and after a run without a fault, and how many steps it has.
func undisturbed(t *testing.T) (before, after map[string]string, steps int) {
	t.Helper()
	f := newFixture(t)
	f.removeFirstParts()
	before = f.snapshot()
	fault := &storetest.Fault{At: noFault}
	if err := f.run(fault, f.plan()); err != nil {
		t.Fatal(err)
	}
	f.wantNoLeftovers(noFault)
	return before, f.snapshot(), len(fault.Calls)
}

// TestFaultAtEveryStep has each step fail, once or as if killed there, also those of the journal. After
// recovery the store is consistent, and a run that returned nil has taken effect. Fault cases 14
// and 17.
func TestFaultAtEveryStep(t *testing.T) {
	before, after, steps := undisturbed(t)
	if steps < 10 {
		t.Fatalf("a run has %d steps: the hook is not called", steps)
	}
	for _, once := range []bool{false, true} {
		var forward, back int
		for k := range steps {
			if !storetest.Includes(k, storetest.Thinned(2)) {
				continue
			}
			f := newFixture(t)
			f.removeFirstParts()
			fault := &storetest.Fault{At: k, Once: once}
			err := f.run(fault, f.plan())
			var pending *txn.PendingError
			if es := f.entries(); len(es) > 0 && es[0].State == change.Pending && !errors.As(err, &pending) {
				t.Errorf("step %d (%s): the entry is pending; Run = %v, want a PendingError", k, fault.Calls[k], err)
			}
			if rerr := f.recover(&storetest.Fault{At: noFault}); rerr != nil {
				t.Fatalf("step %d: Recover: %v", k, rerr)
			}
			committed := f.wantConsistent(k, before, after)
			f.wantNoLeftovers(k)
			if err == nil && !committed {
				t.Errorf("step %d (%s): Run said done, and it is not", k, fault.Calls[k])
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

// TestRecoveryCutAtEveryStep also kills the recovery at each of its steps. Fault cases 15 and 34.
func TestRecoveryCutAtEveryStep(t *testing.T) {
	before, after, steps := undisturbed(t)
	for k := 0; k < steps; k += storetest.Count(3, 9) {
		for cut := 0; ; cut++ {
			f := newFixture(t)
			f.removeFirstParts()
			_ = f.run(&storetest.Fault{At: k}, f.plan())
			fault := &storetest.Fault{At: cut}
			_ = f.recover(fault)
			if err := f.recover(&storetest.Fault{At: noFault}); err != nil {
				t.Fatalf("step %d, recovery cut at %d: %v", k, cut, err)
			}
			f.wantConsistent(k, before, after)
			f.wantNoLeftovers(k)
			if !fault.Hit() {
				break
			}
		}
	}
}

// TestUndoCutAtEveryStep kills an undo at each of its steps. The store then has the whole repair or
// nothing of it. Fault case 34.
func TestUndoCutAtEveryStep(t *testing.T) {
	before, after, steps := undisturbed(t)
	for k := 0; k < steps; k += storetest.Count(2, 6) {
		f := newFixture(t)
		f.removeFirstParts()
		if err := f.run(&storetest.Fault{At: noFault}, f.plan()); err != nil {
			t.Fatal(err)
		}
		var ops []change.Op
		err := f.reopen(nil, func(j *journal.Journal, _ *tree.Store) (err error) {
			es, err := j.List(journal.Query{})
			if err == nil {
				ops, err = j.Ops(es[0])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		inverse := change.Plan{Session: f.id, Cause: change.Cause{Kind: change.CauseUndo, Entries: []uint64{1}}, Ops: change.Inverse(ops)}
		_ = f.run(&storetest.Fault{At: k}, inverse)
		if err := f.recover(&storetest.Fault{At: noFault}); err != nil {
			t.Fatalf("step %d: Recover: %v", k, err)
		}
		if len(f.entries()) == 1 || f.entries()[0].State == change.Aborted { // the undo never took effect
			if diff := cmp.Diff(after, f.snapshot()); diff != "" {
				t.Fatalf("step %d: without the undo (-want +got):\n%s", k, diff)
			}
			continue
		}
		f.wantConsistent(k, after, before)
	}
}

// TestRunRefuses: after an error of Run that changes nothing, nothing is left over. Fault case 35.
func TestRunRefuses(t *testing.T) {
	f := newFixture(t)
	before := f.snapshot()
	p := f.plan()
	wrong := p
	wrong.Ops = append([]change.Op{}, p.Ops...)
	wrong.Ops[0].Pre = &change.Image{Data: []byte("something else"), Mode: 0o644}
	var conflict *change.ConflictError
	if err := f.run(&storetest.Fault{At: noFault}, wrong); !errors.As(err, &conflict) {
		t.Errorf("Run on a record that changed: %v, want a conflict", err)
	}
	if err := f.run(&storetest.Fault{At: noFault}, change.Plan{Session: f.id}); !errors.Is(err, change.ErrInvalid) {
		t.Errorf("Run of an empty plan: %v, want ErrInvalid", err)
	}
	f.wantNoLeftovers(0)
	if diff := cmp.Diff(before, f.snapshot()); diff != "" {
		t.Errorf("the store changed (-want +got):\n%s", diff)
	}
	if es := f.entries(); len(es) > 0 {
		t.Errorf("the journal has %v, want nothing", es)
	}
}

// recoverAll recovers everything that is pending.
func recoverAll(ctx context.Context, j *journal.Journal, st *tree.Store) error {
	pending, err := j.List(journal.Query{State: change.Pending})
	if err != nil {
		return err
	}
	_, err = txn.Recover(ctx, j, st, st.ID(), pending)
	return err
}
