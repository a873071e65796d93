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

func open(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func put(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, name, content string) {
	t.Helper()
	if got, err := os.ReadFile(name); string(got) != content || (err != nil) != (content == "") {
		t.Errorf("%s holds %q, %v, want %q", filepath.Base(name), got, err, content)
	}
}

func TestExchange(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	put(t, filepath.Join(a, "x"), "1")
	put(t, filepath.Join(b, "y"), "2")
	da, db := open(t, a), open(t, b)
	if err := Exchange(da, "x", db, "y"); err != nil {
		t.Fatal(err)
	}
	want(t, filepath.Join(a, "x"), "2")
	want(t, filepath.Join(b, "y"), "1")
	err := Exchange(da, "x", db, "none")
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Exchange with nothing = %v, want %v", err, os.ErrNotExist)
	}
	want(t, filepath.Join(a, "x"), "2")
}

func TestRenameNoReplace(t *testing.T) {
	a := t.TempDir()
	put(t, filepath.Join(a, "x"), "1")
	put(t, filepath.Join(a, "y"), "2")
	d := open(t, a)
	if err := RenameNoReplace(d, "x", d, "y"); !errors.Is(err, os.ErrExist) {
		t.Errorf("RenameNoReplace = %v, want %v", err, os.ErrExist)
	}
	want(t, filepath.Join(a, "x"), "1")
	want(t, filepath.Join(a, "y"), "2")
	if err := RenameNoReplace(d, "x", d, "z"); err != nil {
		t.Fatal(err)
	}
	want(t, filepath.Join(a, "x"), "")
	want(t, filepath.Join(a, "z"), "1")
	if err := RenameNoReplace(d, "none", d, "n"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("RenameNoReplace of nothing = %v, want %v", err, os.ErrNotExist)
	}
}

// TestUnsupported checks that every way in which a file system says no is told
// as one.
func TestUnsupported(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EINVAL, syscall.ENOSYS, syscall.ENOTSUP, syscall.EOPNOTSUPP} {
		if err := linkError("exchange", "x", "y", errno); !errors.Is(err, errors.ErrUnsupported) || !errors.Is(err, errno) {
			t.Errorf("%v is told as %v, want %v", errno, err, errors.ErrUnsupported)
		}
	}
	for _, errno := range []syscall.Errno{syscall.EXDEV, syscall.EACCES, syscall.EROFS, syscall.EIO} {
		if err := linkError("exchange", "x", "y", errno); errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%v is told as %v", errno, err)
		}
	}
}

func TestBarrier(t *testing.T) {
	dir := t.TempDir()
	b := NewBarrier()
	for i := range 100 {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		b.Add(f)
	}
	b.Add(open(t, dir))
	if err := b.Wait(); err != nil {
		t.Errorf("Wait = %v", err)
	}
	if err := NewBarrier().Wait(); err != nil {
		t.Errorf("Wait for nothing = %v", err)
	}
	b = NewBarrier()
	f := open(t, dir)
	f.Close()
	b.Add(f)
	b.Add(open(t, dir))
	if err := b.Wait(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Wait = %v, want the error of the one that failed", err)
	}
}
