package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"mend/internal/storetest"
	"mend/internal/wound"
	"mend/jsonedit"
	"mend/session"
)

// part writes a file beside the parts of the second answer and returns its path.
func (l lab) part(name string, data []byte) string {
	l.Helper()
	path := filepath.Join(l.store, "part", wound.Of(l.open(), wound.Done, "text")[0].Owner, name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		l.Fatal(err)
	}
	return path
}

// megabytes is the most memory that the program had.
func megabytes(a ending) int64 { return a.state.SysUsage().(*syscall.Rusage).Maxrss >> 10 }

// TestCase02StrangeJSON has all that no parser likes beside healthy records: it
// is told, costs little memory, and comes back from a repair as it was.
func TestCase02StrangeJSON(t *testing.T) {
	testStrange(t, map[string][]byte{ // the agent stops at these
		"objects":   []byte(strings.Repeat(`{"a":`, jsonedit.MaxDepth) + strings.Repeat("}", jsonedit.MaxDepth)),
		"open":      []byte(strings.Repeat("[", jsonedit.MaxDepth)),
		"nan":       []byte(`{"id":"prt_zz_nan","type":"text","text":NaN}`),
		"nul":       []byte("{\"id\":\"prt_zz_nul\x00\"}"),
		"surrogate": []byte(`{"id":"prt_zz_surrogate","type":"text","text":"\ud800"`),
	})
	testStrange(t, map[string][]byte{ // and these it reads
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
	l := newLab(t, wound.Versions[0], "")
	for name, data := range strange {
		l.part("prt_zz_"+name+".json", data)
	}
	// The agent reads over a BOM, so this one is no finding, and stays.
	l.part("prt_zz_bom.json", []byte("\xef\xbb\xbf{\"id\":\"prt_zz_bom\",\"type\":\"text\",\"text\":\"x\"}"))
	before := l.snapshot()
	a := l.exits(exitProblems, "scan", "--all")
	for name := range strange {
		l.says(a, "prt_zz_"+name)
	}
	if mb := megabytes(a); mb > 300 {
		t.Errorf("scan took %d MB", mb)
	}
	l.same("scanned", before)
	a = l.mend("repair", l.session)
	if mb := megabytes(a); a.code > exitProblems || mb > 300 {
		t.Errorf("repair: exit code %d, %d MB\n%s", a.code, mb, a.err)
	}
	a = l.mend("undo", "--session", l.session)
	if mb := megabytes(a); mb > 300 {
		t.Errorf("undo took %d MB", mb)
	}
	if a.code != exitDone && a.code != exitRefused {
		t.Errorf("undo: exit code %d\n%s", a.code, a.err)
	}
	l.same("repaired and undone", before)
}

func TestCase03HugeFiles(t *testing.T) {
	l := newLab(t, wound.Versions[0], "")
	path := l.part("prt_zz.json", nil) // once: it reads the store, and a child counts the memory of its parent as its own
	for _, size := range []int64{session.MaxText + 1, 10 << 30} {
		if err := os.Truncate(path, size); err != nil { // sparse
			t.Skip(err)
		}
		a := l.exits(exitProblems, "scan", "--all")
		l.says(a, fmt.Sprintf("the file is too large, %d bytes", size))
		if mb := megabytes(a); mb > 300 {
			t.Errorf("%d bytes: scan took %d MB", size, mb)
		}
		if a := l.mend("repair", l.session); a.code > exitProblems || megabytes(a) > 300 {
			t.Errorf("%d bytes: repair: exit code %d, %d MB\n%s", size, a.code, megabytes(a), a.err)
		}
		if fi, err := os.Stat(path); err != nil || fi.Size() != size {
			t.Errorf("%d bytes: the file is %v now, %v", size, fi, err)
		}
	}
}

// TestCase08Unreadable runs as a user without rights.
func TestCase08Unreadable(t *testing.T) {
	if testing.Short() || !storetest.RunInChild(t, storetest.NobodyUID) || os.Geteuid() == 0 {
		return
	}
	l := newLab(t, wound.Versions[0], "")
	path := l.part("prt_zz.json", []byte("{}"))
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	l.says(l.exits(exitProblems, "scan", "--all"), "permission denied")
	a := l.exits(exitProblems, "repair", l.session) // the answer in another message is cured
	l.says(a, "Repaired "+l.session)
	l.says(a, "permission denied")
	if err := os.Chmod(l.store, 0); err != nil {
		t.Fatal(err)
	}
	l.exits(exitUnusable, "scan")
	if err := os.Chmod(l.store, 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestCase09Names has a store below a folder whose name is no UTF-8, and such
// names in it.
func TestCase09Names(t *testing.T) {
	l := newLab(t, wound.Versions[0], "")
	l.part("prt_\xff.json", []byte("{}"))
	odd := filepath.Join(l.dir, "a\xff\x1b[31m\n")
	if err := os.Rename(filepath.Join(l.dir, "data"), odd); err != nil {
		t.Skip(err)
	}
	l.store = filepath.Join(odd, "opencode", "storage")
	before := l.snapshot()
	for _, verb := range [][]string{{"scan", "--all"}, {"repair", l.session, "--yes"}, {"log"}, {"show", "qevajo"}, {"undo", "qevajo"}} {
		a := l.mend(append(verb, "--store", l.store)...)
		if a.code > exitProblems {
			t.Errorf("%s: exit code %d\n%s", verb[0], a.code, a.err)
		}
		if all := a.out + a.err; strings.Contains(all, "\x1b") || !utf8.ValidString(all) || strings.ContainsRune(all, utf8.RuneError) {
			t.Errorf("%s does not escape the name:\n%q", verb[0], all)
		}
	}
	l.same("repaired and undone", before)
}

// TestCase37Modes repairs and undoes under the widest and the narrowest umask,
// and as root on another user's store.
func TestCase37Modes(t *testing.T) {
	for _, mask := range []string{"0", "077"} {
		l := newLab(t, wound.Versions[0], "")
		if os.Geteuid() == 0 {
			l.give(storetest.NobodyUID)
		}
		text := filepath.Join(l.store, "part", wound.Of(l.open(), wound.Hello, "text")[0].Owner)
		if err := os.Chmod(text, 0o2750); err != nil {
			t.Fatal(err)
		}
		before, owners := l.snapshot(), l.owners()
		l.ok("umask " + mask + "; mend repair " + l.session)
		repaired := l.snapshot()
		l.ok("umask " + mask + "; mend undo qevajo")
		l.same("undone under umask "+mask, before)
		if got := l.owners(); !maps.Equal(got, owners) {
			t.Errorf("under umask %s the owners are %v, want %v", mask, got, owners)
		}
		l.ok("umask " + mask + "; mend redo qevajo")
		l.same("done again under umask "+mask, repaired)
		state, err := os.Stat(filepath.Join(l.dir, "state", "mend", "journal.db"))
		if err != nil || state.Mode() != 0o600 {
			t.Errorf("under umask %s the journal has the mode %v, %v", mask, state, err)
		}
	}
}

// ok runs a line that must succeed.
func (l lab) ok(line string) {
	l.Helper()
	if a := l.sh(line); a.code != 0 {
		l.Fatalf("%s: exit code %d\n%s%s", line, a.code, a.out, a.err)
	}
}

func (l lab) give(uid int) {
	l.Helper()
	l.walk(func(path string, _ fs.FileInfo) error { return os.Chown(path, uid, uid) })
}

// owners is whom each file and folder of the store belongs to.
func (l lab) owners() map[string]uint32 {
	l.Helper()
	all := map[string]uint32{}
	l.walk(func(path string, fi fs.FileInfo) error {
		all[path] = fi.Sys().(*syscall.Stat_t).Uid
		return nil
	})
	return all
}

func (l lab) walk(f func(string, fs.FileInfo) error) {
	l.Helper()
	if err := filepath.Walk(l.store, func(path string, fi fs.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return f(path, fi)
	}); err != nil {
		l.Fatal(err)
	}
}
