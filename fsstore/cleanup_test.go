//go:build unix

package fsstore_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/agent/opencode/tree"
	"mend/change"
	"mend/fsstore"
	"mend/internal/test/storetest"
)

// TestStagingFolderIsLink: Prepare refuses a folder .mend that is a link, and writes nothing into its target.
func TestStagingFolderIsLink(t *testing.T) {
	root, elsewhere := storetest.SmallTree(t), storetest.FastDir(t)
	if err := os.Symlink(elsewhere, filepath.Join(root, fsstore.MendDir)); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	if _, err := s.Prepare(t.Context(), change.Plan{Ops: storetest.MixedOps(t, mustLoad(t, s).AllRecords)}); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("Prepare = %v, want a refusal", err)
	}
	if got := storetest.Snapshot(t, elsewhere, ""); len(got) != 1 {
		t.Errorf("the target of the link has %v", got)
	}
}

// TestPrepareCleansStage: Prepare removes what earlier changes staged, and leaves files of other programs in place. It keeps
// a staged file with other bytes than its name says.
func TestPrepareCleansStage(t *testing.T) {
	root := storetest.SmallTree(t)
	x, none := fsstore.Hash([]byte("x")), "none"
	for _, p := range []string{"1/0-" + x + "-" + none, "1/1-" + none + "-" + x, "2.new/0-" + none + "-" + none, "3.again/7-" + x + "-" + x + ".new"} {
		storetest.Put(t, root, ".mend/own/"+p, "x")
	}
	written := "2-" + fsstore.Hash([]byte("y")) + "-" + none
	storetest.Put(t, root, ".mend/own/1/"+written, "x")
	others := []string{"own/1/notes.txt", "own/2.new/notes.txt", "other/1/0-" + x + "-" + none, "own/notes.txt", "kept/a.json"}
	for _, p := range others {
		storetest.Put(t, root, ".mend/"+p, "x")
	}
	for _, p := range []string{".mend/own/1/3-folder", ".mend/own/4/0-folder"} {
		if err := os.MkdirAll(filepath.Join(root, p), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	ops := storetest.MixedOps(t, mustLoad(t, s).AllRecords)
	ops[0].Pre = &change.Image{Data: []byte("no"), Mode: 0o644}
	if _, err := s.Prepare(t.Context(), change.Plan{Ops: ops}); !isConflict(err) {
		t.Fatalf("Prepare = %v, want a conflict", err)
	}
	var left []string
	for p, what := range storetest.Snapshot(t, filepath.Join(root, fsstore.MendDir), "") {
		if !strings.HasPrefix(what, "d") {
			left = append(left, p)
		}
	}
	storetest.WantNames(t, left, append(others, "kept/"+fsstore.LatePrefix(".mend/own/1", written)+"1.json"))
	if _, err := os.Stat(filepath.Join(root, ".mend/own/4")); err == nil {
		t.Error("an empty staging folder is left")
	}
}

// TestStageNumber: a change is staged under the first number without an undecided change and without files of another
// program.
func TestStageNumber(t *testing.T) {
	root := storetest.SmallTree(t)
	storetest.Put(t, root, ".mend/own/2.new/notes.txt", "x")
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	p := change.Plan{Ops: storetest.SetText(t, mustLoad(t, s).AllRecords, "prt_12", "new")}
	for _, want := range []string{".mend/own/1", ".mend/own/3", ".mend/own/4"} {
		st, err := s.Prepare(t.Context(), p)
		if err != nil || st.Dir != want {
			t.Fatalf("Prepare stages in %q, %v, want %q", st.Dir, err, want)
		}
		p.Undecided = append(p.Undecided, st.Dir)
	}
}
