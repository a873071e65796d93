package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mend/change"
	"mend/internal/test/storetest"
)

var testStore = change.StoreID{Agent: "opencode", Kind: "json", Root: "/home/u/\xff\xfe/opencode", Dev: 7, Ino: 1 << 60}

// testClock returns a Now that advances by a second with each call.
func testClock() func() time.Time {
	t := time.Date(2026, 2, 3, 4, 5, 6, 789, time.UTC)
	return func() time.Time {
		t = t.Add(time.Second)
		return t
	}
}

func mustOpen(t testing.TB, dir string, o Options) *Journal {
	t.Helper()
	if o.Version == "" {
		o.Version = "1.2.3"
	}
	j, err := Open(dir, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { mustClose(t, j) })
	return j
}

func partRef(n int) change.Ref {
	return change.Ref{Kind: change.KindPart, Session: "ses_1", Message: "msg_1", Part: fmt.Sprintf("prt_%06d", n)}
}

func image(s string) *change.Image { return &change.Image{Data: []byte(s), Mode: 0o600} }

// randomBytes returns n bytes that do not compress, the same for the same seed.
func randomBytes(seed uint64, n int) []byte {
	var key [32]byte
	binary.BigEndian.PutUint64(key[:], seed)
	b := make([]byte, n)
	_, _ = rand.NewChaCha8(key).Read(b) // it never fails
	return b
}

func newPlan(cause change.Cause, ops ...change.Op) (change.Plan, change.Staged) {
	return change.Plan{Session: "ses_1", Cause: cause, Ops: ops}, change.Staged{Store: testStore, Dir: ".mend/x\xff/1", Ops: ops}
}

func scanCause() change.Cause {
	return change.Cause{
		Kind: change.CauseScan, Diagnoses: []string{"empty message"}, Title: "a title \xff",
		Findings: []change.Finding{{Rule: "R11", Class: "empty_content_message", Why: "It is empty.", Fix: "It is filled.", Loses: "Nothing.", Count: 2, Session: "ses_1"}},
	}
}

func mustBegin(t testing.TB, j *Journal, c change.Cause, ops ...change.Op) change.Entry {
	t.Helper()
	e, err := j.Begin(newPlan(c, ops...))
	if err != nil {
		t.Fatalf("Begin: %v", err)
	}
	if e.Ops != nil {
		t.Fatalf("Begin returned %d ops", len(e.Ops))
	}
	e.Ops = change.InfosOf(ops)
	return e
}

func mustFinish(t testing.TB, j *Journal, e change.Entry, s change.State) change.Entry {
	t.Helper()
	e, err := j.Finish(e, change.Outcome{State: s})
	if err != nil {
		t.Fatalf("Finish: %v", err)
	}
	return e
}

// mustCommit begins and commits an entry.
func mustCommit(t testing.TB, j *Journal, c change.Cause, ops ...change.Op) change.Entry {
	t.Helper()
	return mustFinish(t, j, mustBegin(t, j, c, ops...), change.Committed)
}

func mustClose(t testing.TB, j *Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func mustVerify(t testing.TB, j *Journal) Report {
	t.Helper()
	r, err := j.Verify("")
	if err != nil {
		t.Fatalf("Verify: %v", err)
	}
	return r
}

// sampleOps returns ops of every kind, with a folder, an empty record, bytes that are not UTF-8, and several modes.
func sampleOps() []change.Op {
	return []change.Op{
		{Ref: change.Ref{Kind: change.KindFolder, Session: "ses_1", Message: "msg_1"}, Post: &change.Image{Mode: os.ModeDir | 0o755}},
		{Ref: change.Ref{Kind: change.KindSession, Project: "global", Session: "ses_1"}, Pre: image("{ \"a\": 1 }\n"), Post: image("{\"a\":2}")},
		{Ref: change.Ref{Kind: change.KindMessage, Session: "ses_1", Message: "msg_1"}, Pre: &change.Image{Data: []byte{}, Mode: 0o644}, Post: image("\x00\xff\xfe\x80")},
		{Ref: partRef(1), Post: &change.Image{Data: []byte{}, Mode: 0o400}},
		{Ref: partRef(2), Pre: &change.Image{Data: randomBytes(1, 5000), Mode: 0o640}},
		{Ref: partRef(3), Pre: &change.Image{Data: bytes.Repeat([]byte("text "), 1000)}, Post: &change.Image{Data: bytes.Repeat([]byte("text "), 1000), Mode: 0o600}},
	}
}

// fillJournal writes entries of several kinds and returns them.
func fillJournal(t testing.TB, j *Journal) []change.Entry {
	t.Helper()
	var all []change.Entry
	for i := range 8 {
		ops := append(sampleOps(), change.Op{Ref: partRef(10 + i), Post: &change.Image{Data: randomBytes(uint64(100+i), 3000*(i+1))}})
		all = append(all, mustCommit(t, j, scanCause(), ops...))
	}
	all = append(all, mustFinish(t, j, mustBegin(t, j, scanCause(), sampleOps()...), change.Aborted))
	undo := change.Cause{Kind: change.CauseUndo, Entries: []uint64{all[2].Seq}}
	all = append(all, mustCommit(t, j, undo, change.Inverse(sampleOps())...))
	c := mustBegin(t, j, scanCause(), change.Op{Ref: partRef(99), Post: image("x")})
	c, err := j.Finish(c, change.Outcome{State: change.Conflicted, Conflicts: []change.Conflict{{Ref: partRef(99), Why: "chan\xffged"}}, Kept: []string{"a\xff"}})
	if err != nil {
		t.Fatal(err)
	}
	return append(all, c)
}

// digestJournal returns a hash of everything that a caller can read from a journal.
func digestJournal(j *Journal) ([32]byte, error) {
	all, err := j.List(Query{})
	if err != nil {
		return [32]byte{}, err
	}
	sum := sha256.New()
	for _, e := range all {
		sum.Write(encodeOps(e.Ops))
		e.Ops = nil
		fmt.Fprintf(sum, "%+v\n", e)
		if e.Forgotten {
			continue
		}
		ops, err := j.Ops(e)
		if err != nil {
			return [32]byte{}, err
		}
		for _, o := range ops {
			for _, i := range []*change.Image{o.Pre, o.Post} {
				if i != nil {
					fmt.Fprintf(sum, "%v %d ", i.Mode, len(i.Data))
					sum.Write(i.Data)
				}
			}
		}
	}
	return [32]byte(sum.Sum(nil)), nil
}

// copyDir copies the files of a journal to a new folder.
func copyDir(t testing.TB, from string) string {
	t.Helper()
	to := storetest.FastDir(t)
	files, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(from, f.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, f.Name()), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

func sha256Sum(b []byte) []byte {
	h := sha256.Sum256(b)
	return h[:]
}

// TestMain runs the tests or, in a child process, the task that MEND_TEST_DO names.
func TestMain(m *testing.M) {
	switch dir := os.Getenv("MEND_TEST_DIR"); os.Getenv("MEND_TEST_DO") {
	case "":
		storetest.RunInMemory(m)
	case "hold":
		os.Exit(childLock(dir))
	case "work":
		os.Exit(childWork(dir))
	}
}

var ctx = context.Background()
