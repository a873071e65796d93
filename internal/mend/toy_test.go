package mend_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/agent"
	"mend/change"
	"mend/internal/culprit"
	"mend/internal/mend"
	"mend/internal/unattended"
	"mend/journal"
	"mend/repair"
	"mend/txn"
)

// toyConversation is a session of the toy agent with two empty answers.
const toyConversation = "hello\n\nhow are you?\n \n"

var errCrash = errors.New("the process has ended")

// crash returns a step that ends the process before it writes the conversation or, with after, directly after that.
func crash(after bool) func(call string) error {
	written, ended := false, false
	return func(call string) error {
		writes := strings.HasPrefix(call, "exchange")
		if ended = ended || written || writes && !after; ended {
			return errCrash
		}
		written = writes
		return nil
	}
}

func toyClient(t *testing.T, dir string, step func(call string) error) (*mend.Store, mend.Options) {
	t.Helper()
	o := mend.Options{
		Agents:  []agent.Agent{toyAgent{folder: filepath.Join(dir, "talks"), step: step}},
		Journal: mend.OpenJournal(filepath.Join(dir, "journal")), Cache: filepath.Join(dir, "cache"),
	}
	c, err := mend.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return c, o
}

func toyFolder(t *testing.T) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "talks", "ses_1.txt")
	err := os.Mkdir(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte(toyConversation), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, file
}

func wantFile(t *testing.T, when, file, want string) {
	t.Helper()
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%s: the conversation is %q, %v, want %q", when, got, err, want)
	}
}

// TestToyAgent: an agent that implements only its own parts has scan, repair, undo, redo and log.
func TestToyAgent(t *testing.T) {
	dir, file := toyFolder(t)
	c, o := toyClient(t, dir, nil)
	heads, err := c.Sessions(t.Context())
	if err != nil || len(heads) != 1 {
		t.Fatalf("Sessions = %v, %v, want one", heads, err)
	}
	scan := func(when string, want int) {
		t.Helper()
		for f := range c.Scan(t.Context(), heads) {
			if f.Err != nil || len(f.Diagnoses) != want {
				t.Errorf("%s: Scan found %v, %v, want %d findings", when, f.Diagnoses, f.Err, want)
			}
		}
	}
	apply := func(p change.Plan, err error) change.Entry {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		e, err := c.Apply(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	scan("first", 2)
	r, err := c.ProposeRepair(t.Context(), heads[0], repair.Request{})
	if len(r.Fixed) != 2 || len(r.Remaining) != 0 {
		t.Errorf("ProposeRepair fixes %v and leaves %v, want two and none", r.Fixed, r.Remaining)
	}
	e := apply(r.Plan, err)
	wantFile(t, "repaired", file, "hello\n[user interrupted]\nhow are you?\n[user interrupted]\n")
	scan("repaired", 0)
	apply(c.ProposeUndo(t.Context(), mend.UndoRequest{IDs: []string{e.ID}}))
	wantFile(t, "undone", file, toyConversation)
	apply(c.ProposeUndo(t.Context(), mend.UndoRequest{IDs: []string{e.ID}, Redo: true}))
	scan("redone", 0)
	if es, err := o.Journal.Log(journal.Query{Session: "ses_1"}); err != nil || len(es) != 3 {
		t.Errorf("Log = %v, %v, want three entries", es, err)
	}
	if err := os.WriteFile(file, []byte("something else\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var conflict *change.ConflictError
	if _, err := c.ProposeUndo(t.Context(), mend.UndoRequest{IDs: []string{e.ID}}); !errors.As(err, &conflict) {
		t.Errorf("ProposeUndo of a changed conversation: %v, want a conflict", err)
	}
}

// TestToyAgentCrash: an interrupted repair is finished if the conversation was written, and otherwise reverted.
func TestToyAgentCrash(t *testing.T) {
	for _, after := range []bool{false, true} {
		dir, file := toyFolder(t)
		c, _ := toyClient(t, dir, crash(after))
		var pending *txn.PendingError
		if _, _, err := unattended.New(c).Repair(t.Context(), change.Head{ID: "ses_1"}, repair.Request{}, nil); !errors.As(err, &pending) {
			t.Fatalf("an interrupted Repair = %v, want a PendingError", err)
		}
		const repaired = "hello\n[user interrupted]\nhow are you?\n[user interrupted]\n"
		left := map[bool]string{false: toyConversation, true: repaired}[after]
		wantFile(t, "cut", file, left)
		c, _ = toyClient(t, dir, nil)
		done, err := c.Recover(t.Context(), false)
		want := map[bool]change.State{false: change.Aborted, true: change.Committed}[after]
		if err != nil || len(done) != 1 || done[0].State != want {
			t.Errorf("Recover = %v, %v, want one %s entry", done, err, want)
		}
		wantFile(t, "recovered", file, left)
	}
}

// TestToyAgentError: the text of an error leads to the session and the block.
func TestToyAgentError(t *testing.T) {
	dir, file := toyFolder(t)
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "ses_2.txt"), []byte("hello\nhello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, o := toyClient(t, dir, nil)
	heads, err := c.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	readings := culprit.Readings(o.Agents, []byte("messages.3: text content blocks must contain non-whitespace text"))
	found, err := culprit.Find(t.Context(), c, heads, readings, dir, func() {})
	if err != nil || len(found) != 1 || found[0].Session.ID != "ses_1" || found[0].Match.Degree != repair.BreaksThere || found[0].Match.N != 3 {
		t.Fatalf("Find = %+v, %v, want ses_1 at message 3", found, err)
	}
	r, err := c.ProposeRepair(t.Context(), found[0].Session, repair.Request{Error: &found[0].Error})
	if err != nil || len(r.Fixed) != 2 {
		t.Fatalf("ProposeRepair fixes %+v, %v, want both", r.Fixed, err)
	}
	if _, err := c.Apply(t.Context(), r.Plan); err != nil {
		t.Fatal(err)
	}
	wantFile(t, "repaired", file, "hello\n[user interrupted]\nhow are you?\n[user interrupted]\n")
}

// TestToyAgentTrim: a trim cuts the middle of a long line, and an undo restores the line.
func TestToyAgentTrim(t *testing.T) {
	dir, file := toyFolder(t)
	long := "hello\n" + strings.Repeat("word ", 10_000) + "\nhow are you?\nfine\n"
	if err := os.WriteFile(file, []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _ := toyClient(t, dir, nil)
	id, trimmed, err := unattended.New(c).Trim(t.Context(), "ses_1", repair.TrimRequest{Goal: 1000, Hard: true})
	if err != nil || id == "" || trimmed.After >= trimmed.Before || trimmed.After > 1000 {
		t.Fatalf("Trim = %q, from %d to %d tokens, %v", id, trimmed.Before, trimmed.After, err)
	}
	data, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(data), "were taken out of this conversation to make room") {
		t.Errorf("the file is %.200q, %v", data, err)
	}
	back, err := c.ProposeUndo(t.Context(), mend.UndoRequest{IDs: []string{id}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Apply(t.Context(), back); err != nil {
		t.Fatal(err)
	}
	wantFile(t, "undone", file, long)
}
