package safedir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"mend/internal/ownfile"
)

// TestNames: Names returns all names in a large folder, including unusual ones, each time it is called.
func TestNames(t *testing.T) {
	root := t.TempDir()
	want := []string{".hidden", "a b", "line\nbreak", "\xff\xfe", strings.Repeat("n", 255)}
	for i := range 500 { // a call returns about 150 names
		want = append(want, fmt.Sprintf("prt_%024d.json", i))
	}
	for _, name := range want {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
			t.Skip(err)
		}
	}
	slices.Sort(want)
	d, err := OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for range 2 {
		names, err := d.Names()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, slices.Sorted(slices.Values(names))); diff != "" {
			t.Errorf("Names (-want +got):\n%s", diff)
		}
	}
}

// TestRead: Read neither blocks on a pipe nor follows a link, and Stat returns the same without the data.
func TestRead(t *testing.T) {
	root := t.TempDir()
	for _, err := range []error{
		os.WriteFile(filepath.Join(root, "file"), []byte("some bytes"), 0o640),
		os.WriteFile(filepath.Join(root, "empty"), nil, 0o600),
		os.Mkdir(filepath.Join(root, "folder"), 0o700),
		os.Symlink("file", filepath.Join(root, "link")),
		unix.Mkfifo(filepath.Join(root, "pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	rows := []struct{ name, data, want string }{
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
		got, err := d.Read(r.name, 100)
		kind := ""
		switch {
		case err != nil:
			kind = err.Error()
		case got.Exists:
			kind = ownfile.KindName(got.Mode)
		}
		if kind != r.want || string(got.Data) != r.data {
			t.Errorf("Read(%.20q) = %q with %q, want %q with %q", r.name, kind, got.Data, r.want, r.data)
		}
		info, serr := d.Stat(r.name)
		if got.Data = nil; err == nil && (serr != nil || cmp.Diff(got, info) != "") {
			t.Errorf("Stat(%.20q) = %+v, %v, want %+v", r.name, info, serr, got)
		}
	}
}

// exchangeUntilDone calls exchange with 0, 1, … in a goroutine until the returned function is called.
func exchangeUntilDone(t *testing.T, exchange func(n int) error) (stop func()) {
	t.Helper()
	if err := exchange(0); err != nil {
		t.Fatal(err)
	}
	done, stopped := make(chan struct{}), make(chan error)
	go func() {
		var err error
		for n := 1; err == nil; n++ {
			select {
			case <-done:
				stopped <- nil
				return
			default:
				err = exchange(n)
			}
		}
		stopped <- err
	}()
	return func() {
		close(done)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}
}

// TestReplacedMeanwhile: a file and a folder that another program replaces all the time can be read each time.
func TestReplacedMeanwhile(t *testing.T) {
	root := t.TempDir()
	stop := exchangeUntilDone(t, func(n int) error {
		file, folder := filepath.Join(root, "file"), filepath.Join(root, "folder")
		next := fmt.Sprintf("%s.%d", file, n)
		if err := errors.Join(os.WriteFile(next, []byte("content"), 0o600), os.Rename(next, file)); err != nil {
			return err
		}
		next = fmt.Sprintf("%s.%d", folder, n)
		if err := os.Mkdir(next, 0o700); err != nil || n == 0 {
			return errors.Join(err, os.Rename(next, folder))
		}
		return errors.Join(unix.Renameat2(unix.AT_FDCWD, next, unix.AT_FDCWD, folder, unix.RENAME_EXCHANGE), os.Remove(next))
	})
	defer stop()
	d, err := OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for range 2000 {
		if e, err := d.Read("file", 100); err != nil || string(e.Data) != "content" {
			t.Fatalf("Read = %q, %v", e.Data, err)
		}
		sub, err := d.Sub("folder")
		if err != nil {
			t.Fatalf("Sub: %v", err)
		}
		sub.Close()
	}
}

// TestLinkMeanwhile: a link that takes the place of a file or a folder is not followed, at whatever moment.
func TestLinkMeanwhile(t *testing.T) {
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	for _, err := range []error{
		os.WriteFile(at("file"), []byte("content"), 0o600), os.WriteFile(at("other"), []byte("other"), 0o600), os.Symlink("other", at("file.link")),
		os.Mkdir(at("folder"), 0o700), os.MkdirAll(at("beside/below"), 0o700), os.Symlink("beside", at("folder.link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	stop := exchangeUntilDone(t, func(int) (err error) {
		for _, name := range []string{"file", "folder"} {
			err = errors.Join(err, unix.Renameat2(unix.AT_FDCWD, at(name), unix.AT_FDCWD, at(name+".link"), unix.RENAME_EXCHANGE))
		}
		return err
	})
	defer stop()
	d, err := OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for range 5000 {
		if e, _ := d.Read("file", 100); string(e.Data) == "other" {
			t.Fatal("Read followed the link")
		}
		sub, err := d.Sub("folder")
		if err != nil {
			continue
		}
		names, err := sub.Names()
		e, errStat := sub.Stat("below")
		sub.Close()
		if len(names) > 0 || e.Exists || err != nil || errStat != nil {
			t.Fatalf("Sub followed the link: %q, %+v, %v, %v", names, e, err, errStat)
		}
	}
}

// TestGrowing: a file that is longer than its size said is too large if it exceeds the limit.
func TestGrowing(t *testing.T) {
	d, err := OpenRoot("/proc/self")
	if err != nil {
		t.Skip(err)
	}
	defer d.Close()
	if e, err := d.Read("status", 10); err != nil || e.Size != 0 || !e.TooLarge {
		t.Errorf("Read with a limit of 10 bytes = %d bytes of %d, too large %t, %v", len(e.Data), e.Size, e.TooLarge, err)
	}
	if e, err := d.Read("status", 1<<20); err != nil || e.TooLarge || !strings.Contains(string(e.Data), "Pid:") {
		t.Errorf("Read = %q, too large %t, %v", e.Data, e.TooLarge, err)
	}
}
