package fsstore_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/agent/opencode/tree"
	"mend/change"
	"mend/fsstore"
	"mend/internal/test/storetest"
)

// cancelAfter returns a context that ends after n calls of Err: between two ops of a Commit.
func cancelAfter(t *testing.T, n int) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	return &countdown{Context: ctx, left: n}, cancel
}

type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// killCommit prepares ops of every kind, and kills Commit at its call n.
func killCommit(t *testing.T, root string, n int) (*tree.Store, change.Staged) {
	t.Helper()
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	staged := prepareMixed(t, s)
	f := &storetest.Fault{At: n}
	if _, err := mustOpen(t, root, tree.Options{Owner: "own", Step: f.Step}).Commit(t.Context(), staged); err == nil {
		t.Fatal("Commit survived the crash")
	}
	return s, staged
}

// settleTwice settles twice, checks the state both times, discards, and checks that nothing is left.
func settleTwice(t *testing.T, s *tree.Store, staged change.Staged, want change.State) change.Outcome {
	t.Helper()
	var out change.Outcome
	for range 2 {
		again, err := s.Settle(t.Context(), staged)
		if err != nil || again.State != want {
			t.Fatalf("Settle = %+v, %v, want %s", again, err, want)
		}
		if out.State != "" && (len(again.Conflicts) != len(out.Conflicts) || !slices.Equal(again.Kept, out.Kept)) {
			t.Errorf("second Settle = %+v, the first was %+v", again, out)
		}
		out = again
	}
	if err := s.Discard(t.Context(), staged); err != nil {
		t.Fatal(err)
	}
	return out
}

func wantNoMend(t *testing.T, root string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(root, fsstore.MendDir)); err == nil {
		t.Errorf("left over: %q", slices.Sorted(maps.Keys(storetest.Snapshot(t, filepath.Join(root, fsstore.MendDir), ""))))
	}
}

// TestOutcomeOfForeign: after a crash, another program's write into a record that was not exchanged yet reverts the change;
// a write into a record that was exchanged is a conflict.
func TestOutcomeOfForeign(t *testing.T) {
	const foreign = "another program's"
	for _, c := range []struct {
		killed int // the call of Commit: 0 make, 1 exchange prt_11, 2 place prt_41, 3 take prt_13, 4 barrier
		path   string
		want   change.State
	}{
		{1, "part/msg_1/prt_11.json", change.Aborted},
		{2, "part/msg_1/prt_11.json", change.Conflicted},
		{2, "part/msg_4/prt_41.json", change.Aborted},
		{3, "part/msg_4/prt_41.json", change.Conflicted},
		{3, "part/msg_1/prt_13.json", change.Aborted},
		{4, "part/msg_1/prt_13.json", change.Conflicted},
	} {
		root := storetest.SmallTree(t)
		before := storetest.Snapshot(t, root, fsstore.MendDir)
		s, staged := killCommit(t, root, c.killed)
		storetest.Put(t, root, c.path, foreign)
		out := settleTwice(t, s, staged, c.want)
		if len(out.Conflicts) != 1 || string(out.Conflicts[0].Now.Data) != foreign {
			t.Errorf("killed at call %d, then %s written: %+v", c.killed, c.path, out)
		}
		wantNoMend(t, root)
		got := storetest.Snapshot(t, root, "")
		if !strings.HasSuffix(got[c.path], foreign) {
			t.Errorf("killed at call %d: %s holds %q", c.killed, c.path, got[c.path])
		}
		if strings.Contains(c.path, "msg_4") {
			delete(got, filepath.Dir(c.path))
		}
		delete(got, c.path)
		delete(before, c.path)
		if !maps.Equal(got, before) {
			t.Errorf("killed at call %d, then %s written: the tree holds %v, want %v", c.killed, c.path, got, before)
		}
	}
}

// TestOnlyModeChanges: a record with another mode is a conflict.
func TestOnlyModeChanges(t *testing.T) {
	root := storetest.SmallTree(t)
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	ops := storetest.SetText(t, mustLoad(t, s).AllRecords, "prt_12", "new")
	staged, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(root, "part/msg_1/prt_12.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := storetest.Snapshot(t, root, fsstore.MendDir)
	out, err := s.Commit(t.Context(), staged)
	if err != nil || len(out.Conflicts) != 1 || !strings.Contains(out.Conflicts[0].Why, "permissions") || out.Conflicts[0].Now.Mode != 0o600 {
		t.Errorf("Commit = %+v, %v, want a conflict about permissions", out, err)
	}
	if err := s.Discard(t.Context(), staged); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prepare(t.Context(), change.Plan{Ops: ops}); !isConflict(err) {
		t.Errorf("Prepare = %v, want a conflict", err)
	}
	if got := storetest.Snapshot(t, root, ""); !maps.Equal(got, before) {
		t.Errorf("the tree holds %v, want %v", got, before)
	}
}

// TestDiscardKeeps: Discard moves another program's content to the kept files, and leaves unknown files in the staging
// folder.
func TestDiscardKeeps(t *testing.T) {
	root := storetest.SmallTree(t)
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	staged := prepareMixed(t, s)
	stage := filepath.Join(root, staged.Dir)
	name := fsstore.StagedName(1, staged.Ops[1])
	if err := os.WriteFile(filepath.Join(stage, name), []byte("another program's"), 0o600); err != nil {
		t.Fatal(err)
	}
	storetest.Put(t, stage, "notes.txt", "mine")
	if err := s.Discard(t.Context(), staged); err != nil {
		t.Fatal(err)
	}
	var left []string
	for p := range storetest.Snapshot(t, stage, "") {
		left = append(left, p)
	}
	storetest.WantNames(t, left, []string{".", "notes.txt"})
	kept, err := filepath.Glob(filepath.Join(root, fsstore.KeptDir, "*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept is %v, %v", kept, err)
	}
	if data, err := os.ReadFile(kept[0]); err != nil || string(data) != "another program's" {
		t.Errorf("%s holds %q, %v", kept[0], data, err)
	}
	if _, err := s.Prepare(t.Context(), change.Plan{Ops: staged.Ops}); err != nil {
		t.Errorf("Prepare beside an unknown file = %v", err)
	}
}

// TestDiscardRemovesUnfinished: Discard removes a staged file that a recovery has begun to write again.
func TestDiscardRemovesUnfinished(t *testing.T) {
	root := storetest.SmallTree(t)
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	staged, err := s.Prepare(t.Context(), change.Plan{Ops: storetest.SetText(t, mustLoad(t, s).AllRecords, "prt_12", "new")})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Put(t, root, staged.Dir+"/"+fsstore.StagedName(0, staged.Ops[0])+".new", "torn")
	if err := s.Discard(t.Context(), staged); err != nil {
		t.Fatal(err)
	}
	wantNoMend(t, root)
}

// TestSameByOther: if another program makes the same change before Commit, the record stays as it is. A deletion looks like
// an exchange whose staged file was lost, so it is a conflict.
func TestSameByOther(t *testing.T) {
	for part, want := range map[string]change.State{"prt_11": change.Aborted, "prt_13": change.Conflicted} {
		root := storetest.SmallTree(t)
		s := mustOpen(t, root, tree.Options{Owner: "own"})
		staged := prepareMixed(t, s)
		op := staged.Ops[slices.IndexFunc(staged.Ops, func(o change.Op) bool { return o.Ref.Part == part })]
		writeAsOther(t, root, op.Ref, op.Post)
		out := settleTwice(t, s, staged, want)
		if len(out.Conflicts) != 1 || out.Conflicts[0].Ref != op.Ref {
			t.Errorf("%s: Settle = %+v, want the one conflict", part, out)
		}
		if images, err := s.Read(t.Context(), storetest.Refs(op)); err != nil || !images[0].Equal(op.Post) {
			t.Errorf("%s holds %+v, %v", part, images, err)
		}
	}
}

// TestUnfinishedExchange: if an exchange in several calls takes out content of another program and is cut, Settle puts the
// content back.
func TestUnfinishedExchange(t *testing.T) {
	root := storetest.SmallTree(t)
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	staged, err := s.Prepare(t.Context(), change.Plan{Ops: storetest.SetText(t, mustLoad(t, s).AllRecords, "prt_12", "new")})
	if err != nil {
		t.Fatal(err)
	}
	const part = "part/msg_1/prt_12.json"
	storetest.Put(t, root, part, "another program's")
	before := storetest.Snapshot(t, root, fsstore.MendDir)
	name := filepath.Join(root, staged.Dir, fsstore.StagedName(0, staged.Ops[0]))
	if err := os.Rename(filepath.Join(root, part), name+".second"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name, filepath.Join(root, part)); err != nil {
		t.Fatal(err)
	}
	settleTwice(t, s, staged, change.Aborted)
	if got := storetest.Snapshot(t, root, ""); !maps.Equal(got, before) {
		t.Errorf("the tree holds %v, want %v", got, before)
	}
}
