package storetest

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

// FastDir returns a temporary folder, in memory if possible, where a sync costs nothing.
func FastDir(t testing.TB) string {
	t.Helper()
	if memory := Memory(); memory != "" {
		if dir, err := os.MkdirTemp(memory, "mend-test-"); err == nil { //nolint:usetesting // t.TempDir does not accept a folder
			t.Cleanup(func() { removeAll(t, dir) })
			return dir
		}
	}
	return t.TempDir()
}

// RunInMemory is a TestMain that runs the tests of a package with [InMemory].
func RunInMemory(m *testing.M) {
	InMemory()
	m.Run()
}

// InMemory puts the temporary folders of all tests of a package into memory, if possible. It is for tests that are not about
// disks. Garbage is collected less often, because tests allocate short-lived data.
func InMemory() {
	debug.SetGCPercent(400)
	if memory := Memory(); memory != "" {
		if err := os.Setenv("TMPDIR", memory); err != nil {
			panic(err)
		}
	}
}

// removeAll removes dir, including files that a test has made unreadable.
func removeAll(t testing.TB, dir string) {
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(p, 0o700)
		}
		return nil
	})
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}
