package faulttest_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/internal/test/faulttest"
)

// TestEqualCuts: the same cut leaves the same bytes, although the journal has times and a random id, and a -wal random salts.
// Otherwise no state would equal one that was checked before.
func TestEqualCuts(t *testing.T) {
	needLevel(t)
	if runtime.GOARCH != "amd64" {
		t.Skip("the inputs cannot be fixed on " + runtime.GOARCH)
	}
	for _, k := range []kind{tree, sqlite} {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			sb := newSandbox(t, nil, built, repairFirst(k))
			for _, at := range []int{len(sb.calls) / 2, written(sb.calls), len(sb.calls) + 1} {
				var left []state
				for range 2 {
					sb.begin()
					sb.run(faulttest.Fault{At: at, Action: faulttest.Kill}, sb.verb...)
					left = append(left, sb.state())
				}
				if left[0].digest() != left[1].digest() {
					t.Errorf("killed at call %d of %d, twice: different content of %q", at, len(sb.calls), left[0].differing(left[1]))
				}
			}
		})
	}
}

// TestDigest: states have equal digests if they differ only in the holder of the lock.
func TestDigest(t *testing.T) {
	base := state{".": {fs.ModeDir | 0o700, ""}, "a": {0o600, "x"}, "b": {0o600, "yz"}, "journal.lock": {0o600, "\x001"}}
	for _, c := range []struct {
		name   string
		change func(state)
		equal  bool
	}{
		{"nothing", func(state) {}, true},
		{"the holder", func(s state) { s["journal.lock"] = entry{0o600, "\x0022"} }, true},
		{"no lock", func(s state) { delete(s, "journal.lock") }, false},
		{"a byte", func(s state) { s["a"] = entry{0o600, "w"} }, false},
		{"a mode", func(s state) { s["a"] = entry{0o644, "x"} }, false},
		{"a folder", func(s state) { s["a"] = entry{fs.ModeDir | 0o600, "x"} }, false},
		{"a name", func(s state) { s["c"] = s["a"]; delete(s, "a") }, false},
		{"one more empty file", func(s state) { s["c"] = entry{0o600, ""} }, false},
		{"the end of one file and the start of the next", func(s state) { s["a"], s["b"] = entry{0o600, "xy"}, entry{0o600, "z"} }, false},
	} {
		other := maps.Clone(base)
		c.change(other)
		if got := other.digest() == base.digest(); got != c.equal {
			t.Errorf("%s changed: equal digests %t, want %t", c.name, got, c.equal)
		}
	}
}

// TestPutState: put gives a folder any other state, and files keep their inodes.
func TestPutState(t *testing.T) {
	states := []state{
		{".": {fs.ModeDir | 0o755, ""}},
		{".": {fs.ModeDir | 0o755, ""}, "a": {0o600, "one"}, "d": {fs.ModeDir | 0o700, ""}, "d/e": {0o644, "two"}},
		{".": {fs.ModeDir | 0o700, ""}, "a": {0o400, "other"}, "d": {0o600, "a file"}},
		{".": {fs.ModeDir | 0o755, ""}, "a": {fs.ModeDir | 0o755, ""}, "a/d": {fs.ModeDir | 0o500, ""}, "d": {fs.ModeDir | 0o755, ""}, "d/e": {0o644, "two"}},
	}
	for i, from := range states {
		for j, to := range states {
			dir := t.TempDir()
			fill(t, dir, from)
			previous, _ := os.Stat(filepath.Join(dir, "a"))
			fill(t, dir, to)
			now, err := readState(dir)
			if diff := cmp.Diff(to, now, cmp.AllowUnexported(entry{})); err != nil || diff != "" {
				t.Errorf("state %d after state %d (-want +got): %v\n%s", j, i, err, diff)
			}
			current, _ := os.Stat(filepath.Join(dir, "a"))
			if slices.Contains([]int{1, 2}, i) && slices.Contains([]int{1, 2}, j) && !os.SameFile(previous, current) {
				t.Errorf("state %d after state %d: a has another inode", j, i)
			}
		}
	}
}

func fill(t *testing.T, dir string, s state) {
	t.Helper()
	now, err := readState(dir)
	if err == nil {
		err = s.put(dir, now)
	}
	if err != nil {
		t.Fatal(err)
	}
}
