package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mend/change"
	"mend/internal/test/storetest"
)

// TestKilledAtEveryStep copies the files before each step, as a kill would leave them, and
// recovers the copy. Then it does the same at each step of the recovery, in a plain run at each fifth.
func TestKilledAtEveryStep(t *testing.T) {
	storetest.Long(t)
	var k, n, deep int
	s := &workload{dir: filepath.Join(storetest.FastDir(t), "mend")}
	s.opts = crashOptions(func(what string) error {
		k++
		if _, err := os.Stat(s.dir); err != nil {
			return nil
		}
		left := copyDir(t, s.dir)
		var lefts []string
		if err := s.check(t, left, crashOptions(func(string) error {
			if n++; storetest.AllCases() || n%5 == 0 {
				lefts = append(lefts, copyDir(t, left))
			}
			return nil
		})); err != nil {
			t.Errorf("step %d (%s): %v", k, what, err)
		}
		for i, dir := range lefts {
			deep++
			if err := s.check(t, dir, crashOptions(nil)); err != nil {
				t.Errorf("step %d (%s), step %d of the recovery: %v", k, what, i, err)
			}
		}
		return nil
	})
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
	if err := s.check(t, s.dir, crashOptions(nil)); err != nil {
		t.Error(err)
	}
	t.Logf("%d steps, %d steps of recoveries", k, deep)
}

// TestFailedAtEveryStep lets each step fail once, and repeats the call; or it lets all steps from that one on fail, and
// opens the journal again.
func TestFailedAtEveryStep(t *testing.T) {
	storetest.Long(t)
	for _, lasting := range []bool{false, true} {
		failed := 0
		for k := 1; ; k++ {
			n, hit, faulty := 0, "", true
			s := &workload{dir: filepath.Join(storetest.FastDir(t), "mend"), retry: !lasting}
			s.opts = crashOptions(func(what string) error {
				n++
				if faulty && (n == k || lasting && n > k) {
					if n == k {
						hit = what
					}
					return errFault
				}
				return nil
			})
			err := s.run()
			faulty = false
			if err != nil && (!lasting || !errors.Is(err, errFault)) {
				t.Errorf("step %d (%s): %v", k, hit, err)
			}
			_ = s.close()
			if hit == "" {
				break
			}
			failed++
			if err := s.check(t, s.dir, crashOptions(nil)); err != nil {
				t.Errorf("step %d (%s), lasting %t: %v", k, hit, lasting, err)
			}
		}
		t.Logf("%d steps failed, lasting %t", failed, lasting)
	}
}

// TestCommitErrors lets commits return an error: late, when the transaction is already in the file,
// or early, when it is not.
func TestCommitErrors(t *testing.T) {
	var j *Journal
	fail := ""
	j = mustOpen(t, storetest.FastDir(t), crashOptions(func(what string) error {
		switch {
		case fail == "late" && what == "committed begin":
			fail = ""
			return errFault
		case fail == "early" && what == "commit begin":
			fail = ""
			return j.file.BoltFile().Close() // every write of the transaction fails
		case fail == "unknown" && (what == "committed begin" || what == "confirm"):
			return errFault
		}
		return nil
	}))
	op := change.Op{Ref: partRef(1), Post: image("x")}
	fail = "late"
	if e, err := j.Begin(newPlan(scanCause(), op)); err != nil || e.Seq != 1 {
		t.Errorf("late: %v, %v, want entry 1", e.Seq, err)
	}
	fail = "early"
	if e, err := j.Begin(newPlan(scanCause(), op)); err == nil || errors.Is(err, ErrDamaged) {
		t.Errorf("early: %v, %v, want an error", e.Seq, err)
	}
	if e, err := j.Begin(newPlan(scanCause(), op)); err != nil || e.Seq != 2 {
		t.Errorf("after early: %v, %v, want entry 2", e.Seq, err)
	}
	mustVerify(t, j)
	fail = "unknown"
	if _, err := j.Begin(newPlan(scanCause(), op)); !errors.Is(err, errFault) {
		t.Errorf("unknown: %v", err)
	}
	fail = ""
	if _, err := j.Begin(newPlan(scanCause(), op)); !errors.Is(err, errFault) {
		t.Errorf("after unknown: %v, want the same error until it is opened again", err)
	}
	dir := filepath.Dir(j.file.Path())
	mustClose(t, j)
	if all, err := mustOpen(t, dir, Options{}).List(Query{}); err != nil || len(all) != 3 {
		t.Errorf("List = %d, %v", len(all), err)
	}
}

// TestOrderOfSteps pins the order in which the journal changes its files.
func TestOrderOfSteps(t *testing.T) {
	var got []string
	s := &workload{dir: storetest.FastDir(t), opts: crashOptions(func(what string) error {
		got = append(got, what)
		return nil
	})}
	for _, step := range []func() error{s.open, s.begin(0), s.finish(0, change.Committed), s.forget, s.close} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"make journal.db.new", "fill journal.db.new", "made journal.db.new", "rename journal.db.new", "sync folder", "drop journal.db.new",
		"commit blobs", "committed blobs", "commit blobs", "committed blobs", "commit begin", "committed begin",
		"commit finish", "committed finish",
		"commit forget", "committed forget", "commit release", "committed release", "commit release", "committed release",
		"commit unmark erasing", "committed unmark erasing",
		"make journal.db.new", "fill journal.db.new",
		"copy meta", "copy events", "copy images", "copy ops", "copy texts", "copy refs", "copy entries", "copy bysession", "copy pending",
		"made journal.db.new", "close journal.db", "rename journal.db.new", "sync folder",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// A workload is a sequence of calls with every kind of change of the file. It records what was acknowledged: the states
// of the entries, and whether the marker must be removed.
type workload struct {
	dir   string
	opts  Options
	retry bool // repeat a failed call once

	acked  []change.State
	forgot bool // Forget was acknowledged
	j      *Journal
}

var marker = randomBytes(42, 600)

var errFault = errors.New("a fault of the test")

func (w *workload) run() error {
	for _, step := range []func() error{
		w.open, w.begin(0), w.finish(0, change.Committed), w.begin(1), w.begin(2),
		w.finish(2, change.Aborted), w.finish(1, change.Conflicted), w.resolve, w.forget, w.reopen,
		w.begin(3), w.finish(3, change.Committed), w.gc, w.begin(4), w.close,
	} {
		err := step()
		if err != nil && w.retry {
			if w.j == nil || w.j.file.Fatal != nil {
				_ = w.close()
				if err := w.open(); err != nil {
					return fmt.Errorf("opening again: %w", err)
				}
			}
			err = step()
			var state *StateError
			if errors.As(err, &state) { // the earlier call had taken effect
				w.acked[indexOf(state)], err = state.State, nil
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func indexOf(e *StateError) int {
	seq, _ := seqOf(e.ID)
	return int(seq - 1)
}

func (w *workload) open() (err error) {
	_ = w.close()
	w.j, err = Open(w.dir, w.opts)
	return err
}

func (w *workload) close() error {
	if w.j == nil {
		return nil
	}
	j := w.j
	w.j = nil
	return j.Close()
}

func (w *workload) reopen() error { return errors.Join(w.close(), w.open()) }

// begin begins entry n, whose blobs take several transactions.
func (w *workload) begin(n int) func() error {
	return func() error {
		if w.j == nil {
			return errFault
		}
		if len(w.acked) > n { // a repeated call
			return nil
		}
		ops := []change.Op{
			{Ref: partRef(0), Post: &change.Image{Data: randomBytes(7, 3000), Mode: 0o600}}, // shared by all
			{Ref: partRef(1), Pre: &change.Image{Data: randomBytes(uint64(1000+n), 9000), Mode: 0o600}},
		}
		cause := scanCause()
		if n == 0 {
			ops = append(ops, change.Op{Ref: partRef(2), Pre: &change.Image{Data: marker}})
			cause = change.Cause{Kind: change.CauseError, Text: string(marker)}
		}
		_, err := w.j.Begin(newPlan(cause, ops...))
		if err == nil {
			w.acked = append(w.acked, change.Pending)
		}
		return err
	}
}

func (w *workload) finish(n int, to change.State) func() error {
	return func() error {
		_, err := w.j.Finish(change.Entry{Seq: uint64(n + 1), ID: IDOf(uint64(n + 1))}, change.Outcome{
			State: to, Conflicts: []change.Conflict{{Ref: partRef(1), Why: "changed"}},
		})
		if err == nil {
			w.acked[n] = to
		}
		return err
	}
}

func (w *workload) resolve() error {
	_, err := w.j.Resolve(change.Entry{Seq: 2, ID: IDOf(2)}, "keep", "")
	if err == nil {
		w.acked[1] = change.Resolved
	}
	return err
}

func (w *workload) forget() error {
	_, err := w.j.Forget(context.Background(), []string{IDOf(1)})
	w.forgot = w.forgot || err == nil
	return err
}

func (w *workload) gc() error {
	_, err := w.j.GC(context.Background(), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), nil)
	return err
}

// check opens the journal that an interrupted workload left, and compares it with the acknowledged states.
func (w *workload) check(t *testing.T, dir string, o Options) error {
	t.Helper()
	r, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("opening for reading: %w", err)
	}
	_, err = r.Verify("")
	mustClose(t, r)
	if err != nil {
		return fmt.Errorf("before recovery: %w", err)
	}
	j, err := Open(dir, o)
	if err != nil {
		return err
	}
	defer mustClose(t, j)
	if _, err := os.Stat(filepath.Join(dir, tempName)); err == nil {
		return errors.New(tempName + " is still there")
	}
	report, err := j.Verify("")
	if err != nil {
		return err
	}
	all, err := j.List(Query{})
	switch {
	case err != nil:
		return err
	case report.Unfinished:
		return errors.New("unfinished after Open")
	case len(all) < len(w.acked) || len(all) > len(w.acked)+1:
		return fmt.Errorf("%d entries, want %d or one more", len(all), len(w.acked))
	}
	if err := w.compare(j, all); err != nil {
		return err
	}
	if len(all) > 0 && (all[len(all)-1].Forgotten || w.forgot) {
		return checkNoMarker(dir)
	}
	return nil
}

// compare compares the entries with the acknowledged states. One more step may have taken effect.
func (w *workload) compare(j *Journal, all []change.Entry) error {
	changed := len(all) - len(w.acked)
	for i, want := range w.acked {
		e := all[len(all)-1-i]
		if e.State != want {
			changed++
		}
		if _, err := j.Ops(e); err != nil && !errors.Is(err, ErrForgotten) {
			return err
		}
	}
	if changed > 1 {
		return fmt.Errorf("%d states differ", changed)
	}
	return nil
}

// checkNoMarker returns an error if a file in the folder contains the marker.
func checkNoMarker(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		if bytes.Contains(b, marker[:32]) {
			return fmt.Errorf("%s still has the forgotten bytes", f.Name())
		}
	}
	return nil
}

func crashOptions(step func(string) error) Options {
	return Options{Now: testClock(), Version: "1", Step: step, compactAbove: 1, batchSize: 6000}
}
