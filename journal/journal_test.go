package journal

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"mend/change"
	"mend/internal/boltfile"
	"mend/internal/test/storetest"
)

// TestRoundTrip: an entry and its images are the same after the journal was opened again.
func TestRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "mend")
	j := mustOpen(t, dir, Options{Now: testClock()})
	cause := change.Cause{Kind: change.CauseError, Text: "messages.3: \xff", Diagnoses: []string{"one", "", "tw\xffo"}}
	ops := sampleOps()
	begun := mustBegin(t, j, cause, ops...)
	if begun.State != change.Pending || begun.ID != IDOf(1) || begun.Seq != 1 || len(begun.Ops) != len(ops) {
		t.Errorf("Begin = %+v", begun)
	}
	outcome := change.Outcome{State: change.Aborted, Kept: []string{".mend/kept/\xff"}, Conflicts: []change.Conflict{
		{Ref: ops[3].Ref, Pre: ops[3].Pre, Why: "changed \xff"},
		{Ref: ops[1].Ref, Why: "deleted"},
	}}
	done, err := j.Finish(begun, outcome)
	if err != nil {
		t.Fatal(err)
	}
	want := begun
	want.State, want.Kept = change.Aborted, outcome.Kept
	want.Conflicts = []change.ConflictInfo{{Ref: ops[3].Ref, Why: "changed \xff"}, {Ref: ops[1].Ref, Why: "deleted"}}
	if diff := cmp.Diff(want, done); diff != "" {
		t.Errorf("Finish: -want +got\n%s", diff)
	}
	if begun.Store != testStore || begun.Dir != ".mend/x\xff/1" || begun.Session != "ses_1" || begun.Version != "1.2.3" {
		t.Errorf("Begin = %+v", begun)
	}
	if diff := cmp.Diff(cause, begun.Cause); diff != "" {
		t.Errorf("cause: -want +got\n%s", diff)
	}
	id := j.ID()
	mustClose(t, j)

	for _, readOnly := range []bool{true, false} {
		j := mustOpen(t, dir, Options{ReadOnly: readOnly})
		got, err := j.Get(begun.ID)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("Get: %v, -want +got\n%s", err, diff)
		}
		gotOps, err := j.Ops(got)
		if diff := cmp.Diff(ops, gotOps, cmp.Comparer(func(a, b *change.Image) bool { return a.Equal(b) })); err != nil || diff != "" {
			t.Errorf("Ops: %v, -want +got\n%s", err, diff)
		}
		for _, o := range gotOps {
			for _, i := range []*change.Image{o.Pre, o.Post} {
				if i != nil && i.Data == nil {
					t.Errorf("image of %v has nil data", o.Ref)
				}
			}
		}
		if r := mustVerify(t, j); r.Entries != 1 || r.Events != 2 || r.Images == 0 {
			t.Errorf("Verify = %+v", r)
		}
		if j.ID() != id || len(id) != 16 {
			t.Errorf("ID = %q, want %q", j.ID(), id)
		}
		mustClose(t, j)
	}
}

// TestModes: only the owner can read the folder and the files, whatever the umask.
func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	defer setUmask(setUmask(0o277))
	dir := filepath.Join(t.TempDir(), "x", "y")
	j := mustOpen(t, dir, Options{})
	mustCommit(t, j, scanCause(), sampleOps()...)
	for path, want := range map[string]fs.FileMode{
		dir: fs.ModeDir | 0o700, filepath.Join(dir, fileName): 0o600, filepath.Join(dir, lockName): 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
}

// TestReadOnlyCreatesNothing: a missing journal that is opened for reading is empty, and stays missing.
func TestReadOnlyCreatesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	j := mustOpen(t, dir, Options{ReadOnly: true})
	if all, err := j.List(Query{}); err != nil || len(all) != 0 {
		t.Errorf("List = %v, %v", all, err)
	}
	if _, err := j.Get("baba"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Get: %v", err)
	}
	if r := mustVerify(t, j); r != (Report{}) {
		t.Errorf("Verify = %+v", r)
	}
	if _, err := j.Begin(newPlan(scanCause(), sampleOps()...)); err == nil || !strings.Contains(err.Error(), "for reading only") {
		t.Errorf("Begin: %v", err)
	}
	if _, err := j.Forget(ctx, []string{IDOf(1)}); err == nil || !strings.Contains(err.Error(), "for reading only") {
		t.Errorf("Forget: %v", err)
	}
	if _, err := j.Export(ctx, io.Discard, true); err == nil || !strings.Contains(err.Error(), "there is no journal") {
		t.Errorf("Export: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
}

// TestLaterFormat: a journal of a later format is refused, and the error names both formats.
func TestLaterFormat(t *testing.T) {
	dir := storetest.FastDir(t)
	j := mustOpen(t, dir, Options{})
	mustCommit(t, j, scanCause(), sampleOps()...)
	err := j.update("later", func(w *writer) error {
		return errors.Join(
			w.Put(bucketMeta, []byte(keyFormat), []byte{0, 0, 0, 7}),
			w.Put(bucketEvents, boltfile.U64(3), []byte("of another kind")))
	})
	if err == nil {
		t.Error("an event that cannot be decoded was accepted")
	}
	mustClose(t, j)
	for _, readOnly := range []bool{true, false} {
		_, err := Open(dir, Options{ReadOnly: readOnly})
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "written by a later mend (format 7), this one knows 1") {
			t.Errorf("Open: %v, want ErrFormat", err)
		}
	}
}

// TestChangedWhileOpen: if another program damages the file of an open journal, calls return an error, and the process
// does not die.
func TestChangedWhileOpen(t *testing.T) {
	for name, c := range map[string]func(path string, size int64) error{
		"cut":    func(path string, _ int64) error { return os.Truncate(path, 5000) },
		"empty":  func(path string, _ int64) error { return os.Truncate(path, 0) },
		"zeroed": func(path string, size int64) error { return overwrite(path, 0, make([]byte, size)) },
		"noise":  func(path string, size int64) error { return overwrite(path, 8192, randomBytes(1, int(size-8192))) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := storetest.FastDir(t)
			j, err := Open(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			all := fillJournal(t, j)
			info, err := os.Stat(filepath.Join(dir, fileName))
			if err == nil {
				err = c(filepath.Join(dir, fileName), info.Size())
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := j.Verify(""); !errors.Is(err, ErrDamaged) {
				t.Errorf("Verify: %v", err)
			}
			if _, err := j.Begin(newPlan(scanCause(), sampleOps()...)); !errors.Is(err, ErrDamaged) {
				t.Errorf("Begin: %v", err)
			}
			err = j.file.Raw(func(db *bolt.DB) error { // what bbolt would do by itself
				return db.Update(func(tx *bolt.Tx) error {
					return tx.Bucket([]byte(bucketImages)).Put(make([]byte, 32), make([]byte, 100_000))
				})
			})
			t.Logf("bbolt: %v", err)
			if _, err := j.Finish(all[0], change.Outcome{State: change.Committed}); err == nil {
				t.Error("Finish: no error")
			}
			mustClose(t, j)
			if _, err := Open(dir, Options{}); !errors.Is(err, ErrDamaged) {
				t.Errorf("Open: %v", err)
			}
		})
	}
}

func overwrite(path string, at int64, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(b, at)
	return err
}
