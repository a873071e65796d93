package fsstore

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestAbandoned finds what the cut changes of other journals left, and nothing
// else. Fault case 21.
func TestAbandoned(t *testing.T) {
	needWrites(t)
	root := smallTree(t)
	s := mustOpen(t, root, "", Options{Owner: "own"})
	want := func(when string, names ...string) {
		t.Helper()
		if got, err := s.Abandoned("own"); err != nil || !slices.Equal(got, names) {
			t.Errorf("%s: Abandoned = %q, %v, want %q", when, got, err, names)
		}
	}
	want("in a fresh tree")
	for _, owner := range []string{"own", "other"} {
		staged, err := mustOpen(t, root, "", Options{Owner: owner}).Prepare(t.Context(), bigPlan(t, mustLoad(t, s)))
		if err != nil || staged.Dir != mendDir+"/"+owner+"/1" {
			t.Fatalf("Prepare = %q, %v", staged.Dir, err)
		}
	}
	put(t, root, keptDir+"/prt_1.json", "kept")
	put(t, root, mendDir+"/a file", "strange")
	if err := os.Symlink("/etc", filepath.Join(root, mendDir, "link")); err != nil {
		t.Fatal(err)
	}
	want("with a change of each", ".mend/other/1")
}
