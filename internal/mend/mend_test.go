package mend_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"mend/agent"
	"mend/agent/opencode"
	"mend/change"
	"mend/internal/mend"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/journal"
	"mend/repair"
	"mend/testdata"
)

// now returns a time long after the times in the fixtures.
func now() time.Time { return time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC) }

// A bench is the store of a fixture with its own journal.
type bench struct {
	client  *mend.Store
	store   string
	session string
}

func newBench(t testing.TB) bench {
	t.Helper()
	dir := storetest.FastDir(t)
	return benchIn(t, dir)
}

func benchIn(t interface{ Fatal(...any) }, dir string) bench {
	id, err := testdata.Unpack(testdata.OpenCode1153, dir)
	if err != nil {
		t.Fatal(err)
	}
	b := bench{store: filepath.Join(dir, "opencode", "storage"), session: id}
	b.client, err = mend.Open(mend.Options{Agents: []agent.Agent{opencode.Agent{}}, Store: b.store, Journal: mend.OpenJournal(filepath.Join(dir, "journal")), Cache: filepath.Join(dir, "cache"), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b bench) head(t interface{ Fatal(...any) }) change.Head {
	h, err := b.client.Session(context.Background(), b.session)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// edits damage a single record.
var edits = []func(damage.Store, damage.Record){
	set("text", ""), set("text", " \n"), set("text", 7), set("type", "novelty"), set("ignored", true),
	set("metadata", map[string]any{}), set("error", map[string]any{"name": "MessageAbortedError"}), set("finish", "tool-calls"),
	set("state", map[string]any{"status": "running", "input": map[string]any{}}),
	set("state", map[string]any{"status": "pending"}),
	func(s damage.Store, r damage.Record) { s.Drop(r) },
	func(s damage.Store, r damage.Record) { r.Data = r.Data[:len(r.Data)/2]; s.Put(r) },
	func(s damage.Store, r damage.Record) { r.Data = ""; s.Put(r) },
	func(s damage.Store, r damage.Record) { s.Drop(r); r.ID += "z"; s.Put(r) },
	func(s damage.Store, r damage.Record) { s.Drop(r); r.ID = "prt_0" + r.ID[4:]; s.Put(r) },
	func(s damage.Store, r damage.Record) { s.Drop(r); r.ID = "prt_z" + r.ID[4:]; s.Put(r) },
}

func set(field string, to any) func(damage.Store, damage.Record) {
	return func(s damage.Store, r damage.Record) {
		s.Put(r.Edit(func(m map[string]any) { m[field] = to }))
	}
}

// hurt applies random edits to random records. Messages are not removed, cut or renamed.
func hurt(t *rapid.T, s damage.Store) {
	for range rapid.IntRange(0, 6).Draw(t, "edits") {
		messages, parts := s.Records()
		r := rapid.SampledFrom(append(parts, messages...)).Draw(t, "record")
		edit := rapid.IntRange(0, len(edits)-1).Draw(t, "edit")
		if r.Table == "message" && edit > 9 || !json.Valid([]byte(r.Data)) {
			continue
		}
		edits[edit](s, r)
	}
}

// TestRepairUndoRedo: after any damage, an undo restores every byte from before the repair, a redo every byte of the
// repair, and a second repair has nothing to do.
func TestRepairUndoRedo(t *testing.T) {
	storetest.SampleChecks(t, "20")
	dir := storetest.FastDir(t)
	rapid.Check(t, func(t *rapid.T) {
		b := benchIn(t, mkdir(t, dir))
		hurt(t, damage.Tree{T: t, Root: b.store, Session: b.session})
		damaged := b.snapshot(t)
		ctx := context.Background()

		r, err := b.client.ProposeRepair(ctx, b.head(t), repair.Request{Latent: true, Force: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Plan.Ops) == 0 {
			return
		}
		e, err := b.client.Apply(ctx, r.Plan)
		if err != nil {
			t.Fatal(err)
		}
		repaired := b.snapshot(t)
		again, err := b.client.ProposeRepair(ctx, b.head(t), repair.Request{Latent: true, Force: true})
		if err != nil || len(again.Plan.Ops) > 0 {
			t.Fatalf("a second repair: %d ops, %v, want none", len(again.Plan.Ops), err)
		}
		b.undo(t, mend.UndoRequest{IDs: []string{e.ID}}, damaged)
		redo, err := b.client.ProposeUndo(ctx, mend.UndoRequest{IDs: []string{e.ID}, Redo: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.client.Apply(ctx, redo); err != nil {
			t.Fatal(err)
		}
		b.same(t, repaired)
		b.undo(t, mend.UndoRequest{IDs: []string{e.ID}}, damaged)
	})
}

func mkdir(t *rapid.T, dir string) string {
	sub, err := os.MkdirTemp(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func (b bench) snapshot(t interface{ Fatal(...any) }) map[string]string {
	all, err := damage.Snapshot(b.store)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (b bench) same(t *rapid.T, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, b.snapshot(t)); diff != "" {
		t.Fatalf("the store differs (-want +got):\n%s", diff)
	}
}

func (b bench) undo(t *rapid.T, r mend.UndoRequest, want map[string]string) {
	t.Helper()
	p, err := b.client.ProposeUndo(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.client.Apply(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	b.same(t, want)
}

// TestHealthy: a healthy session is reported as healthy, its plan is empty, and no byte is written.
func TestHealthy(t *testing.T) {
	b := newBench(t)
	healthy := b.snapshot(t)
	heads, err := b.client.Sessions(t.Context())
	if err != nil || len(heads) != 1 {
		t.Fatalf("Sessions = %v, %v, want one", heads, err)
	}
	for f := range b.client.Scan(t.Context(), heads) {
		if f.Err != nil || f.Severity() != 0 || f.Busy {
			t.Errorf("finding = %+v, want a healthy session", f)
		}
	}
	r, err := b.client.ProposeRepair(t.Context(), heads[0], repair.Request{Latent: true, Classes: []repair.Class{repair.EmptyContentMessage, repair.ToolResultMissing, repair.ThinkingBlockOrder}})
	if err != nil || len(r.Plan.Ops) > 0 {
		t.Errorf("repair of a healthy session: %v, %v", r.Plan, err)
	}
	if diff := cmp.Diff(healthy, b.snapshot(t)); diff != "" {
		t.Errorf("reading wrote (-want +got):\n%s", diff)
	}
}

// TestChangedBetween: a record that changes between the plan and its application is a conflict: the new bytes stay, and
// nothing else is changed.
func TestChangedBetween(t *testing.T) {
	b := newBench(t)
	tree := damage.Tree{T: t, Root: b.store, Session: b.session}
	damage.Text(damage.Hello, " ")(tree)
	damage.Text(damage.SecondPrompt, " ")(tree)
	r, err := b.client.ProposeRepair(t.Context(), b.head(t), repair.Request{})
	if err != nil || len(r.Plan.Ops) != 2 {
		t.Fatalf("ProposeRepair = %v, %v, want two ops", r.Plan, err)
	}
	damage.Text(damage.Hello, "written meanwhile")(tree)
	changed := b.snapshot(t)
	var conflict *change.ConflictError
	if _, err := b.client.Apply(t.Context(), r.Plan); !errors.As(err, &conflict) || len(conflict.Conflicts) != 1 {
		t.Errorf("Apply = %v, want one conflict", err)
	}
	if diff := cmp.Diff(changed, b.snapshot(t)); diff != "" {
		t.Errorf("the store changed (-want +got):\n%s", diff)
	}
}

// TestResolveOtherStore: a conflict of another store cannot be resolved in this store.
func TestResolveOtherStore(t *testing.T) {
	b := newBench(t)
	id := change.StoreID{Kind: "sqlite", Root: "/elsewhere/opencode.db"}
	j, err := journal.Open(b.journal(), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	op := change.Op{Ref: change.Ref{Kind: change.KindPart, Session: b.session, Message: "msg_1", Part: "prt_1"}, Post: &change.Image{Data: []byte("x")}}
	e, err := j.Begin(change.Plan{Session: b.session, Cause: change.Cause{Kind: change.CauseScan}, Ops: []change.Op{op}}, change.Staged{Store: id, Ops: []change.Op{op}})
	if err == nil {
		e, err = j.Finish(e, change.Outcome{State: change.Conflicted})
	}
	if err := errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	for _, d := range []mend.Decision{mend.Keep, mend.Back, mend.Forward} {
		if _, _, err := b.client.ProposeResolve(t.Context(), e.ID, d); err == nil || !strings.Contains(err.Error(), "belongs to another store") {
			t.Errorf("ProposeResolve(%s) = %v, want an error about another store", d, err)
		}
	}
}

func (b bench) journal() string { return filepath.Join(filepath.Dir(filepath.Dir(b.store)), "journal") }
