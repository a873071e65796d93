//go:build linux || darwin

package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func openFile(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func writeFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func wantFile(t *testing.T, name, content string) {
	t.Helper()
	if got, err := os.ReadFile(name); string(got) != content || (err != nil) != (content == "") {
		t.Errorf("%s holds %q, %v, want %q", filepath.Base(name), got, err, content)
	}
}

// TestExchange: two files are swapped. If one is missing, nothing changes.
func TestExchange(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(a, "x"), "1")
	writeFile(t, filepath.Join(b, "y"), "2")
	da, db := openFile(t, a), openFile(t, b)
	if err := Exchange(da, "x", db, "y"); err != nil {
		t.Fatal(err)
	}
	wantFile(t, filepath.Join(a, "x"), "2")
	wantFile(t, filepath.Join(b, "y"), "1")
	err := Exchange(da, "x", db, "none")
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Exchange with a missing file = %v, want %v", err, os.ErrNotExist)
	}
	wantFile(t, filepath.Join(a, "x"), "2")
}

// TestRenameNoReplace: an existing file is not replaced.
func TestRenameNoReplace(t *testing.T) {
	a := t.TempDir()
	writeFile(t, filepath.Join(a, "x"), "1")
	writeFile(t, filepath.Join(a, "y"), "2")
	d := openFile(t, a)
	if err := RenameNoReplace(d, "x", d, "y"); !errors.Is(err, os.ErrExist) {
		t.Errorf("RenameNoReplace = %v, want %v", err, os.ErrExist)
	}
	wantFile(t, filepath.Join(a, "x"), "1")
	wantFile(t, filepath.Join(a, "y"), "2")
	if err := RenameNoReplace(d, "x", d, "z"); err != nil {
		t.Fatal(err)
	}
	wantFile(t, filepath.Join(a, "x"), "")
	wantFile(t, filepath.Join(a, "z"), "1")
	if err := RenameNoReplace(d, "none", d, "n"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("RenameNoReplace of a missing file = %v, want %v", err, os.ErrNotExist)
	}
}

// TestUnsupported: an error wraps ErrUnsupported if it means that the file system does not have the call.
func TestUnsupported(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EINVAL, syscall.ENOSYS, syscall.ENOTSUP, syscall.EOPNOTSUPP} {
		if err := linkError("exchange", "x", "y", errno); !errors.Is(err, errors.ErrUnsupported) || !errors.Is(err, errno) {
			t.Errorf("%v gives %v, want %v", errno, err, errors.ErrUnsupported)
		}
	}
	for _, errno := range []syscall.Errno{syscall.EXDEV, syscall.EACCES, syscall.EROFS, syscall.EIO} {
		if err := linkError("exchange", "x", "y", errno); errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%v gives %v, which wraps %v", errno, err, errors.ErrUnsupported)
		}
	}
}

// TestRename: a file replaces another.
func TestRename(t *testing.T) {
	a := t.TempDir()
	writeFile(t, filepath.Join(a, "x"), "1")
	writeFile(t, filepath.Join(a, "y"), "2")
	d := openFile(t, a)
	if err := Rename(d, "x", d, "y"); err != nil {
		t.Fatal(err)
	}
	wantFile(t, filepath.Join(a, "x"), "")
	wantFile(t, filepath.Join(a, "y"), "1")
	if err := Rename(d, "none", d, "y"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Rename of a missing file = %v, want %v", err, os.ErrNotExist)
	}
}

// TestBarrier: Wait syncs any number of files, more than may be open at once.
func TestBarrier(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []int{0, 1, maxOpen, maxOpen + 1, 3 * maxOpen} {
		var b Barrier
		for i := range n {
			b.Add(createFile(t, dir, i))
		}
		if err := b.Wait(); err != nil {
			t.Errorf("Wait for %d files = %v", n, err)
		}
	}
}

func createFile(t *testing.T, dir string, i int) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestBarrierError: Wait returns the error of a file that cannot be synced.
func TestBarrierError(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []int{1, 3 * maxOpen} {
		var b Barrier
		f := createFile(t, dir, n)
		f.Close()
		b.Add(f)
		for i := range n {
			b.Add(createFile(t, dir, i))
		}
		if err := b.Wait(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Wait for a closed file and %d others = %v, want %v", n, err, os.ErrClosed)
		}
	}
}
