package txn_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mend/change"
	"mend/fsstore"
	"mend/internal/test/storetest"
	"mend/journal"
	"mend/txn"
)

// TestLibrary builds the program of docs/library.md in a module of its own, and runs it on a store
// that a crash left in the middle of a change: in the end every file is as before.
func TestLibrary(t *testing.T) {
	storetest.Long(t)
	page, err := os.ReadFile("../docs/library.md")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(page)
	mod, err := os.ReadFile("../go.mod")
	sum, err2 := os.ReadFile("../go.sum")
	here, err3 := filepath.Abs("..")
	if err := errors.Join(err, err2, err3); err != nil || code == nil {
		t.Fatalf("%v; the page has a program: %t", err, code != nil)
	}
	dir := t.TempDir()
	text := strings.Replace(string(mod), "module mend\n", "module stranger\n", 1) + "\nrequire mend v0.0.0\nreplace mend => " + here + "\n"
	for name, data := range map[string][]byte{"go.mod": []byte(text), "go.sum": sum, "main.go": code[1]} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-trimpath -mod=mod", "GOPROXY=off", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
	}
	command("go", "build", "-o", "stranger", ".")

	root, log := t.TempDir(), filepath.Join(t.TempDir(), "journal")
	put(t, filepath.Join(root, "old.txt"), "old")
	put(t, filepath.Join(root, "other.txt"), "old")
	crash(t, root, log)
	for range 2 { // the second run finds a journal with a change and its undo
		command(filepath.Join(dir, "stranger"), root, log)
		for _, name := range []string{"old.txt", "other.txt"} {
			if data, err := os.ReadFile(filepath.Join(root, name)); err != nil || !bytes.Equal(data, []byte("old")) {
				t.Errorf("%s is %q, %v", name, data, err)
			}
		}
		if all, err := os.ReadDir(root); err != nil || len(all) != 2 {
			t.Errorf("the store has %v, %v", all, err)
		}
	}
	j, err := journal.Open(log, journal.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	var states []change.State
	all, err := j.List(journal.Query{})
	for _, e := range all {
		states = append(states, e.State)
	}
	if err != nil || len(states) != 5 || states[4] != change.Aborted || states[0] != change.Committed || all[1].UndoneBy == "" {
		t.Errorf("the journal has %v, %v", states, err)
	}
}

// crash interrupts a change of two files after it has replaced the first.
func crash(t *testing.T, root, log string) {
	t.Helper()
	notes := fsstore.Paths("notes")
	dead := false
	step := func(call string) error {
		if dead = dead || call == "exchange file notes/other.txt"; dead {
			return storetest.ErrFault
		}
		return nil
	}
	j, err := journal.Open(log, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	s, err := fsstore.New(root, notes, fsstore.Options{Owner: j.ID(), Step: step})
	if err != nil {
		t.Fatal(err)
	}
	p := change.Plan{Session: "notes"}
	for _, name := range []string{"old.txt", "other.txt"} {
		p.Ops = append(p.Ops, change.Op{Ref: notes.Ref(name), Pre: file("old"), Post: file("new")})
	}
	_, err = txn.Run(t.Context(), j, s, p)
	data, rerr := os.ReadFile(filepath.Join(root, "old.txt"))
	if !errors.As(err, new(*txn.PendingError)) || rerr != nil || string(data) != "new" {
		t.Fatalf("Run = %v, and old.txt is %q, %v", err, data, rerr)
	}
}
