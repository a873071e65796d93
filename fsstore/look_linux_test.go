//go:build !portable

package fsstore

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// A folder whose names take several calls to list, and strange ones among them, is
// listed as the standard library does, every time.
func TestNames(t *testing.T) {
	at := t.TempDir()
	want := []string{".hidden", "a b", "line\nbreak", "\xff\xfe", strings.Repeat("n", 255)}
	for i := range 2000 {
		want = append(want, fmt.Sprintf("prt_%024d.json", i))
	}
	for _, name := range want {
		if err := os.WriteFile(filepath.Join(at, name), nil, 0o600); err != nil {
			t.Skip(err)
		}
	}
	slices.Sort(want)
	d, err := openRoot(at)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	b := new(buffer)
	for range 2 {
		names, err := d.namesInto(b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, slices.Sorted(slices.Values(names))); diff != "" {
			t.Errorf("names that were listed (-want +got):\n%s", diff)
		}
	}
}

// A look at a name neither waits for a pipe nor follows a link.
func TestLookInto(t *testing.T) {
	at := t.TempDir()
	for _, err := range []error{
		os.WriteFile(filepath.Join(at, "file"), []byte("some bytes"), 0o640),
		os.WriteFile(filepath.Join(at, "empty"), nil, 0o600),
		os.Mkdir(filepath.Join(at, "folder"), 0o700),
		os.Symlink("file", filepath.Join(at, "link")),
		unix.Mkfifo(filepath.Join(at, "pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := openRoot(at)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	rows := []struct{ name, data, is string }{
		{"file", "some bytes", "a file"},
		{"empty", "", "a file"},
		{"folder", "", "a folder"},
		{"link", "", "a symbolic link"},
		{"pipe", "", "a named pipe"},
		{"missing", "", ""},
		{"file/below", "", "open file/below: not a directory"},
		{"nul\x00", "", "open nul\x00: invalid argument"},
		{strings.Repeat("n", 300), "", "open " + strings.Repeat("n", 300) + ": file name too long"},
	}
	for _, r := range rows {
		b := new(buffer)
		got, err := d.lookInto(b, r.name, 100)
		is := ""
		switch {
		case err != nil:
			is = err.Error()
		case got.there:
			is = nameOf(got.mode)
		}
		if is != r.is || string(got.data) != r.data {
			t.Errorf("lookInto(%.20q) = %q with %q, want %q with %q", r.name, is, got.data, r.is, r.data)
		}
		seen, serr := d.statInto(b, r.name)
		if got.data = nil; err == nil && (serr != nil || cmp.Diff(got, seen, cmp.AllowUnexported(thing{}, owner{})) != "") {
			t.Errorf("statInto(%.20q) = %+v, %v, want %+v", r.name, seen, serr, got)
		}
	}
}
