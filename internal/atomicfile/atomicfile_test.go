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

func TestRename(t *testing.T) {
	a := t.TempDir()
	put(t, filepath.Join(a, "x"), "1")
	put(t, filepath.Join(a, "y"), "2")
	d := open(t, a)
	if err := Rename(d, "x", d, "y"); err != nil {
		t.Fatal(err)
	}
	want(t, filepath.Join(a, "x"), "")
	want(t, filepath.Join(a, "y"), "1")
	if err := Rename(d, "none", d, "y"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Rename of nothing = %v, want %v", err, os.ErrNotExist)
	}
}

// TestBarrier waits for none, for a few, and for many, with the call for the
// whole file system and without it.
func TestBarrier(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []int{0, 1, few, few + 1, 10 * few} {
		for _, each := range []bool{false, true} {
			b := NewBarrier(open(t, dir))
			if each {
				b.syncAll = nil
			}
			for i := range n {
				b.Add(create(t, dir, i))
			}
			if err := b.Wait(); err != nil {
				t.Errorf("Wait for %d files = %v", n, err)
			}
		}
	}
}

func create(t *testing.T, dir string, i int) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestBarrierCalls counts what is synced how, and lets it fail.
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
		b := &Barrier{few: c.few, syncAll: func() error { calls++; return c.err }}
		for i := range c.files {
			b.Add(create(t, dir, i))
		}
		if err := b.Wait(); !errors.Is(err, c.err) || calls != c.calls {
			t.Errorf("Wait for %d files, of which %d are few, = %v after %d calls for the file system, want %v after %d", c.files, c.few, err, calls, c.err, c.calls)
		}
	}
}

// TestBarrierMany puts folders behind a barrier without opening them, where all of
// the file system will be synced.
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
		b := &Barrier{few: few}
		if !c.each {
			b.syncAll = func() error { calls++; return nil }
		}
		for i := range c.files {
			b.Add(create(t, dir, i))
		}
		done := b.AddMany(c.folders)
		if err := b.Wait(); err != nil || done != (c.calls > 0) || calls != c.calls {
			t.Errorf("AddMany(%d) behind %d files = %t, and Wait = %v after %d calls for the file system, want %d", c.folders, c.files, done, err, calls, c.calls)
		}
	}
}

// TestBarrierError keeps the error of the one that failed, whoever comes after.
func TestBarrierError(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []int{1, 3 * few} {
		b := NewBarrier(open(t, dir))
		f := create(t, dir, n)
		f.Close()
		b.Add(f)
		for i := range n {
			b.Add(create(t, dir, i))
		}
		if err := b.Wait(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Wait for %d files more = %v, want the error of the one that failed", n, err)
		}
	}
}
