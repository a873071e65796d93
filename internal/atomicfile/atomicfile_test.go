//go:build linux || darwin

package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

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
