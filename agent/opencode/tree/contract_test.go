package tree

import (
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mend/change"
	"mend/internal/test/storetest"
)

// TestContract runs the contract suite on a tree. Fault cases 17, 23, 24, 25 and 34 (docs/verified.md).
func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness { return harness(t, storetest.SmallTree(t)) })
}

func harness(t *testing.T, root string) storetest.Harness {
	open := func(step func(string) error) *Store {
		return mustOpen(t, root, Options{Owner: "own", Step: step})
	}
	return storetest.Harness{
		Open:     func(step func(string) error) storetest.Store { return open(step) },
		Records:  func() iter.Seq[*change.Record] { return mustLoad(t, open(nil)).AllRecords },
		Snapshot: func() map[string]string { return storetest.Snapshot(t, root, ".mend") },
		Read: func(ref change.Ref) *change.Image {
			images, err := open(nil).Read(t.Context(), []change.Ref{ref})
			must(t, err)
			return images[0]
		},
		Leftovers: func() []string {
			if _, err := os.Lstat(filepath.Join(root, ".mend")); err != nil {
				return nil
			}
			return slices.Sorted(maps.Keys(storetest.Snapshot(t, filepath.Join(root, ".mend"), "")))
		},
		Write: func(ref change.Ref, image *change.Image) { write(t, open(nil), ref, image) },
	}
}

// write acts as another program: it replaces a record by a rename, or removes it.
func write(t *testing.T, s *Store, ref change.Ref, image *change.Image) {
	t.Helper()
	p, _, err := layout{}.Path(ref)
	must(t, err)
	name := filepath.Join(s.ID().Root, p)
	if image == nil {
		if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return
	}
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name+".tmp", image.Data, image.Mode))
	must(t, os.Chmod(name+".tmp", image.Mode))
	must(t, os.Rename(name+".tmp", name))
}
