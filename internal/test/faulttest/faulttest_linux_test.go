package faulttest_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/internal/test/faulttest"
)

// TestProgram: a program makes four calls that count, and each fault hits the intended one.
func TestProgram(t *testing.T) {
	const script = `echo one >"$0/a"; echo two >/dev/null; echo two >"$0/b"; echo end`
	for _, c := range []struct {
		name  string
		fault faulttest.Fault
		want  map[string]string // the resulting files
		code  int
		out   string
	}{
		{"none", faulttest.Fault{}, map[string]string{"a": "one\n", "b": "two\n"}, 0, "end\n"},
		{"kill at the first call", faulttest.Fault{At: 1, Action: faulttest.Kill}, map[string]string{}, -1, ""},
		{"kill at the second", faulttest.Fault{At: 2, Action: faulttest.Kill}, map[string]string{"a": ""}, -1, ""},
		{"kill at one that never comes", faulttest.Fault{At: 5, Action: faulttest.Kill}, map[string]string{"a": "one\n", "b": "two\n"}, 0, "end\n"},
		{"the first fails", faulttest.Fault{At: 1, Action: faulttest.Fail, Errno: syscall.EROFS}, map[string]string{"b": "two\n"}, 0, "end\n"},
		{"the second fails", faulttest.Fault{At: 2, Action: faulttest.Fail, Errno: syscall.ENOSPC}, map[string]string{"a": "", "b": "two\n"}, 0, "end\n"},
		{"all from the second fail", faulttest.Fault{At: 2, Action: faulttest.Fail, Errno: syscall.ENOSPC, Lasts: true}, map[string]string{"a": ""}, 0, "end\n"},
		{"resumed", faulttest.Fault{At: 2, Action: faulttest.Resume}, map[string]string{"a": "one\n", "b": "two\n"}, 0, "end\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			frozen := ""
			c.fault.Frozen = func(call faulttest.Call) { frozen = call.String() }
			r := run(t, faulttest.Program{Path: "/bin/sh", Filtered: built.filtered}, c.fault, "-c", script, dir)
			if diff := cmp.Diff(c.want, files(t, dir)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if r.Code != c.code || r.Out != c.out {
				t.Errorf("exit code %d, output %q, want %d and %q", r.Code, r.Out, c.code, c.out)
			}
			calls := []string{"openat " + dir + "/a", "write " + dir + "/a", "openat " + dir + "/b", "write " + dir + "/b"}
			if got := r.Calls[max(c.fault.At, 1)-1:]; r.Hit && (frozen != calls[c.fault.At-1] || got[0].String() != frozen) {
				t.Errorf("call %d was %q, and frozen %q, want %q", c.fault.At, got[0], frozen, calls[c.fault.At-1])
			}
			if wantHit := c.fault.At > 0 && c.fault.At <= len(calls); r.Hit != wantHit {
				t.Errorf("call %d was reached: %t, want %t", c.fault.At, r.Hit, wantHit)
			}
		})
	}
}

// files returns the content of the folder.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found[strings.TrimPrefix(name, dir+"/")] = string(data)
	}
	return found
}
