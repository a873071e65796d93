package fsstore_test

import (
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mend/agent/opencode/tree"
	"mend/change"
	"mend/internal/test/storetest"
)

// TestContract cuts and fails a change, its undo and their recovery at each call.
func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		root := storetest.SmallTree(t)
		open := func(step func(string) error) *tree.Store {
			return mustOpen(t, root, tree.Options{Owner: "own", Step: step})
		}
		return storetest.Harness{
			Open:     func(step func(string) error) storetest.Store { return open(step) },
			Records:  func() iter.Seq[*change.Record] { return mustLoad(t, open(nil)).AllRecords },
			Snapshot: func() map[string]string { return storetest.Snapshot(t, root, ".mend") },
			Read: func(ref change.Ref) *change.Image {
				images, err := open(nil).Read(t.Context(), []change.Ref{ref})
				if err != nil {
					t.Fatal(err)
				}
				return images[0]
			},
			Leftovers: func() []string {
				if _, err := os.Lstat(filepath.Join(root, ".mend")); err != nil {
					return nil
				}
				return slices.Sorted(maps.Keys(storetest.Snapshot(t, filepath.Join(root, ".mend"), "")))
			},
			Write: func(ref change.Ref, image *change.Image) { writeAsOther(t, root, ref, image) },
		}
	})
}

// writeAsOther is another program: it replaces a record by a rename, or removes it.
func writeAsOther(t *testing.T, root string, ref change.Ref, image *change.Image) {
	t.Helper()
	name := filepath.Join(root, "message", ref.Session, ref.Message+".json")
	if ref.Kind == change.KindPart {
		name = filepath.Join(root, "part", ref.Message, ref.Part+".json")
	}
	if image == nil {
		if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return
	}
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name+".other", image.Data, image.Mode)
	}
	if err == nil {
		err = os.Rename(name+".other", name)
	}
	if err != nil {
		t.Fatal(err)
	}
}
