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
		t.Errorf("Exchange with nothing = %v, want %v", err, os.ErrNotExist)
	}
	wantFile(t, filepath.Join(a, "x"), "2")
}

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
		t.Errorf("RenameNoReplace of nothing = %v, want %v", err, os.ErrNotExist)
	}
}

// TestUnsupported checks that every error by which a file system refuses a rename wraps
// ErrUnsupported.
func TestUnsupported(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EINVAL, syscall.ENOSYS, syscall.ENOTSUP, syscall.EOPNOTSUPP} {
		if err := linkError("exchange", "x", "y", errno); !errors.Is(err, errors.ErrUnsupported) || !errors.Is(err, errno) {
			t.Errorf("%v gives %v, want %v", errno, err, errors.ErrUnsupported)
		}
	}
	for _, errno := range []syscall.Errno{syscall.EXDEV, syscall.EACCES, syscall.EROFS, syscall.EIO} {
		if err := linkError("exchange", "x", "y", errno); errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%v gives %v", errno, err)
		}
	}
}

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
		t.Errorf("Rename of nothing = %v, want %v", err, os.ErrNotExist)
	}
}

// TestBarrier waits for no, few and many files, with and without the call for the whole
// file system.
func TestBarrier(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []int{0, 1, few, few + 1, 10 * few} {
		for _, each := range []bool{false, true} {
			b := NewBarrier(openFile(t, dir))
			if each {
				b.syncAll = nil
			}
			for i := range n {
				b.Add(createFile(t, dir, i))
			}
			if err := b.Wait(); err != nil {
				t.Errorf("Wait for %d files = %v", n, err)
			}
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

// TestBarrierCalls counts the calls for the whole file system, and has them fail.
func TestBarrierCalls(t *testing.T) {
	dir := t.TempDir()
	broken := errors.New("broken")
	for _, c := range []struct {
		few, files, calls int
		err               error
	}{
		{few, 0, 0, nil},
		{few, few, 0, nil},
		{few, few + 1, 1, nil},
		{few, 10 * few, 1, nil},
		{few, few + 1, 1, broken},
		{1, 1, 0, nil},
		{1, 2, 1, nil},
	} {
		calls := 0
		b := &Barrier{maxFew: c.few, syncAll: func() error { calls++; return c.err }}
		for i := range c.files {
			b.Add(createFile(t, dir, i))
		}
		if err := b.Wait(); !errors.Is(err, c.err) || calls != c.calls {
			t.Errorf("Wait for %d files, of which %d are few, = %v after %d calls for the file system, want %v after %d", c.files, c.few, err, calls, c.err, c.calls)
		}
	}
}

// TestBarrierMany adds folders that are not open.
func TestBarrierMany(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		files, folders int
		each           bool
		calls          int
	}{
		{0, few, false, 0}, {0, few + 1, false, 1}, {1, few, false, 1}, {few + 1, 1, false, 1}, {0, few + 1, true, 0},
	} {
		calls := 0
		b := &Barrier{maxFew: few}
		if !c.each {
			b.syncAll = func() error { calls++; return nil }
		}
		for i := range c.files {
			b.Add(createFile(t, dir, i))
		}
		done := b.AddMany(c.folders)
		if err := b.Wait(); err != nil || done != (c.calls > 0) || calls != c.calls {
			t.Errorf("AddMany(%d) behind %d files = %t, and Wait = %v after %d calls for the file system, want %d", c.folders, c.files, done, err, calls, c.calls)
		}
	}
}

// TestBarrierError checks that Wait returns the first error.
func TestBarrierError(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []int{1, 3 * few} {
		b := NewBarrier(openFile(t, dir))
		f := createFile(t, dir, n)
		f.Close()
		b.Add(f)
		for i := range n {
			b.Add(createFile(t, dir, i))
		}
		if err := b.Wait(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Wait for %d files more = %v, want the error of the file that failed", n, err)
		}
	}
}
