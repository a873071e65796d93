//go:build unix

package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/boltfile"
	"mend/internal/test/storetest"
)

// TestStamp: Open for writing finds damage unless the lock file has the stamp of the damaged file.
func TestStamp(t *testing.T) {
	damage := func(t *testing.T, path string, b []byte, at int) {
		t.Helper()
		b[at] ^= 1
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		after func(t *testing.T, path string, b []byte, at int)
		want  error
	}{
		"nothing": {func(*testing.T, string, []byte, int) {}, nil},
		"damage":  {damage, ErrDamaged},
		"no stamp": {func(t *testing.T, path string, _ []byte, _ int) {
			if err := os.WriteFile(filepath.Join(filepath.Dir(path), lockName), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, nil},
		"damage, and its stamp": {func(t *testing.T, path string, b []byte, at int) {
			damage(t, path, b, at)
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			stamp, err := boltfile.StampOf(f)
			if err != nil || stamp == "" {
				t.Fatalf("StampOf = %q, %v", stamp, err)
			}
			l, err := os.OpenFile(filepath.Join(filepath.Dir(path), lockName), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if err := os.WriteFile(l.Name(), []byte("\x00\n"+stamp+"\n"), 0); err != nil {
				t.Fatal(err)
			}
		}, nil},
		"a damaged copy": {func(t *testing.T, path string, b []byte, at int) {
			if err := os.Rename(path, path+".old"); err != nil {
				t.Fatal(err)
			}
			damage(t, path, b, at)
		}, ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			dir := storetest.FastDir(t)
			path := filepath.Join(dir, fileName)
			j := mustOpen(t, dir, Options{})
			mark := randomBytes(1, 1000)
			mustCommit(t, j, scanCause(), change.Op{Ref: partRef(0), Post: &change.Image{Data: mark}})
			mustCommit(t, j, scanCause(), change.Op{Ref: partRef(1), Post: image("x")})
			mustClose(t, j)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			at := bytes.Index(b, mark[:100])
			if at < 0 {
				t.Fatal("the image is not in the file")
			}
			c.after(t, path, b, at)
			j, err = Open(dir, Options{})
			if !errors.Is(err, c.want) || err != nil && c.want == nil {
				t.Fatalf("Open: %v, want %v", err, c.want)
			}
			if err == nil {
				mustClose(t, j)
			}
		})
	}
}

// readStamp returns the stamp in the lock file, "" if there is none.
func readStamp(l *os.File) string {
	b, err := os.ReadFile(l.Name())
	if err != nil {
		return err.Error()
	}
	_, stamp, _ := strings.Cut(string(b), "\n")
	return stamp
}

// TestStampOfACrash: a writer that does not close the journal leaves no stamp.
func TestStampOfACrash(t *testing.T) {
	dir := storetest.FastDir(t)
	_, release := holdLock(t, dir, "MEND_TEST_DIE=1")
	release()
	lockFile, err := os.Open(filepath.Join(dir, lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer lockFile.Close()
	if got := readStamp(lockFile); got != "" {
		t.Errorf("after a crash the stamp is %q", got)
	}
	mustClose(t, mustOpen(t, dir, Options{}))
	stamp := readStamp(lockFile)
	if stamp == "" {
		t.Error("Close wrote no stamp")
	}
	mustClose(t, mustOpen(t, dir, Options{}))
	if got := readStamp(lockFile); got != stamp {
		t.Errorf("nothing was written, and the stamp is %q, was %q", got, stamp)
	}
}
