package inspect

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/internal/mend"
	"mend/internal/scancache"
	"mend/internal/term"
	"mend/internal/test/claude"
	"mend/internal/test/damage"
	"mend/internal/test/dbtest"
	"mend/internal/ui"
	"mend/repair"
)

// TestUIRepairSome: a session that cannot be repaired, before the question or after it, does not stop the others, and
// the screen reports it.
func TestUIRepairSome(t *testing.T) {
	root, journal := filepath.Join(t.TempDir(), ".claude"), t.TempDir()
	folder := filepath.Join(root, "projects", "-home-user-project")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	broken := claude.ByName("parent unknown").Broken()
	path := func(n string) string { return filepath.Join(folder, n+claude.Session[1:]+".jsonl") }
	write := func(n string) {
		if err := os.WriteFile(path(n), bytes.ReplaceAll(broken, []byte(claude.Session), []byte(n+claude.Session[1:])), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []string{"3", "4", "5"} {
		write(n)
	}
	env := &frame.Env{Terminal: &term.Terminal{Out: io.Discard, Err: io.Discard}}
	env.Opt = mend.Options{Agents: agents.All, Store: root, Journal: mend.OpenJournal(journal), Cache: filepath.Join(journal, "cache")}
	b := &uiBackend{Env: env}
	if err := b.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	var all []ui.Session
	if err := b.Scan(t.Context(), func(p ui.Progress) { all = append(all, p.Found...) }); err != nil || len(all) != 3 {
		t.Fatalf("%d sessions, %v", len(all), err)
	}
	if err := os.Remove(path("3")); err != nil {
		t.Fatal(err)
	}
	ch, err := b.Repair(t.Context(), all)
	if err != nil || ch.Question != "Repair 2 sessions: 2 changes?" {
		t.Fatalf("the question is %q, %v", ch.Question, err)
	}
	unchanged := 0
	for _, l := range ch.Lines {
		if strings.HasPrefix(l.Text, "stays as it is: ") {
			unchanged++
		}
	}
	if unchanged != 1 || len(ch.About) != 2 {
		t.Errorf("%d sessions stay as they are, %d change, want 1 and 2", unchanged, len(ch.About))
	}
	changed := append(bytes.Clone(broken), broken[bytes.LastIndexByte(broken[:len(broken)-1], '\n')+1:]...)
	if err := os.WriteFile(path("4"), changed, 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := ch.Apply(t.Context())
	if err == nil || !strings.HasPrefix(text, "Repaired 1 of 2 sessions (op-") {
		t.Errorf("the screen shows %q, %v", text, err)
	}
	if now, _ := os.ReadFile(path("4")); !bytes.Equal(now, changed) {
		t.Error("the session that another program changed meanwhile was changed")
	}
}

// TestUIScanDamaged: a scan of the screen records that the file of the store is damaged, as other scans do.
func TestUIScanDamaged(t *testing.T) {
	path, _ := dbtest.Unpack(t, damage.Versions[len(damage.Versions)-1])
	dbtest.Alter(t, path, "PRAGMA writable_schema = ON", // the index has other values than its table
		"UPDATE sqlite_schema SET sql = 'CREATE INDEX part_session_idx ON part (time_created)' WHERE name = 'part_session_idx'")
	cache := t.TempDir()
	env := &frame.Env{Terminal: &term.Terminal{Out: io.Discard, Err: io.Discard}}
	env.Opt = mend.Options{Agents: agents.All, Store: path, Journal: mend.OpenJournal(t.TempDir()), Cache: cache}
	b := &uiBackend{Env: env}
	if err := b.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	var damaged *change.DamagedError
	if err := b.Scan(t.Context(), func(ui.Progress) {}); !errors.As(err, &damaged) {
		t.Errorf("the scan returns %v", err)
	}
	id := b.stores[0].ID()
	if f := scancache.New(cache, id.Kind, id.Root, nil).Load(time.Now()); f.Damage == "" {
		t.Error("the cache has no damage")
	}
}

// TestUIConcurrent: the methods of the backend can be called at the same time, even if some of them hold the journal.
func TestUIConcurrent(t *testing.T) {
	root, journal := filepath.Join(t.TempDir(), ".claude"), t.TempDir()
	file := filepath.Join(root, "projects", "-home-user-project", claude.Session+".jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, claude.ByName("parent unknown").Broken(), 0o600); err != nil {
		t.Fatal(err)
	}
	env := &frame.Env{Terminal: &term.Terminal{Out: io.Discard, Err: io.Discard}}
	env.Opt = mend.Options{Agents: agents.All, Store: root, Journal: mend.OpenJournal(journal), Cache: filepath.Join(journal, "cache")}
	b := &uiBackend{Env: env}
	if err := b.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := ui.Session{ID: claude.Session, Store: b.stores[0].ID().Root}
	ch, err := b.Repair(t.Context(), []ui.Session{s})
	if err == nil {
		_, err = ch.Apply(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for _, read := range []func() error{
		func() error { return b.Scan(t.Context(), func(ui.Progress) {}) },
		func() error { _, err := b.Revert(t.Context(), s, false); return err },
		func() error { _, err := b.Revert(t.Context(), ui.Session{}, false); return err },
		func() error { _, err := b.Conversation(t.Context(), s); return err },
	} {
		group.Go(func() {
			for range 20 {
				if err := read(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// TestRepeatedFindings: of several equal findings each is marked, and only the first is described in full.
func TestRepeatedFindings(t *testing.T) {
	d := repair.Diagnosis{Why: "It is broken.", Fix: "It is mended."}
	fixes, marks := 0, 0
	for _, l := range conversationLines([]paragraph{{kind: note, fault: d}, {text: "a"}, {kind: note, fault: d}, {kind: note, fault: repair.Diagnosis{Why: "Other.", WhyNot: "unknown"}}}) {
		if l.Text == "fix: It is mended." || l.Text == "no fix: unknown" {
			fixes++
		}
		if l.Mark {
			marks++
		}
	}
	if fixes != 2 || marks != 3 {
		t.Errorf("%d fixes and %d marks, want 2 and 3", fixes, marks)
	}
}
