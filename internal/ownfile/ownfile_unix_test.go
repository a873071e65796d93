//go:build unix

package ownfile

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stranger is the id of a user who is neither root nor the user who runs the tests.
const stranger = 4242

// makeFiles creates files, folders and links of many kinds, and returns a function that maps a name to its path.
func makeFiles(t *testing.T) func(name string) string {
	t.Helper()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	put := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	put(os.Chmod(dir, 0o700))
	for name, mode := range map[string]fs.FileMode{"file": 0o600, "readable": 0o644, "group": 0o660, "world": 0o606, "twice": 0o600, "target": 0o644, "locked": 0o600} {
		put(os.WriteFile(at(name), []byte("text"), 0o600))
		put(os.Chmod(at(name), mode))
	}
	put(os.Link(at("twice"), at("other name")))
	put(os.Symlink("target", at("link")))
	put(os.Symlink("nowhere", at("loose")))
	put(os.Symlink("pipe", at("link to pipe")))
	put(os.Symlink("/dev/null", at("link to null")))
	put(syscall.Mkfifo(at("pipe"), 0o600))
	l, err := net.Listen("unix", at("socket"))
	put(err)
	t.Cleanup(func() { _ = l.Close() })
	for name, mode := range map[string]fs.FileMode{"folder": 0o700, "plain folder": 0o755, "group folder": 0o770, "sticky": 0o777 | fs.ModeSticky} {
		put(os.Mkdir(at(name), 0o700))
		put(os.Chmod(at(name), mode))
	}
	put(os.Symlink("folder", at("folder link")))
	put(os.Mkdir(at("folder/mend"), 0o700))
	if os.Geteuid() == 0 {
		put(os.WriteFile(at("theirs"), nil, 0o600))
		put(os.Chown(at("theirs"), stranger, stranger))
		put(os.Mkdir(at("their folder"), 0o700))
		put(os.Mkdir(at("their folder/mend"), 0o700))
		put(os.Chown(at("their folder"), stranger, stranger))
		put(os.Symlink("their folder", at("their link")))
		put(os.Symlink("theirs", at("link to theirs")))
		put(os.Symlink("folder", at("link of theirs")))
		put(os.Lchown(at("link of theirs"), stranger, stranger))
	}
	return at
}

// theirs reports whether the name is a file of another user, which only root can create.
func theirs(name string) bool { return strings.Contains(name, "their") }

// TestOpen: each way to open a file accepts only the kinds of files that are safe for it, and changes no other file.
func TestOpen(t *testing.T) {
	at := makeFiles(t)
	read := func(path string) (*os.File, error) { return Open(path, os.O_RDONLY) }
	write := func(path string) (*os.File, error) { return Open(path, os.O_RDWR|os.O_CREATE) }
	add := func(path string) (*os.File, error) { return Open(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE) }
	lock := func(path string) (*os.File, error) {
		l, err := Acquire(path, os.O_RDWR|os.O_CREATE, false, time.Second)
		if err != nil {
			return nil, err
		}
		return l.File(), nil
	}
	for name, want := range map[string][3]string{ // the errors for mend's own files, OpenPlain and OpenSettings; "" for none
		"file":           {"", "", ""},
		"readable":       {"", "", ""},
		"group":          {"other users (-rw-rw----): to fix it, run: chmod go-w", "", ""},
		"world":          {"other users", "", "other users (-rw----rw-): to fix it, run: chmod go-w"},
		"twice":          {"has 2 names", "", ""},
		"link":           {"symbolic link to target, and mend follows no link", "symbolic link to target", ""},
		"loose":          {"symbolic link to nowhere", "symbolic link to nowhere", "no such file"},
		"pipe":           {"is a named pipe, not a regular file: to fix it, run: rm", "named pipe", "named pipe"},
		"link to pipe":   {"symbolic link to pipe", "symbolic link", "named pipe"},
		"link to null":   {"symbolic link to /dev/null", "symbolic link", "is a device"},
		"socket":         {"is a socket", "is a socket", "no such device"},
		"folder":         {"is a folder, not a regular file: to fix it, run: mv", "is a folder", "is a folder"},
		"theirs":         {"belongs to another user (uid 4242, you are 0): to fix it, run: sudo -u '#4242' mend", "", "belongs to another user"},
		"link to theirs": {"symbolic link", "symbolic link", "belongs to another user (uid 4242, you are 0) to theirs"},
	} {
		if theirs(name) && os.Geteuid() != 0 {
			continue
		}
		for how, open := range map[string]struct {
			open func(string) (*os.File, error)
			want string
		}{
			"read": {read, want[0]}, "write": {write, want[0]}, "append": {add, want[0]}, "lock": {lock, want[0]},
			"plain": {OpenPlain, want[1]}, "settings": {OpenSettings, want[2]},
		} {
			before, err := os.Lstat(at(name))
			if err != nil {
				t.Fatal(err)
			}
			f, err := open.open(at(name))
			if err == nil {
				f.Close()
			}
			switch {
			case (err == nil) != (open.want == ""), err != nil && !strings.Contains(err.Error(), open.want):
				t.Errorf("%s of %q = %v, want %q", how, name, err, open.want)
			case strings.Contains(open.want, "to fix it, run") && !errors.As(err, new(*UnsafeError)):
				t.Errorf("%s of %q = %T, want an *UnsafeError", how, name, err)
			}
			if after, err := os.Lstat(at(name)); err != nil || open.want != "" && after.Mode() != before.Mode() {
				t.Errorf("%s of %q changed the mode from %v to %v (%v)", how, name, before.Mode(), after.Mode(), err)
			}
		}
	}
	if info, err := os.Stat(at("target")); err != nil || info.Mode().Perm() != 0o644 || info.Size() != 4 {
		t.Errorf("the target of a link is now %v (%v)", info, err)
	}
	if info, err := os.Stat(at("readable")); err != nil || info.Mode().Perm() != ownMode {
		t.Errorf("a file of mend's own, opened for writing, is now %v (%v), want %v", info, err, ownMode)
	}
}

// TestReadAtMost: a file of the maximum size is read, and a longer one is refused.
func TestReadAtMost(t *testing.T) {
	for _, n := range []int{10, 11} {
		data, err := ReadAtMost(strings.NewReader(strings.Repeat("x", n)), 10)
		if n == 10 && (err != nil || len(data) != n) || n > 10 && (err == nil || !strings.Contains(err.Error(), "longer than")) {
			t.Errorf("ReadAtMost(10) of %d bytes = %d bytes, %v", n, len(data), err)
		}
	}
}

// TestDir: a folder of mend's own must be a real folder of the user. A folder above it may be a link to one.
func TestDir(t *testing.T) {
	at := makeFiles(t)
	for name, want := range map[string]string{
		"folder":              "",
		"plain folder":        "",
		"new/and/newer":       "",
		"folder/mend":         "",
		"folder link/mend":    "",
		"folder link":         "symbolic link to folder, and must be a folder",
		"group folder":        "other users (drwxrwx---): to fix it, run: chmod go-w",
		"sticky":              "other users",
		"sticky/mend":         "",
		"file":                "and must be a folder",
		"pipe":                "and must be a folder",
		"loose":               "symbolic link",
		"their folder":        "belongs to another user (uid 4242, you are 0), whose programs could not use what root makes there: to fix it, run: sudo -u '#4242' mend",
		"their folder/mend":   "",
		"their link/mend":     "is a symbolic link to their folder, and one of the two belongs to another user",
		"link of theirs/mend": "one of the two belongs to another user",
	} {
		if theirs(name) && os.Geteuid() != 0 {
			continue
		}
		if err := MakeDir(at(name)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("MakeDir(%q) = %v, want %q", name, err, want)
		}
		if info, err := os.Stat(at(name)); want == "" && (err != nil || info.Mode().Perm()&0o022 != 0) {
			t.Errorf("MakeDir(%q) left %v (%v)", name, info, err)
		}
	}
	if err := CheckDir(at("none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("CheckDir of a missing folder = %v, want %v", err, fs.ErrNotExist)
	}
	const want = "file, and must be a folder: to fix it, run: mv"
	if err := CheckDir(at("file/below/mend")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("CheckDir below a file = %v, want %q", err, want)
	}
}

// TestAcquire: a lock excludes other open files, even of the same process, and ends with Close. Shared locks do not exclude
// each other.
func TestAcquire(t *testing.T) {
	at := makeFiles(t)
	acquire := func(shared bool) (*Lock, error) { return Acquire(at("locked"), os.O_RDWR, shared, 0) }
	for _, c := range []struct {
		held, wanted bool // shared
		want         error
	}{{false, false, ErrLocked}, {false, true, ErrLocked}, {true, false, ErrLocked}, {true, true, nil}} {
		held, err := acquire(c.held)
		if err != nil {
			t.Fatal(err)
		}
		other, err := acquire(c.wanted)
		if !errors.Is(err, c.want) {
			t.Errorf("Acquire(shared %t) beside a lock (shared %t) = %v, want %v", c.wanted, c.held, err, c.want)
		}
		if err == nil {
			err = other.Close()
		} else {
			err = nil
		}
		if err := errors.Join(err, held.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestQuote: a quoted path can be pasted into a shell.
func TestQuote(t *testing.T) {
	for path, want := range map[string]string{
		"/home/a/.local/state": "/home/a/.local/state", "/a b": "'/a b'", "-rf": "'./-rf'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "~": "'~'",
	} {
		if got := Quote(path); got != want {
			t.Errorf("Quote(%q) = %s, want %s", path, got, want)
		}
	}
}
