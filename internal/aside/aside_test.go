package aside_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mend/change"
	"mend/internal/aside"
	"mend/internal/test/storetest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// list returns all files below a folder with their content, and the folders that are empty.
func list(t *testing.T, root string) (all []string) {
	t.Helper()
	must(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if e.IsDir() {
			names, err := os.ReadDir(path)
			if len(names) == 0 {
				all = append(all, rel+"/")
			}
			return err
		}
		data, err := os.ReadFile(path)
		all = append(all, rel+"="+string(data))
		return err
	}))
	return all
}

func open(t *testing.T, root, owner string, step func(string) error) *aside.Area {
	t.Helper()
	a, err := aside.Open(root, owner, step, &aside.Sums{})
	must(t, err)
	return a
}

func put(t *testing.T, root, name, data string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700))
	must(t, os.WriteFile(filepath.Join(root, name), []byte(data), 0o600))
}

// TestMoves: a move is made if its source exists and its target does not, and a revert restores every file.
func TestMoves(t *testing.T) {
	root := storetest.FastDir(t)
	put(t, root, "one", "1")
	put(t, root, "taken", "agent's")
	put(t, root, ".mend/own/kept", "2")
	a := open(t, root, "own", nil)
	defer a.Close()
	moves := []aside.Move{
		{From: aside.Place{Dir: ".", Name: "one"}, To: a.Kept("one")},
		{From: aside.Place{Dir: ".", Name: "missing"}, To: a.Kept("missing")},
		{From: a.Kept("kept"), To: aside.Place{Dir: ".", Name: "taken"}},
	}
	before := list(t, root)
	for range 2 { // the second time nothing is left to do
		must(t, a.MakeMoves(t.Context(), moves))
		want := []string{".mend/own/kept=2", ".mend/own/one=1", "taken=agent's"}
		if got := list(t, root); !slices.Equal(got, want) {
			t.Fatalf("after MakeMoves: %q, want %q", got, want)
		}
	}
	for range 2 {
		must(t, a.RevertMoves(t.Context(), moves))
		if got := list(t, root); !slices.Equal(got, before) {
			t.Fatalf("after RevertMoves: %q, want %q", got, before)
		}
	}
}

// build builds a database that can replace the one in root, and discards nothing, like a process that is killed.
func build(t *testing.T, a *aside.Area, f aside.DatabaseFile, data string) (*change.Image, func()) {
	t.Helper()
	image, discard, err := a.BuildDatabase(t.Context(), f, writes(data))
	must(t, err)
	return image, discard
}

// writes returns a function that writes data to a file.
func writes(data string) func(path string) error {
	return func(path string) error { return os.WriteFile(path, []byte(data), 0o600) }
}

// TestSweepBuilt: the build of a process stays as long as the process runs. Afterwards the next process removes it.
func TestSweepBuilt(t *testing.T) {
	root := storetest.FastDir(t)
	put(t, root, "db", "old")
	fault := &storetest.Fault{At: 1 << 30}
	own := open(t, root, "", fault.Step)
	defer own.Close()
	_, discard := build(t, own, aside.DatabaseFile{Name: "db"}, "new")
	other := open(t, root, "other", nil)
	defer other.Close()
	must(t, other.Discard())
	if got := list(t, root); len(got) != 2 || !strings.HasSuffix(got[0], "=new") || !strings.HasPrefix(got[0], ".mend/built/db-") {
		t.Fatalf("while the process runs: %q", got)
	}
	fault.At = 0 // from here on the process is killed: it removes nothing, and its lock ends
	if discard(); len(list(t, root)) != 2 {
		t.Fatalf("Discard of a killed process: %q", list(t, root))
	}
	must(t, other.Discard())
	if got := list(t, root); !slices.Equal(got, []string{"db=old"}) {
		t.Errorf("after the next process: %q", got)
	}
}

// TestBuiltTwice: a second process that builds the same content is refused, and the build of the first one stays.
func TestBuiltTwice(t *testing.T) {
	root := storetest.FastDir(t)
	a := open(t, root, "", nil)
	defer a.Close()
	f := aside.DatabaseFile{Name: "db"}
	_, discard := build(t, a, f, "new")
	if _, _, err := a.BuildDatabase(t.Context(), f, writes("new")); err == nil {
		t.Error("BuildDatabase of the same content = nil, want an error")
	}
	if got := list(t, root); len(got) != 1 || !strings.HasPrefix(got[0], ".mend/built/db-") {
		t.Errorf("left are %q", got)
	}
	discard()
	if got := list(t, root); !slices.Equal(got, []string{"./"}) {
		t.Errorf("left are %q", got)
	}
}

// TestBuildBesideOthers: processes that build and sweep at the same time do not disturb each other.
func TestBuildBesideOthers(t *testing.T) {
	root := storetest.FastDir(t)
	var all sync.WaitGroup
	for range 4 {
		a := open(t, root, "", nil)
		all.Go(func() {
			defer a.Close()
			for range 100 {
				b, err := a.Build()
				if err == nil {
					b.Discard()
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if got := list(t, root); !slices.Equal(got, []string{"./"}) {
		t.Errorf("left are %q", got)
	}
}

// A databaseFixture is a database that is set aside or restored, without a journal.
type databaseFixture struct {
	*testing.T
	root string
	file aside.DatabaseFile
}

func newDatabaseFixture(t *testing.T) databaseFixture {
	f := databaseFixture{t, storetest.FastDir(t), aside.DatabaseFile{
		Name: "db", CheckFree: func(context.Context) error { return nil }, Lock: func() (func(), error) { return func() {}, nil },
		Checkpoint: func(context.Context) (bool, error) { return false, nil },
	}}
	for name, data := range map[string]string{"db": "old", "db-wal": "log", "db-shm": "index", "other": "x"} {
		put(t, f.root, name, data)
	}
	return f
}

// run makes a change as txn.Run does.
func (f databaseFixture) run(op change.Op, step func(string) error) (st change.Staged, out change.Outcome, err error) {
	a := open(f.T, f.root, "own", step)
	defer a.Close()
	st = change.Staged{Ops: []change.Op{op}}
	c, err := aside.NewDatabase(a, f.file, st)
	if err == nil {
		err = c.Stage(f.Context(), &st)
	}
	if err == nil {
		out, err = a.Run(f.Context(), c)
	}
	return st, out, err
}

func (f databaseFixture) settle(st change.Staged, step func(string) error) (out change.Outcome, err error) {
	a := open(f.T, f.root, "own", step)
	defer a.Close()
	c, err := aside.NewDatabase(a, f.file, st)
	if err == nil {
		out, err = a.Settle(f.Context(), c)
	}
	return out, errors.Join(err, a.Discard())
}

func (f databaseFixture) image() *change.Image {
	a := open(f.T, f.root, "own", nil)
	defer a.Close()
	image, err := a.Files(f.Context(), f.file.Place())
	must(f.T, err)
	return image
}

// TestDatabaseAsideCutAtEveryStep: if mend is killed at any step while it sets a database aside or restores it, and
// again in the recovery, all files end up in one place, and mend's own folders have nothing else.
func TestDatabaseAsideCutAtEveryStep(t *testing.T) {
	for _, undo := range []bool{false, true} {
		done, reverted := 0, 0
		for k := 0; ; k++ {
			f := newDatabaseFixture(t)
			op := change.Op{Ref: change.Ref{Kind: change.KindDatabase, Part: "db"}, Pre: f.image()}
			present := list(t, f.root)
			_, _, err := f.run(op, nil)
			must(t, err)
			setAside := list(t, f.root)
			if undo {
				op = change.Inverse([]change.Op{op})[0]
			} else {
				_, _, err = f.run(change.Inverse([]change.Op{op})[0], nil)
				must(t, err)
				_, err = f.settle(change.Staged{Ops: []change.Op{op}}, nil)
				must(t, err)
			}
			fault := &storetest.Fault{At: k}
			st, out, _ := f.run(op, fault.Step)
			if fault.Hit() {
				cut := &storetest.Fault{At: k % 3}
				_, _ = f.settle(st, cut.Step)
			}
			if out, err = f.settle(st, nil); err != nil || len(out.Conflicts) > 0 {
				t.Fatalf("undo %t, step %d (%v): %v, %v", undo, k, fault.Calls, out, err)
			}
			want := present
			if (out.State == change.Committed) != undo {
				want = setAside
			}
			if got := list(t, f.root); !slices.Equal(got, want) {
				t.Fatalf("undo %t, step %d (%v): %s, %q, want %q", undo, k, fault.Calls, out.State, got, want)
			}
			if !fault.Hit() {
				break
			}
			if out.State == change.Committed {
				done++
			} else {
				reverted++
			}
		}
		if done == 0 || reverted == 0 {
			t.Errorf("undo %t: %d committed, %d reverted, want some of each", undo, done, reverted)
		}
	}
}

// TestOldMovedAwayFirst: a change of an earlier version of mend is finished. Where a system cannot exchange two files,
// that version moved the old database away before it moved the new one into its place, and was killed in between.
func TestOldMovedAwayFirst(t *testing.T) {
	f := newDatabaseFixture(t)
	a := open(t, f.root, "own", nil)
	image, discard := build(t, a, f.file, "rebuilt")
	op := change.Op{Ref: change.Ref{Kind: change.KindDatabase, Part: "db"}, Pre: f.image(), Post: image}
	killed := false
	st, _, err := f.run(op, func(call string) error {
		if killed = killed || call == "exchange db"; killed {
			return errors.New("killed")
		}
		return nil
	})
	if !killed || err == nil {
		t.Fatalf("killed: %t, run: %v", killed, err)
	}
	discard()
	a.Close()
	logs, err := filepath.Glob(filepath.Join(f.root, ".mend", "own", "*", "db-wal"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	must(t, os.Rename(filepath.Join(f.root, "db"), strings.TrimSuffix(logs[0], "-wal")))
	out, err := f.settle(st, nil)
	if err != nil || out.State != change.Committed {
		t.Errorf("settle = %+v, %v, want committed", out, err)
	}
	for path, want := range map[string]string{filepath.Join(f.root, "db"): "rebuilt", strings.TrimSuffix(logs[0], "-wal"): "old"} {
		if got, err := os.ReadFile(path); string(got) != want {
			t.Errorf("%s is %q, %v, want %q", path, got, err, want)
		}
	}
}

// TestDatabaseRecreated: if the agent creates the database again before the recovery of an undo, the recovery ends with
// a conflict, and both databases stay.
func TestDatabaseRecreated(t *testing.T) {
	f := newDatabaseFixture(t)
	op := change.Op{Ref: change.Ref{Kind: change.KindDatabase, Part: "db"}, Pre: f.image()}
	_, _, err := f.run(op, nil)
	must(t, err)
	st, _, _ := f.run(change.Inverse([]change.Op{op})[0], (&storetest.Fault{}).Step)
	put(t, f.root, "db", "again")
	before := list(t, f.root)
	for range 2 {
		if out, err := f.settle(st, nil); err != nil || len(out.Conflicts) != 1 {
			t.Errorf("Settle: %v, %v, want a conflict", out, err)
		}
	}
	if got := list(t, f.root); !slices.Equal(got, before) {
		t.Errorf("files: %q, want %q", got, before)
	}
}

// TestDatabaseWrittenMeanwhile: bytes that another program writes directly before the exchange are detected, even if
// the file keeps its time, and both databases stay.
func TestDatabaseWrittenMeanwhile(t *testing.T) {
	f := newDatabaseFixture(t)
	must(t, errors.Join(os.Remove(filepath.Join(f.root, "db-wal")), os.Remove(filepath.Join(f.root, "db-shm"))))
	a := open(t, f.root, "", nil)
	post, discard := build(t, a, f.file, "new")
	a.Close()
	path := filepath.Join(f.root, "db")
	info, err := os.Stat(path)
	must(t, err)
	op := change.Op{Ref: change.Ref{Kind: change.KindDatabase}, Pre: f.image(), Post: post}
	_, out, err := f.run(op, func(call string) error {
		if strings.HasPrefix(call, "exchange") {
			put(t, f.root, "db", "odd")
			return os.Chtimes(path, info.ModTime(), info.ModTime())
		}
		return nil
	})
	if err == nil && out.State == change.Committed && len(out.Conflicts) == 0 {
		t.Errorf("Run = %v, want it to detect the foreign bytes", out)
	}
	discard()
	if all := strings.Join(list(t, f.root), " "); !strings.Contains(all, "=odd") || !strings.Contains(all, "=new") {
		t.Errorf("files: %s", all)
	}
}
