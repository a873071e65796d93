package tree

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mend/internal/test/storetest"
)

// A partsRoot returns the ids that no message has, and does not count what came
// or went after it was listed.
func TestUnowned(t *testing.T) {
	root := storetest.FastDir(t)
	for _, name := range []string{"session/p", "message/ses_1"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	folder := func(id string) string { return filepath.Join(root, "part", id) }
	var want []string
	for i := range 2000 { // more than one call lists
		id := fmt.Sprintf("msg_%04d", i)
		if err := os.MkdirAll(folder(id), 0o755); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 && i > 0 {
			want = append(want, id)
		}
	}
	s, err := Open(root, "", Options{})
	if err != nil {
		t.Fatal(err)
	}
	tr, err := s.newReader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	roots := tr.listPartsRoots()
	if len(roots) != 1 {
		t.Fatalf("%d roots, want 1", len(roots))
	}
	pr := roots[0]
	for i := range 3000 { // of some messages there are no parts
		if i%3 != 0 {
			pr.setOwned(fmt.Sprintf("msg_%04d", i))
		}
	}
	if err := os.Remove(folder("msg_0000")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder("msg_new"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := pr.unowned(tr); !slices.Equal(got, want) {
		t.Errorf("left are %d ids, want %d: %v", len(got), len(want), got)
	}
	for i := range 2000 {
		pr.setOwned(fmt.Sprintf("msg_%04d", i))
	}
	if got := pr.unowned(tr); len(got) > 0 {
		t.Errorf("left are %v, want none", got)
	}
	if tr.failed() || len(tr.stray) > 0 {
		t.Errorf("error %v, stray %v", tr.err, tr.stray)
	}
}
