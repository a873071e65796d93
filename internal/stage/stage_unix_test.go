//go:build unix

package stage_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/safedir"
	"mend/internal/stage"
	"mend/internal/test/storetest"
)

// TestCheckOwner: an owner is one valid name, and not the name of the folder of kept files.
func TestCheckOwner(t *testing.T) {
	for owner, valid := range map[string]bool{"0a1b": true, "": false, "kept": false, "..": false, "a/b": false} {
		if err := stage.CheckOwner(owner); (err == nil) != valid {
			t.Errorf("CheckOwner(%q) = %v, want valid %t", owner, err, valid)
		}
	}
}

// TestCheck: a staged change of another store, or outside of mend's own folder, is refused.
func TestCheck(t *testing.T) {
	id := change.StoreID{Kind: "json", Root: "/a"}
	isStage := func(name string) bool { return name == "1" }
	for _, c := range []struct {
		root, dir string
		valid     bool
	}{
		{"/a", ".mend/own/1", true},
		{"/b", ".mend/own/1", false},
		{"/a", ".mend/own/2", false},
		{"/a", ".mend/own/1/2", false},
		{"/a", ".mend/../1", false},
		{"/a", "part/own/1", false},
		{"/a", "", false},
	} {
		st := change.Staged{Store: change.StoreID{Kind: "json", Root: c.root}, Dir: c.dir}
		if err := stage.Check(st, id, isStage); (err == nil) != c.valid {
			t.Errorf("Check of %q in %s = %v, want valid %t", c.dir, c.root, err, c.valid)
		}
	}
}

// newArea returns an area of a new root, and a function that returns the names of its files.
func newArea(t *testing.T) (a *stage.Area, names func() []string) {
	t.Helper()
	root := storetest.FastDir(t)
	d, err := safedir.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return &stage.Area{Root: d, Path: root, Owner: "own", Step: func(string) error { return nil }}, func() (all []string) {
		for name, content := range storetest.Snapshot(t, root, "") {
			if strings.HasPrefix(content, "-") {
				all = append(all, name)
			}
		}
		slices.Sort(all)
		return all
	}
}

// TestKeep: a kept file gets a new number if its name exists, and no kept file is replaced.
func TestKeep(t *testing.T) {
	a, names := newArea(t)
	for i, want := range []string{"x.1.json", "x.2.json"} {
		storetest.Put(t, a.Path, "file", "text")
		got, err := a.Keep(a.Root, "file", "x.", ".json", "file")
		if err != nil || got != stage.Kept+"/"+want || len(names()) != i+1 {
			t.Errorf("Keep = %q, %v, and the files are %q, want %q", got, err, names(), want)
		}
	}
	storetest.Put(t, a.Path, "file", "text")
	a.Step = func(string) error { return storetest.ErrFault }
	if _, err := a.Keep(a.Root, "file", "x.", ".json", "file"); !errors.Is(err, storetest.ErrFault) || !slices.Contains(names(), "file") {
		t.Errorf("Keep with a fault = %v, and the files are %q", err, names())
	}
}

// TestMakeStage: a new staging folder has the first free number. After an error no other folder has the path, because
// the caller removes it.
func TestMakeStage(t *testing.T) {
	a, _ := newArea(t)
	for _, want := range []string{".mend/own/1", ".mend/own/2"} {
		if p, err := a.MakeStage(""); err != nil || p != want {
			t.Errorf("MakeStage = %q, %v, want %q", p, err, want)
		}
	}
	a.Step = func(string) error { return storetest.ErrFault }
	if p, err := a.MakeStage(""); !errors.Is(err, storetest.ErrFault) || p == ".mend/own/1" || p == ".mend/own/2" {
		t.Errorf("MakeStage with a fault = %q, %v", p, err)
	}
	storetest.Chmod(t, a.Path+"/.mend/own", 0o770)
	if p, err := a.MakeStage(""); err == nil || p == ".mend/own/1" || p == ".mend/own/2" {
		t.Errorf("MakeStage in a folder that others can write to = %q, %v", p, err)
	}
}
