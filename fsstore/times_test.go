package fsstore_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"mend/change"
	"mend/fsstore"
	"mend/internal/test/storetest"
)

// TestTimes: a replaced file gets the time of its op, and a moved file keeps its time. The undo restores the old times,
// except of a file whose op has no time.
func TestTimes(t *testing.T) {
	root, paths := storetest.FastDir(t), fsstore.Paths("notes")
	old, later := time.Unix(1_000_000_000, 0), time.Unix(1_500_000_000, 0)
	for _, p := range []string{"timed", "plain", "deleted", "from/moved"} {
		storetest.Put(t, root, p, "old "+p)
		if err := os.Chtimes(filepath.Join(root, p), old, old); err != nil {
			t.Fatal(err)
		}
	}
	image := func(text string) *change.Image { return &change.Image{Data: []byte(text), Mode: 0o644} }
	timed := image("new")
	timed.Time = later.UnixNano()
	s, err := fsstore.New(root, paths, fsstore.Options{Owner: "own"})
	if err != nil {
		t.Fatal(err)
	}
	st := storetest.Apply(t, s, []change.Op{
		{Ref: paths.Ref("timed"), Pre: image("old timed"), Post: timed},
		{Ref: paths.Ref("plain"), Pre: image("old plain"), Post: image("new")},
		{Ref: paths.Ref("deleted"), Pre: image("old deleted")},
		{Ref: paths.Ref("from/moved"), Pre: image("old from/moved")},
		{Ref: paths.Ref("to/moved"), Post: image("old from/moved and more")},
	})
	wantTimes(t, root, map[string]time.Time{"timed": later, "to/moved": old})
	storetest.Apply(t, s, change.Inverse(st.Ops))
	wantTimes(t, root, map[string]time.Time{"timed": old, "deleted": old, "from/moved": old})
	if fi, err := os.Stat(filepath.Join(root, "plain")); err != nil || time.Since(fi.ModTime()) > time.Hour {
		t.Errorf("plain is %v, %v, want a new time", fi, err)
	}
}

func wantTimes(t *testing.T, root string, want map[string]time.Time) {
	t.Helper()
	for p, at := range want {
		fi, err := os.Stat(filepath.Join(root, p))
		if err != nil {
			t.Error(err)
		} else if !fi.ModTime().Equal(at) {
			t.Errorf("%s has the time %v, want %v", p, fi.ModTime(), at)
		}
	}
}
