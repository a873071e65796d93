package mend_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mend/agent"
	"mend/agent/claude"
	"mend/agent/codex"
	"mend/agent/opencode"
	"mend/change"
	"mend/internal/keep"
	"mend/internal/mend"
	fixture "mend/internal/test/claude"
	rollouts "mend/internal/test/codex"
	"mend/internal/test/dbtest"
	"mend/internal/test/storetest"
	"mend/repair"
	"mend/testdata"
)

// A lossBench is a store with one session, and a journal's folder with a copy of it.
type lossBench struct {
	t       *testing.T
	dir     string // of the store
	file    string // the database or the transcript; "" for a tree
	session string
	client  *mend.Store
	journal *mend.Journal
	head    change.Head
}

func newLossBench(t *testing.T, store string) *lossBench {
	t.Helper()
	dir := storetest.FastDir(t)
	b := &lossBench{t: t, journal: mend.OpenJournal(filepath.Join(dir, "journal"))}
	o := mend.Options{Agents: []agent.Agent{opencode.Agent{}}, Journal: b.journal, Cache: filepath.Join(dir, "cache")}
	switch store {
	case "claude":
		b.dir, b.session = filepath.Join(dir, ".claude"), fixture.Session
		b.file = filepath.Join(b.dir, "projects", "-home-user-project", b.session+".jsonl")
		b.write(b.file, string(fixture.Baseline))
		b.write(b.pathBeside("tool-results/a.txt"), "a long result")
		o.Agents, o.Store = []agent.Agent{claude.Agent{}}, b.dir
	case "codex":
		b.dir, b.session = filepath.Join(dir, ".codex"), testdata.CodexSession
		b.file = filepath.Join(b.dir, rollouts.File)
		b.write(b.file, string(testdata.Codex))
		o.Agents, o.Store = []agent.Agent{codex.Agent{}}, b.dir
	case "tree":
		id, err := testdata.Unpack(testdata.OpenCode1153, dir)
		if err != nil {
			t.Fatal(err)
		}
		b.dir, b.session, o.Store = filepath.Join(dir, "opencode"), id, filepath.Join(dir, "opencode", "storage")
		b.write(filepath.Join(o.Store, "session_diff", id+".json"), "[]")
	default:
		b.file, b.session = dbtest.Unpack(t, store)
		b.dir, o.Store = filepath.Dir(b.file), b.file
	}
	var err error
	if b.client, err = mend.Open(o); err != nil {
		t.Fatal(err)
	}
	if b.head, err = b.client.Session(t.Context(), b.session); err != nil {
		t.Fatal(err)
	}
	b.keep()
	return b
}

func (b *lossBench) pathBeside(name string) string {
	return filepath.Join(strings.TrimSuffix(b.file, ".jsonl"), filepath.FromSlash(name))
}

func (b *lossBench) write(path, data string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *lossBench) read(path string) string {
	b.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.t.Fatal(err)
	}
	return string(data)
}

func (b *lossBench) keep() {
	b.t.Helper()
	head, err := b.client.Session(b.t.Context(), b.session)
	if err == nil {
		err = b.journal.Kept(keep.Options{}, func(k *keep.Keep) error {
			return b.client.KeepAll(b.t.Context(), k, []change.Head{head}, mend.KeptAsked, false, func(_ int, s mend.Kept) {
				if s.Err != nil {
					b.t.Fatal(s.Err)
				}
			})
		})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// content returns the content of the store as comparable text.
func (b *lossBench) content() string {
	b.t.Helper()
	if strings.HasSuffix(b.file, ".db") {
		return dbtest.DumpRows(b.t, b.file)
	}
	var all strings.Builder
	err := filepath.WalkDir(b.dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(p) != ".lock" {
			all.WriteString(p[len(b.dir):] + "\n" + b.read(p) + "\n")
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return all.String()
}

// restorable returns the session as the list of restorable sessions has it, or nil.
func (b *lossBench) restorable() *mend.Restorable {
	b.t.Helper()
	var found *mend.Restorable
	err := b.journal.Kept(keep.Options{ReadOnly: true}, func(k *keep.Keep) error {
		all, err := b.client.Restorables(b.t.Context(), k)
		for i := range all {
			if all[i].Session.ID == b.session {
				found = &all[i]
			}
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

func (b *lossBench) propose(r mend.RestoreRequest) (done mend.Restored, err error) {
	b.t.Helper()
	kerr := b.journal.Kept(keep.Options{ReadOnly: true}, func(k *keep.Keep) error {
		done, err = b.client.ProposeRestore(b.t.Context(), k, b.head, r)
		return nil
	})
	if kerr != nil {
		b.t.Fatal(kerr)
	}
	return done, err
}

// restore restores the session, and returns the id of the entry, or "" if there was nothing to restore.
func (b *lossBench) restore(r mend.RestoreRequest) (mend.Restored, string) {
	b.t.Helper()
	done, err := b.propose(r)
	if err != nil {
		b.t.Fatal(err)
	}
	if len(done.Plan.Ops) == 0 {
		return done, ""
	}
	e, err := b.client.Apply(b.t.Context(), done.Plan)
	if err != nil {
		b.t.Fatal(err)
	}
	if e.Cause.Kind != change.CauseRestore && e.Cause.Kind != change.CauseUndo {
		b.t.Errorf("the cause of the entry is %s, want a restore or an undo", e.Cause.Kind)
	}
	return done, e.ID
}

func (b *lossBench) undo(id string) {
	b.t.Helper()
	p, err := b.client.ProposeUndo(b.t.Context(), mend.UndoRequest{IDs: []string{id}})
	if err == nil {
		_, err = b.client.Apply(b.t.Context(), p)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func sql(statements ...string) func(b *lossBench) {
	return func(b *lossBench) { dbtest.Alter(b.t, b.file, statements...) }
}

func rewriteTranscript(edit func(data string) string) func(b *lossBench) {
	return func(b *lossBench) { b.write(b.file, edit(b.read(b.file))) }
}

// metadata returns the lines of a transcript that are not messages.
func metadata(data string) string {
	var kept []string
	for line := range strings.Lines(data) {
		if !strings.Contains(line, `"parentUuid"`) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

const otherID = "00000000-1111-4111-8111-111111111111"

// removePath removes a path of the store, or the transcript if path is empty.
func removePath(path string) func(*lossBench) {
	return func(b *lossBench) {
		b.t.Helper()
		target := b.file
		if path != "" {
			target = filepath.Join(b.dir, filepath.FromSlash(path))
		}
		if err := os.RemoveAll(target); err != nil {
			b.t.Fatal(err)
		}
	}
}

// TestRestore: a session that lost content in one of these ways is listed as restorable, the restore gives it back byte
// for byte, and the undo of the restore gives back the damaged state.
func TestRestore(t *testing.T) {
	const dropped = "delete from session"
	for _, c := range []struct {
		name, store string
		lose        func(*lossBench)
		state       string
		same        bool // the restore gives back every byte of the copy
	}{
		{"deleted", "claude", removePath(""), mend.Deleted, true},
		{"deleted with its folder", "claude", removePath("projects/-home-user-project"), mend.Deleted, true},
		{"emptied", "claude", rewriteTranscript(func(string) string { return "" }), string(repair.NotLoaded), true},
		{"cut in half", "claude", rewriteTranscript(func(d string) string { return d[:len(d)/2] }), mend.Shortened, true},
		{"only metadata", "claude", rewriteTranscript(metadata), string(repair.NotLoaded), true},
		{"NUL bytes", "claude", rewriteTranscript(func(d string) string { return strings.Repeat("\x00", len(d)) }), string(repair.NotLoaded), true},
		{"overwritten by another", "claude", rewriteTranscript(func(string) string {
			other := strings.ReplaceAll(string(fixture.Baseline), fixture.Session, otherID)
			return strings.ReplaceAll(other, `"uuid":"`, `"uuid":"f`)
		}), mend.Replaced, true},
		{"result removed", "claude", func(b *lossBench) { removePath("projects/-home-user-project/" + b.session)(b) }, mend.Shortened, true},

		{"deleted", "codex", removePath(""), mend.Deleted, true},
		{"emptied", "codex", rewriteTranscript(func(string) string { return "" }), string(repair.NotLoaded), true},
		{"NUL bytes", "codex", rewriteTranscript(func(d string) string { return strings.Repeat("\x00", len(d)) }), string(repair.NotLoaded), true},
		{"cut in half", "codex", rewriteTranscript(func(d string) string { return d[:len(d)/2] }), mend.Shortened, true},
		{"overwritten by another", "codex", rewriteTranscript(func(d string) string {
			return strings.NewReplacer(testdata.CodexSession, otherID, `"id":"msg_`, `"id":"msg_f`, `"text":"`, `"text":"f`, "2026-11-22", "2026-11-21").Replace(d)
		}), mend.Replaced, true},

		{"archived", "1.18.33", sql("update session set time_archived = 5"), string(repair.Archived), false},
		{"hidden", "1.18.33", sql("insert into project (id, worktree, time_created, time_updated, sandboxes) select 'p2', worktree, 1, time_updated + 1, '[]' from project"), string(repair.Hidden), false},
		{"deleted", "1.18.33", sql("delete from part", "delete from message", dropped), mend.Deleted, true},
		{"project deleted", "1.18.33", sql("delete from part", "delete from message", dropped, "delete from project"), mend.Deleted, true},
		{"messages deleted", "1.18.33", sql("delete from part where message_id in (select id from message order by id desc limit 3)", "delete from message where id in (select id from message order by id desc limit 3)"), mend.Shortened, true},
		{"all messages deleted", "1.18.33", sql("delete from part", "delete from message"), mend.Shortened, true},
		{"a part deleted", "1.18.33", sql("delete from part where id = (select max(id) from part)"), mend.Shortened, true},
		{"half of the parts deleted", "1.18.33", sql("delete from part where rowid % 2 = 0"), mend.Shortened, true},
		{"a shorter state kept, then deleted", "claude", func(b *lossBench) {
			rewriteTranscript(func(d string) string { return d[:len(d)/2] })(b)
			b.keep()
			removePath("")(b)
		}, mend.Deleted, true},
		{"deleted", "1.2.27", sql("delete from part", "delete from message", dropped), mend.Deleted, true},
		{"archived", "1.2.27", sql("update session set time_archived = 5"), string(repair.Archived), false},
		{"deleted", "tree", func(b *lossBench) {
			removePath("storage/message/" + b.session)(b)
			removePath("storage/part")(b)
			removePath("storage/session_diff")(b)
			removePath("storage/session/" + b.head.Project + "/" + b.session + ".json")(b)
		}, mend.Deleted, true},
		{"messages deleted", "tree", func(b *lossBench) { removePath("storage/message/" + b.session)(b); removePath("storage/part")(b) }, mend.Shortened, true},
	} {
		t.Run(c.store+" "+c.name, func(t *testing.T) {
			b := newLossBench(t, c.store)
			if r := b.restorable(); r != nil {
				t.Errorf("before the loss it is restorable: %+v", r)
			}
			whole := b.content()
			c.lose(b)
			lost := b.content()
			if whole == lost && c.name != "hidden" {
				t.Fatal("nothing is lost")
			}
			r := b.restorable()
			if r == nil && c.state != "" || r != nil && (r.State != c.state || r.Kept > 0 && r.Kept <= r.Now && r.Missing == 0 && r.State != mend.Replaced) {
				t.Errorf("it is restorable: %+v, want the state %q", r, c.state)
			}
			done, id := b.restore(mend.RestoreRequest{})
			if id == "" {
				t.Fatalf("nothing is restored: %+v", done)
			}
			if now := b.content(); c.same && now != whole {
				t.Errorf("restored: %d bytes, want %d:\n%s", len(now), len(whole), now[:min(len(now), 300)])
			}
			if c.store == "claude" {
				if info, err := os.Stat(b.file); err != nil || info.Mode().Perm() != 0o600 || time.Since(info.ModTime()) > time.Minute {
					t.Errorf("the transcript has the time %v and the mode %v, %v", info.ModTime(), info.Mode(), err)
				}
			}
			if r := b.restorable(); r != nil {
				t.Errorf("after the restore it is restorable: %+v", r)
			}
			if again, err := b.propose(mend.RestoreRequest{}); err != nil || len(again.Plan.Ops) > 0 {
				t.Errorf("a second restore has %d ops, %v, want none", len(again.Plan.Ops), err)
			}
			b.undo(id)
			if now := b.content(); now != lost {
				t.Errorf("undone: %d bytes, want %d", len(now), len(lost))
			}
		})
	}
}

// TestRestoreJoined: records that the agent added since the loss stay beside the restored records. Another conversation
// under the same id is replaced only with force.
func TestRestoreJoined(t *testing.T) {
	line := func(session, uuid, parent, text string) string {
		return `{"parentUuid":` + parent + `,"isSidechain":false,"type":"user","message":{"role":"user","content":"` + text + `"},"uuid":"` + uuid + `","timestamp":"2026-11-25T10:00:00.000Z","sessionId":"` + session + `","cwd":"/home/user/project","version":"2.1.330"}` + "\n"
	}
	lastID := func(b *lossBench) string {
		all := strings.Split(b.read(b.file), `"uuid":"`)
		return `"` + all[len(all)-1][:36] + `"`
	}
	const newID = "00000000-2222-4222-8222-222222222222"
	t.Run("continued by a running program", func(t *testing.T) {
		b := newLossBench(t, "claude")
		whole, added := b.read(b.file), line(b.session, newID, lastID(b), "next")
		b.write(b.file, added)
		done, id := b.restore(mend.RestoreRequest{})
		if now := b.read(b.file); !done.Joined || done.Session.ID != b.session || now != whole+added {
			t.Errorf("joined %t: the transcript has %d bytes, want %d", done.Joined, len(now), len(whole+added))
		}
		if r := b.restorable(); r != nil {
			t.Errorf("after the restore it is restorable: %+v", r)
		}
		b.undo(id)
		if now := b.read(b.file); now != added {
			t.Errorf("undone: %d bytes, want %d", len(now), len(added))
		}
	})
	t.Run("another conversation under the id", func(t *testing.T) {
		b := newLossBench(t, "claude")
		other := line(b.session, newID, "null", "something else")
		b.write(b.file, other)
		if _, err := b.propose(mend.RestoreRequest{}); err == nil || !strings.Contains(err.Error(), "another conversation") || b.read(b.file) != other {
			t.Errorf("a restore without force = %v, want a refusal", err)
		}
		_, id := b.restore(mend.RestoreRequest{Force: true})
		if b.read(b.file) != string(fixture.Baseline) {
			t.Error("restored: the file is not the copy")
		}
		b.undo(id)
		if b.read(b.file) != other {
			t.Error("undone: the file is not the other conversation")
		}
	})
	t.Run("reverted, then prompted", func(t *testing.T) {
		b := newLossBench(t, "1.18.33")
		before := b.content()
		sql("delete from part where message_id in (select id from message order by id desc limit 3)", "delete from message where id in (select id from message order by id desc limit 3)",
			"insert into message (id, session_id, time_created, time_updated, data) select 'msg_zzzzzzzzzzzzzzzzzzzzzzzzzz', session_id, time_created + 1000, time_updated, data from message limit 1")(b)
		done, id := b.restore(mend.RestoreRequest{})
		sql("delete from message where id = 'msg_zzzzzzzzzzzzzzzzzzzzzzzzzz'")(b)
		if !done.Joined || b.content() != before {
			t.Errorf("restored: joined %t, want true, and the content from before", done.Joined)
		}
		b.undo(id)
		if r := b.restorable(); r == nil || r.State != mend.Shortened {
			t.Errorf("undone: it is restorable: %+v, want the state %q", r, mend.Shortened)
		}
	})
}

// TestRestoreAt: an earlier state is restored by its time, and a time or an id without a state is refused.
func TestRestoreAt(t *testing.T) {
	b := newLossBench(t, "claude")
	first := b.read(b.file)
	var kept time.Time
	err := b.journal.Kept(keep.Options{ReadOnly: true}, func(k *keep.Keep) error {
		states, err := k.States(keep.Query{})
		kept = states[0].Time
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Millisecond)
	lines := slices.Collect(strings.Lines(first))
	second := first + strings.Replace(lines[len(lines)-1], `"leafUuid"`, `"leafUUID"`, 1) + strings.NewReplacer(`"uuid":"`, `"uuid":"0`, `"parentUuid":"`, `"parentUuid":"0`).Replace(firstChain(lines))
	b.write(b.file, second)
	b.keep()
	if done, id := b.restore(mend.RestoreRequest{}); id != "" {
		t.Errorf("nothing is missing, and the session is restored: %+v", done)
	}
	done, id := b.restore(mend.RestoreRequest{At: kept.Add(time.Millisecond)})
	if now := b.read(b.file); id == "" || now != first || done.Session.ID != b.session {
		t.Errorf("at the first state: %d bytes, want %d", len(now), len(first))
	}
	b.undo(id)
	if now := b.read(b.file); now != second {
		t.Errorf("undone: %d bytes, want %d", len(now), len(second))
	}
	if _, err := b.propose(mend.RestoreRequest{At: kept.Add(-time.Hour)}); err == nil || !strings.Contains(err.Error(), "no complete state of that time") {
		t.Errorf("before the first state: %v, want a refusal", err)
	}
	if _, err := b.propose(mend.RestoreRequest{State: "zzzzzz"}); err == nil {
		t.Error("an unknown state: no error")
	}
}

// TestRestoreMode: a restore and its undo keep the mode of an existing file.
func TestRestoreMode(t *testing.T) {
	for _, beside := range []bool{false, true} { // with lost files beside the transcript, whole files are written
		b := newLossBench(t, "claude")
		whole := b.content()
		rewriteTranscript(func(d string) string { return d[:len(d)/2] })(b)
		if beside {
			removePath("projects/-home-user-project/" + b.session)(b)
		}
		lost := b.content()
		if err := os.Chmod(b.file, 0o640); err != nil {
			t.Fatal(err)
		}
		mode := func(when string) {
			if info, err := os.Stat(b.file); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("%s: the transcript has the mode %v, %v", when, info.Mode(), err)
			}
		}
		_, id := b.restore(mend.RestoreRequest{})
		if b.content() != whole {
			t.Error("restored: the content is not the content from before the loss")
		}
		mode("restored")
		b.undo(id)
		if b.content() != lost {
			t.Error("undone: the content is not the content from before the restore")
		}
		mode("undone")
	}
}

func firstChain(lines []string) string {
	i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, `"parentUuid"`) })
	return lines[i]
}

// TestRestoreBeforeRepair: without any copy, the state before a repair is restored from the journal.
func TestRestoreBeforeRepair(t *testing.T) {
	b := newLossBench(t, "claude")
	if err := os.Remove(filepath.Join(filepath.Dir(b.dir), "journal", "keep.db")); err != nil {
		t.Fatal(err)
	}
	broken := string(fixture.ByName("parent unknown").Broken())
	b.write(b.file, broken)
	r, err := b.client.ProposeRepair(t.Context(), b.head, repair.Request{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := b.client.Apply(t.Context(), r.Plan)
	if err != nil {
		t.Fatal(err)
	}
	_, id := b.restore(mend.RestoreRequest{State: e.ID})
	if now := b.read(b.file); id == "" || now != broken {
		t.Errorf("before the repair: %d bytes, want %d", len(now), len(broken))
	}
	removePath("")(b)
	if _, err := b.propose(mend.RestoreRequest{}); !errors.Is(err, mend.ErrNothingKept) {
		t.Errorf("deleted, and nothing is kept: %v, want %v", err, mend.ErrNothingKept)
	}
}

// TestRestoreGoneGrowth: the cost of restoring one missing session does not grow with the number of other sessions.
func TestRestoreGoneGrowth(t *testing.T) {
	b := newLossBench(t, "claude")
	if err := os.RemoveAll(strings.TrimSuffix(b.file, ".jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(b.file); err != nil {
		t.Fatal(err)
	}
	allocs := func(others int) float64 {
		for i := range others {
			id := fmt.Sprintf("%08d-0000-4000-8000-000000000000", i)
			b.write(filepath.Join(filepath.Dir(b.file), id+".jsonl"), `{"type":"user","uuid":"u","parentUuid":null,"sessionId":"`+id+`","message":{"role":"user","content":"x"}}`+"\n")
		}
		return testing.AllocsPerRun(2, func() {
			if done, err := b.propose(mend.RestoreRequest{Gone: true}); err != nil || len(done.Plan.Ops) == 0 {
				t.Fatalf("ProposeRestore: %d changes, %v", len(done.Plan.Ops), err)
			}
		})
	}
	if few, many := allocs(1), allocs(300); many > 1.5*few {
		t.Errorf("%.0f allocations with 300 other sessions, %.0f with 1", many, few)
	}
}
