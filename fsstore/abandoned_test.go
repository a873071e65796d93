package fsstore_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mend/agent/opencode/tree"
	"mend/change"
	"mend/fsstore"
	"mend/internal/test/storetest"
)

// TestAbandoned: only the staging folders of other journals are abandoned.
func TestAbandoned(t *testing.T) {
	root := storetest.SmallTree(t)
	s := mustOpen(t, root, tree.Options{Owner: "own"})
	want := func(when string, names ...string) {
		t.Helper()
		if got, err := s.ListAbandoned("own"); err != nil || !slices.Equal(got, names) {
			t.Errorf("%s: ListAbandoned = %q, %v, want %q", when, got, err, names)
		}
	}
	want("in a fresh tree")
	for _, owner := range []string{"own", "other"} {
		staged, err := mustOpen(t, root, tree.Options{Owner: owner}).Prepare(t.Context(), change.Plan{Ops: storetest.MixedOps(t, mustLoad(t, s).AllRecords)})
		if err != nil || staged.Dir != fsstore.MendDir+"/"+owner+"/1" {
			t.Fatalf("Prepare = %q, %v", staged.Dir, err)
		}
	}
	storetest.Put(t, root, fsstore.KeptDir+"/prt_1.json", "kept")
	storetest.Put(t, root, fsstore.MendDir+"/a file", "strange")
	if err := os.Symlink("/etc", filepath.Join(root, fsstore.MendDir, "link")); err != nil {
		t.Fatal(err)
	}
	want("with a change of each", ".mend/other/1")
}
