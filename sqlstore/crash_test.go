package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"mend/change"
	"mend/internal/test/dbtest"
	"mend/internal/test/storetest"
	"mend/sqlstore"
)

func noContext() context.Context { return context.Background() }

// titleOp returns an op that changes the title of the session, without images if the session cannot be read.
func titleOp(s *sqlstore.Store, id string) change.Op {
	ref := change.Ref{Kind: change.KindSession, Session: id}
	pre, err := s.Read(noContext(), []change.Ref{ref})
	if err != nil || pre[0] == nil {
		return change.Op{Ref: ref}
	}
	r, _ := change.RowOf(ref, pre[0])
	r = r.WithCol(change.TextCol("title", "another"))
	return change.Op{Ref: ref, Pre: pre[0], Post: change.ImageOf(&r)}
}

var errCrash = errors.New("crash")

// TestFailAtEveryStep lets all calls from the k-th on fail, and settles with a new store: all rows are as before the change
// or as after it, as the outcome says.
func TestFailAtEveryStep(t *testing.T) {
	storetest.Long(t)
	for _, live := range []bool{false, true} {
		seen := map[change.State]int{}
		for k := 1; ; k++ {
			if !storetest.Includes(k) {
				continue
			}
			path, id := dbtest.Unpack(t, "1.18.33")
			if live {
				dbtest.Agent(t, path)
			}
			if !failAt(t, path, id, k, seen) {
				break
			}
		}
		if seen[change.Aborted] == 0 || seen[change.Committed] == 0 {
			t.Errorf("live %v: %v, want some of both", live, seen)
		}
		t.Logf("live %v: %v", live, seen)
	}
}

// failAt reports whether there was a k-th call.
func failAt(t *testing.T, path, id string, k int, seen map[change.State]int) bool {
	t.Helper()
	n := 0
	s := open(t, path, sqlstore.Options{Step: func(string) error {
		if n++; n >= k {
			return errCrash
		}
		return nil
	}})
	before := dbtest.Dump(t, path)
	st, err := s.Prepare(t.Context(), change.Plan{Ops: dbtest.MixedOps(t, load(t, s, id))})
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Commit(t.Context(), st)
	seen[settleAll(t, path, st, before, out, err)]++
	return n >= k
}

// settleAll settles with a fault at each step of Settle, and then without one. It checks that the outcome agrees with the
// database, and with the outcome of Commit if there was one.
func settleAll(t *testing.T, path string, st change.Staged, before string, returned change.Outcome, err error) change.State {
	t.Helper()
	for k := 1; ; k++ {
		n := 0
		again := open(t, path, sqlstore.Options{Step: func(string) error {
			if n++; n == k {
				return errCrash
			}
			return nil
		}})
		out, settleErr := again.Settle(t.Context(), st)
		if settleErr != nil && n >= k {
			continue
		}
		changed := dbtest.Dump(t, path) != before
		if settleErr != nil || changed != (out.State == change.Committed) || len(out.Conflicts) > 0 {
			t.Fatalf("step %d: Settle = %+v, %v; changed: %v", k, out, settleErr, changed)
		}
		if err == nil && returned.State != out.State {
			t.Errorf("Commit returned %s, Settle %s", returned.State, out.State)
		}
		if n < k {
			return out.State
		}
	}
}

// TestKillAtEveryStep is TestFailAtEveryStep with a process that is killed.
func TestKillAtEveryStep(t *testing.T) {
	storetest.Long(t)
	for _, live := range []bool{false, true} {
		seen := map[change.State]int{}
		for k, ended := 1, false; !ended; k++ {
			if !storetest.Includes(k) {
				continue
			}
			path, id := dbtest.Unpack(t, "1.2.27")
			if live {
				dbtest.Agent(t, path)
			}
			s := open(t, path, sqlstore.Options{})
			before := dbtest.Dump(t, path)
			ops := dbtest.MixedOps(t, load(t, s, id))
			ended = start(t, "crash", path, fmt.Sprintf("%s %d", id, k)).cmd.Wait() == nil
			out, err := s.Settle(t.Context(), change.Staged{Store: s.ID(), Ops: ops})
			if changed := dbtest.Dump(t, path) != before; err != nil || changed != (out.State == change.Committed) {
				t.Fatalf("killed at %d: Settle = %+v, %v; changed: %v", k, out, err, changed)
			}
			seen[out.State]++
		}
		if seen[change.Aborted] == 0 || seen[change.Committed] == 0 {
			t.Errorf("live %v: %v, want some of both", live, seen)
		}
		t.Logf("live %v: %v", live, seen)
	}
}

// crash changes the session, and kills its own process before the k-th step. arg has the id and k.
func crash(path, arg string) error {
	var id string
	var k int
	if _, err := fmt.Sscan(arg, &id, &k); err != nil {
		return err
	}
	s, err := sqlstore.Open(path, specs(), sqlstore.Options{Step: func(string) error {
		if k--; k == 0 {
			self, err := os.FindProcess(os.Getpid())
			if err != nil {
				return err
			}
			_ = self.Kill()
			select {}
		}
		return nil
	}})
	if err != nil {
		return err
	}
	before, err := read(noContext(), s, id)
	if err != nil {
		return err
	}
	t := &testing.T{}
	out := dbtest.Run(backgroundT{t}, s, dbtest.MixedOps(t, before))
	return out.Cause
}

// A backgroundT is a T for a process in which no test runs.
type backgroundT struct{ *testing.T }

func (backgroundT) Context() context.Context { return noContext() }

// TestStaleFrames: a writer that is killed before it updates the -shm leaves a whole transaction in the -wal, which no reader
// sees. After Settle has returned Aborted, the transaction does not appear when the -shm is rebuilt.
func TestStaleFrames(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	c := dbtest.Agent(t, path)
	dbtest.Exec(t, c, "UPDATE session SET title = 'x'")
	s := open(t, path, sqlstore.Options{})
	ops := dbtest.MixedOps(t, load(t, s, id))
	before := dbtest.Dump(t, path)

	// The same transaction in a copy gives the frames.
	copied := copyFiles(t, path)
	if out := dbtest.Run(t, open(t, copied, sqlstore.Options{}), ops); out.State != change.Committed {
		t.Fatalf("Commit = %+v", out)
	}
	frames := dbtest.Files(t, copied)[dbtest.Name+"-wal"]
	dbtest.Write(t, path+"-wal", frames)
	if !dbtest.HasText(load(t, open(t, copyFiles(t, path), sqlstore.Options{}), id), "changed") {
		t.Fatal("the frames have no transaction: the test proves nothing")
	}
	if dbtest.Dump(t, path) != before {
		t.Fatal("readers see the frames: the test proves nothing")
	}
	out, err := s.Settle(t.Context(), change.Staged{Store: s.ID(), Ops: ops})
	if err != nil || out.State != change.Aborted {
		t.Fatalf("Settle = %+v, %v", out, err)
	}
	if dbtest.Dump(t, path) != before {
		t.Error("Settle changed rows")
	}
	if dbtest.Dump(t, copyFiles(t, path)) != before {
		t.Error("the transaction appears when the -shm is rebuilt")
	}
	dbtest.Exec(t, c, "UPDATE session SET title = 'y'")
}

// copyFiles returns a copy of the database and its -wal, without the -shm: the state after a crash of the machine.
func copyFiles(t testing.TB, path string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range dbtest.Files(t, path) {
		if name != dbtest.Name+"-shm" {
			dbtest.Write(t, filepath.Join(dir, name), data)
		}
	}
	return filepath.Join(dir, dbtest.Name)
}
