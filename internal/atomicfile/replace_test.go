//go:build linux || darwin

package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestReplace: a file is replaced only if it has the expected content, or is missing as expected, and never through a link.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "settings"), filepath.Join(dir, "link")
	steps := []struct {
		path          string
		before, after string
		fresh, fails  bool
	}{
		{path, "", "first", true, false},
		{path, "", "second", true, true},
		{path, "firs", "second", false, true},
		{path, "first!", "second", false, true},
		{path, "first", "second", false, false},
		{link, "second", "third", false, true},
	}
	if err := os.Symlink("settings", link); err != nil {
		t.Fatal(err)
	}
	for i, s := range steps {
		before := []byte(s.before)
		if s.fresh {
			before = nil
		}
		err := Replace(s.path, before, []byte(s.after), 0o640)
		if (err != nil) != s.fails || s.fails && s.path == path && !errors.Is(err, errChanged) {
			t.Errorf("step %d: Replace = %v, want an error %t", i, err, s.fails)
		}
	}
	wantFile(t, path, "second")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("the folder has %v, %v, want the file and the link", entries, err)
	}
}
