package journal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/change"
)

// TestKilledAtEveryStep looks at the files as they are before each step, as a
// kill would leave them. Then it kills the recovery at each of its steps. Fault case 34.
func TestKilledAtEveryStep(t *testing.T) {
	var k, deep int
	s := &script{dir: filepath.Join(fastDir(t), "mend")}
	s.opts = crashOptions(func(what string) error {
		k++
		if _, err := os.Stat(s.dir); err != nil {
			return nil
		}
		left := copyDir(t, s.dir)
		var lefts []string
		if err := s.check(t, left, crashOptions(func(string) error {
			lefts = append(lefts, copyDir(t, left))
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

// TestFailedAtEveryStep lets each step fail: once, with the call tried again,
// or from there on, with the journal opened anew. Fault cases 14 and 17.
func TestFailedAtEveryStep(t *testing.T) {
	for _, forEver := range []bool{false, true} {
		failed := 0
		for k := 1; ; k++ {
			n, hit, on := 0, "", true
			s := &script{dir: filepath.Join(fastDir(t), "mend"), retry: !forEver}
			s.opts = crashOptions(func(what string) error {
				n++
				if on && (n == k || forEver && n > k) {
					if n == k {
						hit = what
					}
					return errCut
				}
				return nil
			})
			err := s.run()
			on = false
			if err != nil && (!forEver || !errors.Is(err, errCut)) {
				t.Errorf("step %d (%s): %v", k, hit, err)
			}
			_ = s.close()
			if hit == "" {
				break
			}
			failed++
			if err := s.check(t, s.dir, crashOptions(nil)); err != nil {
				t.Errorf("step %d (%s), for ever %v: %v", k, hit, forEver, err)
			}
		}
		t.Logf("%d steps failed, for ever %v", failed, forEver)
	}
}

// TestCommitErrors makes commits give an error: late, when the transaction is in
// the file, and early, when it is not.
func TestCommitErrors(t *testing.T) {
	var j *Journal
	fail := ""
	j = mustOpen(t, fastDir(t), crashOptions(func(what string) error {
		switch {
		case fail == "late" && what == "committed begin":
			fail = ""
			return errCut
		case fail == "early" && what == "commit begin":
			fail = ""
			return j.boltFile.Close() // every write of the transaction fails
		case fail == "unknown" && (what == "committed begin" || what == "confirm"):
			return errCut
		}
		return nil
	}))
	op := change.Op{Ref: part(1), Post: file("x")}
	fail = "late"
	if e, err := j.Begin(planOf(scan(), op)); err != nil || e.Seq != 1 {
		t.Errorf("late: %v, %v, want entry 1", e.Seq, err)
	}
	fail = "early"
	if e, err := j.Begin(planOf(scan(), op)); err == nil || errors.Is(err, ErrDamaged) {
		t.Errorf("early: %v, %v, want an error", e.Seq, err)
	}
	if e, err := j.Begin(planOf(scan(), op)); err != nil || e.Seq != 2 {
		t.Errorf("after early: %v, %v, want entry 2", e.Seq, err)
	}
	mustVerify(t, j)
	fail = "unknown"
	if _, err := j.Begin(planOf(scan(), op)); !errors.Is(err, errCut) {
		t.Errorf("unknown: %v", err)
	}
	fail = ""
	if _, err := j.Begin(planOf(scan(), op)); !errors.Is(err, errCut) {
		t.Errorf("after unknown: %v, want the same error until it is opened anew", err)
	}
	dir := j.dir
	mustClose(t, j)
	if all, err := mustOpen(t, dir, Options{}).List(Query{}); err != nil || len(all) != 3 {
		t.Errorf("List = %d, %v", len(all), err)
	}
}

// TestOrderOfSteps pins the order in which the journal changes its file.
func TestOrderOfSteps(t *testing.T) {
	var got []string
	s := &script{dir: fastDir(t), opts: crashOptions(func(what string) error {
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
