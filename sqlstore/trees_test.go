package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/test/dbtest"
	"mend/internal/test/storetest"
	"mend/journal"
	"mend/sqlstore"
	"mend/txn"
)

var treeRefs = []change.Ref{{Kind: change.KindTree, Project: "snapshot", Part: "aaa"}, {Kind: change.KindTree, Project: "snapshot", Part: "bbb"}}

// newTreesFixture returns a database with two folders beside it. They contain a read-only file and a link.
func newTreesFixture(t *testing.T) exchangeFixture {
	f := newExchangeFixture(t)
	for _, ref := range treeRefs {
		dir := filepath.Join(filepath.Dir(f.path), ref.Project, ref.Part, "objects")
		dbtest.Must(t, os.MkdirAll(dir, 0o750))
		dbtest.Must(t, os.WriteFile(filepath.Join(dir, "one"), []byte("content of "+ref.Part), 0o440))
		dbtest.Must(t, os.Symlink("/etc", filepath.Join(dir, "link")))
	}
	return f
}

// removeTrees removes both folders.
func (f exchangeFixture) removeTrees(step func(string) error) error {
	return f.reopen(step, func(j *journal.Journal, s *sqlstore.Owned) error {
		p := change.Plan{Cause: change.Cause{Kind: change.CauseClean}}
		for _, ref := range treeRefs {
			found, err := s.Tree(context.Background(), ref)
			if err != nil {
				return err
			}
			p.Ops = append(p.Ops, change.Op{Ref: ref, Pre: found.Image})
		}
		_, err := txn.Run(context.Background(), j, s, p)
		return err
	})
}

// trees lists all files and links below a folder, with their modes and contents.
func (f exchangeFixture) trees(below string) (all []string) {
	f.Helper()
	err := filepath.WalkDir(filepath.Join(filepath.Dir(f.path), below), func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		data := []byte(nil)
		if info.Mode().IsRegular() {
			data, err = os.ReadFile(path)
		}
		parts := strings.Split(path, string(filepath.Separator))
		all = append(all, fmt.Sprint(strings.TrimPrefix(parts[len(parts)-3], "snapshot-"), parts[len(parts)-2:], info.Mode(), string(data)))
		return err
	})
	if !errors.Is(err, os.ErrNotExist) {
		dbtest.Must(f.T, err)
	}
	slices.Sort(all)
	return all
}

// TestTreesCutAtEveryStep kills the removal of two folders and its undo at every step, and then the recovery. At last both
// are beside the database, or both are kept, as the journal says, and no file is lost.
func TestTreesCutAtEveryStep(t *testing.T) {
	storetest.Long(t)
	t.Parallel()
	for _, undo := range []bool{false, true} {
		verb := exchangeFixture.removeTrees
		if undo {
			verb = exchangeFixture.undo
		}
		forward, back := 0, 0
		for k := 0; ; k++ {
			f := newTreesFixture(t)
			before := f.trees("snapshot")
			if undo {
				dbtest.Must(t, f.removeTrees(nil))
			}
			fault := &storetest.Fault{At: k}
			err := verb(f, fault.Step)
			hit := fault.Hit()
			if !hit {
				dbtest.Must(t, err)
			}
			cut := &storetest.Fault{At: k % 5} // the recovery is cut, too
			_ = f.recover(cut.Step)
			if err := f.recover(nil); err != nil {
				t.Fatalf("undo %t, step %d (%v): Recover: %v", undo, k, fault.Calls, err)
			}
			beside, kept := f.trees("snapshot"), f.trees(".mend")
			removed := len(beside) == 0
			if all := append(beside, kept...); !slices.Equal(all, before) || !removed && len(kept) > 0 {
				t.Fatalf("undo %t, step %d: beside the database are %q, kept are %q", undo, k, beside, kept)
			}
			committed := f.isCommitted(undo)
			if committed != (removed != undo) {
				t.Errorf("undo %t, step %d: removed %t, committed %t", undo, k, removed, committed)
			}
			if removed {
				f.checkOwn(fmt.Sprint(k), "snapshot-aaa", "snapshot-bbb")
			} else {
				f.checkOwn(fmt.Sprint(k))
			}
			if !hit {
				t.Logf("undo %t: %d steps, %d end after it, %d before", undo, k, forward, back)
				break
			}
			if committed {
				forward++
			} else {
				back++
			}
		}
		if forward == 0 || back == 0 {
			t.Errorf("undo %t: %d changes were made, and %d were not: want some of each", undo, forward, back)
		}
	}
}

// TestTreesRecreated: if the agent creates a folder again after a removal of two folders, or its undo, was killed at any
// step, the recovery ends, and no file is lost.
func TestTreesRecreated(t *testing.T) {
	storetest.Long(t)
	for _, undo := range []bool{false, true} {
		for k := 0; ; k++ {
			f := newTreesFixture(t)
			before := f.trees("snapshot")
			verb := exchangeFixture.removeTrees
			if undo {
				dbtest.Must(t, f.removeTrees(nil))
				verb = exchangeFixture.undo
			}
			fault := &storetest.Fault{At: k}
			_ = verb(f, fault.Step)
			again := filepath.Join(filepath.Dir(f.path), "snapshot", "bbb")
			created := os.MkdirAll(filepath.Dir(again), 0o700) == nil && os.Mkdir(again, 0o700) == nil
			for range 2 {
				if err := f.recover(nil); err != nil {
					t.Fatalf("undo %t, step %d (%v), created again %t: Recover: %v", undo, k, fault.Calls, created, err)
				}
			}
			if created {
				_ = os.Remove(again) // fails if the folder was restored
			}
			all := append(f.trees("snapshot"), f.trees(".mend")...)
			if slices.Sort(all); !slices.Equal(all, before) {
				t.Fatalf("undo %t, step %d: the files are %q, want %q", undo, k, all, before)
			}
			if !fault.Hit() {
				break
			}
		}
	}
}

// TestTreesRefused: an undo does not replace a folder that was created again. Sweep deletes only the folders of forgotten
// entries, and no file that a link in them points to.
func TestTreesRefused(t *testing.T) {
	f := newTreesFixture(t)
	dbtest.Must(t, f.removeTrees(nil))
	again := filepath.Join(filepath.Dir(f.path), "snapshot", "bbb")
	dbtest.Must(t, os.MkdirAll(again, 0o700))
	var conflict *change.ConflictError
	if err := f.undo(nil); !errors.As(err, &conflict) {
		t.Errorf("undo over a folder that was created again: %v, want a conflict", err)
	}
	dbtest.Must(t, os.Remove(again))
	dbtest.Must(t, f.undo(nil))
	before := f.trees("snapshot")
	dbtest.Must(t, f.removeTrees(nil))
	dbtest.Must(t, f.reopen(nil, func(_ *journal.Journal, s *sqlstore.Owned) error {
		var ops []change.OpInfo
		for _, ref := range treeRefs {
			ops = append(ops, change.OpInfo{Ref: ref})
		}
		if freed, err := s.Sweep(t.Context(), ops, ops); freed != 0 || err != nil {
			t.Errorf("Sweep of folders that are needed freed %d bytes, %v", freed, err)
		}
		if freed, err := s.Sweep(t.Context(), nil, nil); freed != 0 || err != nil {
			t.Errorf("Sweep without ops freed %d bytes, %v", freed, err)
		}
		freed, err := s.Sweep(t.Context(), nil, ops)
		if freed != int64(len("content of aaa")+len("content of bbb")+2*len("/etc")) || err != nil {
			t.Errorf("Sweep freed %d bytes of %q, %v", freed, before, err)
		}
		return nil
	}))
	if left := f.trees(".mend"); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
	if _, err := os.Stat("/etc/passwd"); err != nil {
		t.Error(err)
	}
	if err := f.undo(nil); err == nil {
		t.Error("undo of forgotten folders: no error")
	}
}
