//go:build linux || darwin

package safedir

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func openRoot(t *testing.T, name string) *Dir {
	t.Helper()
	d, err := OpenRoot(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
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
	da, db := openRoot(t, a), openRoot(t, b)
	if err := da.Exchange("x", db, "y"); err != nil {
		t.Fatal(err)
	}
	wantFile(t, filepath.Join(a, "x"), "2")
	wantFile(t, filepath.Join(b, "y"), "1")
	err := da.Exchange("x", db, "none")
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Exchange with a missing file = %v, want %v", err, os.ErrNotExist)
	}
	wantFile(t, filepath.Join(a, "x"), "2")
}

// TestMove: an existing file is not replaced.
func TestMove(t *testing.T) {
	a := t.TempDir()
	writeFile(t, filepath.Join(a, "x"), "1")
	writeFile(t, filepath.Join(a, "y"), "2")
	d := openRoot(t, a)
	if err := d.Move("x", d, "y"); !errors.Is(err, os.ErrExist) {
		t.Errorf("Move = %v, want %v", err, os.ErrExist)
	}
	wantFile(t, filepath.Join(a, "x"), "1")
	wantFile(t, filepath.Join(a, "y"), "2")
	if err := d.Move("x", d, "z"); err != nil {
		t.Fatal(err)
	}
	wantFile(t, filepath.Join(a, "x"), "")
	wantFile(t, filepath.Join(a, "z"), "1")
	if err := d.Move("none", d, "n"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Move of a missing file = %v, want %v", err, os.ErrNotExist)
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

// TestReplace: a file replaces another.
func TestReplace(t *testing.T) {
	a := t.TempDir()
	writeFile(t, filepath.Join(a, "x"), "1")
	writeFile(t, filepath.Join(a, "y"), "2")
	d := openRoot(t, a)
	if err := d.Replace("x", d, "y"); err != nil {
		t.Fatal(err)
	}
	wantFile(t, filepath.Join(a, "x"), "")
	wantFile(t, filepath.Join(a, "y"), "1")
	if err := d.Replace("none", d, "y"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Replace of a missing file = %v, want %v", err, os.ErrNotExist)
	}
}
