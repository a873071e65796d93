package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/internal/jsonedit"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
)

// writePart writes a file beside the parts of the second answer and returns its path.
func (sb sandbox) writePart(name string, data []byte) string {
	sb.Helper()
	path := filepath.Join(sb.store, "part", damage.Parts(sb.open(), damage.Done, "text")[0].Owner, name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		sb.Fatal(err)
	}
	return path
}

// maxMemoryMB returns the peak memory of the program in MB. A process starts with its parent's value, so such
// a test runs in a child.
func maxMemoryMB(a cmdResult) int64 { return a.state.SysUsage().(*syscall.Rusage).Maxrss >> 10 }

// TestCase02StrangeJSON: JSON that parsers reject is reported, needs little memory, and is restored by an undo.
func TestCase02StrangeJSON(t *testing.T) {
	if !storetest.RunInChild(t, 0) {
		return
	}
	testStrange(t, map[string][]byte{ // the agent cannot read these
		"objects":   []byte(strings.Repeat(`{"a":`, jsonedit.MaxDepth) + strings.Repeat("}", jsonedit.MaxDepth)),
		"open":      []byte(strings.Repeat("[", jsonedit.MaxDepth)),
		"nan":       []byte(`{"id":"prt_zz_nan","type":"text","text":NaN}`),
		"nul":       []byte("{\"id\":\"prt_zz_nul\x00\"}"),
		"surrogate": []byte(`{"id":"prt_zz_surrogate","type":"text","text":"\ud800"`),
	})
	testStrange(t, map[string][]byte{ // the agent reads these
		"lists":  []byte(strings.Repeat("[", jsonedit.MaxDepth) + strings.Repeat("]", jsonedit.MaxDepth)),
		"types":  []byte(`{"id":7,"messageID":[],"sessionID":null,"type":{},"text":3}`),
		"number": []byte("1e999999"),
		"string": []byte(`"text"`),
		"long":   []byte(`{"id":"prt_zz_long","time":{"start":` + strings.Repeat("9", 100_000) + `}}`),
		"twice":  []byte(`{"id":"prt_zz_twice","type":{},"type":[],"text":"a","text":" "}`),
	})
}

func testStrange(t *testing.T, strange map[string][]byte) {
	t.Helper()
	sb := newSandbox(t, damage.Versions[0], "")
	for name, data := range strange {
		sb.writePart("prt_zz_"+name+".json", data)
	}
	// The agent ignores a byte order mark, so this record is not damaged.
	sb.writePart("prt_zz_bom.json", []byte("\xef\xbb\xbf{\"id\":\"prt_zz_bom\",\"type\":\"text\",\"text\":\"x\"}"))
	before := sb.snapshot()
	a := sb.mustExit(frame.ExitProblems, "scan", "--all", "-v")
	for name := range strange {
		sb.wantOutput(a, "prt_zz_"+name)
	}
	if mb := maxMemoryMB(a); mb > 300 {
		t.Errorf("scan took %d MB", mb)
	}
	sb.wantSnapshot("scanned", before)
	a = sb.mend("repair", "--yes", sb.session)
	if mb := maxMemoryMB(a); a.code > frame.ExitProblems || mb > 300 {
		t.Errorf("repair: exit code %d, %d MB\n%s", a.code, mb, a.err)
	}
	a = sb.mend("undo", "--yes", "--session", sb.session)
	if mb := maxMemoryMB(a); mb > 300 {
		t.Errorf("undo took %d MB", mb)
	}
	if a.code != frame.ExitDone && a.code != frame.ExitRefused {
		t.Errorf("undo: exit code %d\n%s", a.code, a.err)
	}
	sb.wantSnapshot("repaired and undone", before)
}

// TestCase03HugeFiles: a file that is too large is reported, needs little memory, and keeps its size.
func TestCase03HugeFiles(t *testing.T) {
	if !storetest.RunInChild(t, 0) {
		return
	}
	sb := newSandbox(t, damage.Versions[0], "")
	path := sb.writePart("prt_zz.json", nil)
	for _, size := range []int64{change.MaxText + 1, 10 << 30} {
		if err := os.Truncate(path, size); err != nil { // sparse
			t.Skip(err)
		}
		a := sb.mustExit(frame.ExitProblems, "scan", "--all", "-v")
		sb.wantOutput(a, fmt.Sprintf("the file is too large, %d bytes", size))
		if mb := maxMemoryMB(a); mb > 300 {
			t.Errorf("%d bytes: scan took %d MB", size, mb)
		}
		if a := sb.mend("repair", "--yes", sb.session); a.code > frame.ExitProblems || maxMemoryMB(a) > 300 {
			t.Errorf("%d bytes: repair: exit code %d, %d MB\n%s", size, a.code, maxMemoryMB(a), a.err)
		}
		if fi, err := os.Stat(path); err != nil || fi.Size() != size {
			t.Errorf("%d bytes: the file is %v now, %v", size, fi, err)
		}
	}
}

// TestCase08Unwritable: a database that the user may only read is reported as unusable, because OpenCode 1.18.34
// answers no prompt there. A copy named with --store is scanned.
func TestCase08Unwritable(t *testing.T) {
	if testing.Short() || !storetest.RunInChild(t, storetest.NobodyUID) || os.Geteuid() == 0 {
		return
	}
	sb := newSandbox(t, damage.Versions[2], "")
	sb.mustRepair()
	sb.mustExit(frame.ExitDone, "scan")
	folder, copied := filepath.Dir(sb.store), filepath.Join(t.TempDir(), "opencode.db")
	data, err := os.ReadFile(sb.store)
	if err == nil {
		err = os.WriteFile(copied, data, 0o444)
	}
	if err != nil {
		t.Fatal(err)
	}
	for path, modes := range map[string][2]fs.FileMode{sb.store: {0o444, 0o644}, folder: {0o555, 0o755}} {
		if path == folder { // with a -wal the agent could still write
			for _, side := range []string{"-wal", "-shm"} {
				if err := os.Remove(sb.store + side); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
			}
		}
		if err := os.Chmod(path, modes[0]); err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"scan", "status"} {
			a := sb.mustExit(frame.ExitUnusable, verb)
			sb.wantOutput(a, "OpenCode answers no prompt, because it cannot write to its database")
			sb.wantOutput(a, "run mend as the user who owns it, or change its owner or mode")
		}
		sb.mustExit(frame.ExitUnusable, "scan", "--store", sb.store)
		sb.mustExit(frame.ExitDone, "scan", "--store", copied)
		if err := os.Chmod(path, modes[1]); err != nil {
			t.Fatal(err)
		}
		sb.mustExit(frame.ExitDone, "scan")
	}
	sb.mustExit(frame.ExitDone, "undo", "--yes") // broken again
	if err := os.Chmod(folder, 0o555); err != nil {
		t.Fatal(err)
	}
	a := sb.mustExit(frame.ExitUnusable, "fix", "--yes")
	for _, want := range []string{"because it cannot write to its database", "preparing a change of"} { // both errors
		sb.wantOutput(a, want)
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestCase08UnlistedFolder: a folder of sessions that cannot be read is reported.
func TestCase08UnlistedFolder(t *testing.T) {
	if testing.Short() || !storetest.RunInChild(t, storetest.NobodyUID) || os.Geteuid() == 0 {
		return
	}
	sb := newSandbox(t, damage.Versions[0], "")
	folder := filepath.Join(sb.dir, ".claude", "projects", "-home-user-project")
	if err := errors.Join(os.MkdirAll(folder, 0o755), os.Chmod(folder, 0)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"scan"}, {"scan", "--json"}, {"scan", "--agent", "claude"}, {"status"}} {
		a := sb.mustExit(frame.ExitUnusable, args...)
		sb.wantOutput(a, "listing the sessions of "+folder)
		sb.wantOutput(a, "run mend as the user who owns it, or change its owner or mode")
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	sb.mustExit(frame.ExitDone, "scan", "--agent", "claude")
}

// TestCase08Unreadable: files and folders that the user may not read or write are reported with the way to fix that,
// and the rest of the session is repaired.
func TestCase08Unreadable(t *testing.T) {
	if testing.Short() || !storetest.RunInChild(t, storetest.NobodyUID) || os.Geteuid() == 0 {
		return
	}
	sb := newSandbox(t, damage.Versions[0], "")
	path := sb.writePart("prt_zz.json", []byte("{}"))
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	sb.wantOutput(sb.mustExit(frame.ExitProblems, "scan", "--all", "-v"), "permission denied")
	a := sb.mustExit(frame.ExitProblems, "repair", "--yes", sb.session) // the response in another message is repaired
	sb.wantOutput(a, "Repaired \"A title\"")
	sb.wantOutput(a, "permission denied")
	if err := os.Chmod(sb.store, 0); err != nil {
		t.Fatal(err)
	}
	sb.mustExit(frame.ExitUnusable, "scan")
	if err := os.Chmod(sb.store, 0o555); err != nil {
		t.Fatal(err)
	}
	a = sb.mustExit(frame.ExitUnusable, "undo", "--yes", "--session", sb.session)
	sb.wantOutput(a, "permission denied")
	sb.wantOutput(a, "run mend as the user who owns it")
	if err := os.Chmod(sb.store, 0o755); err != nil {
		t.Fatal(err)
	}
	for agent, folder := range map[string]string{"opencode": filepath.Dir(sb.store), "claude": filepath.Join(sb.dir, ".claude")} {
		if err := errors.Join(os.MkdirAll(folder, 0o755), os.Chmod(folder, 0)); err != nil {
			t.Fatal(err)
		}
		a := sb.mustExit(frame.ExitUnusable, "scan", "--agent", agent)
		sb.wantOutput(a, "permission denied")
		sb.wantOutput(a, "run mend as the user who owns it")
		sb.wantOutput(sb.mustExit(frame.ExitUnusable, "status"), "permission denied")
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sb.mustExit(frame.ExitDone, "undo", "--yes", "--session", sb.session)
}

// TestCase09Names: names of folders and files that are not UTF-8 are escaped in the output.
func TestCase09Names(t *testing.T) {
	sb := newSandbox(t, damage.Versions[0], "")
	sb.writePart("prt_\xff.json", []byte("{}"))
	odd := filepath.Join(sb.dir, "a\xff\x1b[31m\n")
	if err := os.Rename(filepath.Join(sb.dir, "data"), odd); err != nil {
		t.Skip(err)
	}
	sb.store = filepath.Join(odd, "opencode", "storage")
	before := sb.snapshot()
	for _, verb := range [][]string{{"scan", "--all", "-v"}, {"repair", sb.session, "--yes"}, {"log"}, {"show", "qevajo"}, {"undo", "--yes", "qevajo"}} {
		a := sb.mend(append(verb, "--store", sb.store)...)
		if a.code > frame.ExitProblems {
			t.Errorf("%s: exit code %d\n%s", verb[0], a.code, a.err)
		}
		if all := a.out + a.err; strings.Contains(all, "\x1b") || !utf8.ValidString(all) || strings.ContainsRune(all, utf8.RuneError) {
			t.Errorf("%s does not escape the name:\n%q", verb[0], all)
		}
	}
	sb.wantSnapshot("repaired and undone", before)
}

// TestCase37Modes: with the widest and the narrowest umask, and as root on the store of another user, a repair and its
// undo keep modes and owners.
func TestCase37Modes(t *testing.T) {
	for _, mask := range []string{"0", "077"} {
		sb := newSandbox(t, damage.Versions[0], "")
		if os.Geteuid() == 0 {
			sb.chown(storetest.NobodyUID)
		}
		text := filepath.Join(sb.store, "part", damage.Parts(sb.open(), damage.Hello, "text")[0].Owner)
		if err := os.Chmod(text, 0o2750); err != nil {
			t.Fatal(err)
		}
		before, owners := sb.snapshot(), sb.owners()
		sb.mustRun("umask " + mask + "; mend fix --yes " + sb.session)
		repaired := sb.snapshot()
		sb.mustRun("umask " + mask + "; mend undo --yes qevajo")
		sb.wantSnapshot("undone under umask "+mask, before)
		if got := sb.owners(); !maps.Equal(got, owners) {
			t.Errorf("under umask %s the owners are %v, want %v", mask, got, owners)
		}
		sb.mustRun("umask " + mask + "; mend undo --redo --yes qevajo")
		sb.wantSnapshot("redone under umask "+mask, repaired)
		state, err := os.Stat(filepath.Join(sb.dir, "state", "mend", "journal.db"))
		if err != nil || state.Mode() != 0o600 {
			t.Errorf("under umask %s the journal has the mode %v, %v", mask, state, err)
		}
	}
}

// mustRun runs a shell command that must succeed.
func (sb sandbox) mustRun(line string) {
	sb.Helper()
	if a := sb.sh(line); a.code != 0 {
		sb.Fatalf("%s: exit code %d\n%s%s", line, a.code, a.out, a.err)
	}
}

func (sb sandbox) chown(uid int) {
	sb.Helper()
	sb.walk(func(path string, _ fs.FileInfo) error { return os.Chown(path, uid, uid) })
}

// owners returns the owner of each file and folder of the store.
func (sb sandbox) owners() map[string]uint32 {
	sb.Helper()
	all := map[string]uint32{}
	sb.walk(func(path string, fi fs.FileInfo) error {
		all[path] = fi.Sys().(*syscall.Stat_t).Uid
		return nil
	})
	return all
}

func (sb sandbox) walk(f func(string, fs.FileInfo) error) {
	sb.Helper()
	if err := filepath.Walk(sb.store, func(path string, fi fs.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return f(path, fi)
	}); err != nil {
		sb.Fatal(err)
	}
}
