//go:build linux || darwin

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mend/internal/ownfile"
)

// TestWriteFile: a file is created or replaces a regular file, and nothing else.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeFile(t, at("old"), "old")
	writeFile(t, at("target"), "target")
	if err := errors.Join(os.Symlink("target", at("link")), os.Link(at("target"), at("other name")), os.Mkdir(at("folder"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, refused := range map[string]bool{"new": false, "old": false, "other name": false, "link": true, "folder": true} {
		err := WriteFile(at(name), []byte("new"), 0o600)
		var unsafe *ownfile.UnsafeError
		if errors.As(err, &unsafe) != refused || !refused && err != nil {
			t.Errorf("WriteFile(%s) = %v, want refused %t", name, err, refused)
		}
		if !refused {
			wantFile(t, at(name), "new")
		}
	}
	if err := errors.Join(os.Chmod(at("old"), 0o666), WriteFile(at("old"), []byte("new"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(at("old")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("after WriteFile with mode 0600 over a file with mode 0666 the mode is %v, %v", info.Mode(), err)
	}
	wantFile(t, at("target"), "target")
	if to, err := os.Readlink(at("link")); err != nil || to != "target" {
		t.Errorf("the link points to %q (%v)", to, err)
	}
	if err := WriteFile(at("none/new"), nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("WriteFile in a missing folder = %v, want %v", err, fs.ErrNotExist)
	}
}

// TestWriteFileRemovesStaged: WriteFile removes the staged files of killed writers, but no file that another writer may still
// be writing, and no file with a similar name.
func TestWriteFileRemovesStaged(t *testing.T) {
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{".scan1": time.Hour, ".scan2": 0, ".index1": time.Hour, ".scan": time.Hour, ".scan.swp": time.Hour, ".scan1~": time.Hour} {
		at := time.Now().Add(-age)
		writeFile(t, filepath.Join(dir, name), "")
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := WriteFile(filepath.Join(dir, "scan"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if kept := []string{".index1", ".scan", ".scan.swp", ".scan1~", ".scan2", "scan"}; !slices.Equal(left, kept) {
		t.Errorf("the folder has %q, want %q", left, kept)
	}
}
