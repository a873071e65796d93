package sqlstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/test/dbtest"
	"mend/sqlstore"
)

// TestConflicts: if the agent writes between Prepare and Commit, the change is aborted, the conflict names the reason, and no
// row of mend remains.
func TestConflicts(t *testing.T) {
	const part = "(SELECT id FROM part WHERE json_extract(data, '$.text') = 'Running.')"
	cases := map[string]struct{ sql, why string }{
		"changed":     {"UPDATE part SET data = json_set(data, '$.text', 'mine') WHERE id = " + part, "it was changed meanwhile"},
		"time alone":  {"UPDATE part SET time_updated = time_updated + 1 WHERE id = " + part, "it was changed meanwhile"},
		"class alone": {"UPDATE part SET data = CAST(data AS BLOB) WHERE id = " + part, "it was changed meanwhile"},
		"gone":        {"DELETE FROM part WHERE id = " + part, "it is gone"},
		"created": {`INSERT INTO part SELECT (SELECT min(id) FROM part WHERE message_id = m) || '0', m, session_id, 1, 1, '{}'
			FROM (SELECT id AS m, session_id FROM message ORDER BY time_created LIMIT 1 OFFSET 1)`, "it is there already"},
		"new child": {
			`INSERT INTO part SELECT 'prt_z', id, session_id, 1, 1, '{}' FROM message ORDER BY time_created DESC LIMIT 1`,
			"part prt_z still refers to it",
		},
		"parent gone": {
			"DELETE FROM message WHERE id = (SELECT id FROM message ORDER BY time_created LIMIT 1 OFFSET 1)",
			"which does not exist",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { testConflict(t, c.sql, c.why) })
	}
}

// testConflict runs the statement between Prepare and Commit.
func testConflict(t *testing.T, do, why string) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	ops := dbtest.MixedOps(t, load(t, s, id))
	st, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
	dbtest.Must(t, err)
	dbtest.Alter(t, path, do)
	before := dbtest.DumpRows(t, path)
	out, err := s.Commit(t.Context(), st)
	if err != nil || out.State != change.Aborted || out.Cause != nil || !hasConflict(out.Conflicts, why) {
		t.Errorf("Commit = %+v, %v; want aborted, %q", out, err, why)
	}
	if _, err = s.Prepare(t.Context(), change.Plan{Ops: ops}); !hasConflict(conflictsIn(err), why) {
		t.Errorf("Prepare: %v, want %q", err, why)
	}
	if out, err := s.Settle(t.Context(), st); err != nil || out.State != change.Aborted {
		t.Errorf("Settle = %+v, %v; want aborted", out, err)
	}
	if dbtest.DumpRows(t, path) != before {
		t.Error("rows changed")
	}
}

func hasConflict(conflicts []change.Conflict, why string) bool {
	for _, c := range conflicts {
		if strings.Contains(c.Why, why) {
			return true
		}
	}
	return false
}

// TestInvalid: Prepare, Commit and Settle refuse a plan that fits no database.
func TestInvalid(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	before := load(t, s, id)
	part := &before.Messages[1].Parts[2]
	image := change.ImageOf(&part.Record)
	other := part.Ref
	other.Part += "0"
	folder := change.Ref{Kind: change.KindFolder, Session: id}
	cases := map[string][]change.Op{
		"no ops":         nil,
		"folder":         {{Ref: folder, Post: &change.Image{Mode: 0o755}}},
		"no row":         {{Ref: part.Ref, Pre: image, Post: &change.Image{Data: []byte("{}")}}},
		"id of another":  {{Ref: other, Post: image}},
		"two on one row": {{Ref: part.Ref, Pre: image}, {Ref: otherMessage(part.Ref, before), Pre: image}},
	}
	for name, ops := range cases {
		if _, err := s.Prepare(t.Context(), change.Plan{Ops: ops}); !errors.Is(err, change.ErrInvalid) {
			t.Errorf("%s: Prepare: %v, want invalid", name, err)
		}
		if len(ops) == 0 {
			continue
		}
		st := change.Staged{Store: s.ID(), Ops: ops}
		if out, err := s.Commit(t.Context(), st); err != nil || out.State != change.Aborted || !errors.Is(out.Cause, change.ErrInvalid) {
			t.Errorf("%s: Commit = %+v, %v", name, out, err)
		}
		if _, err := s.Settle(t.Context(), st); !errors.Is(err, change.ErrInvalid) {
			t.Errorf("%s: Settle: %v", name, err)
		}
	}
	st, err := s.Prepare(t.Context(), change.Plan{Ops: dbtest.MixedOps(t, before)})
	if err != nil {
		t.Fatal(err)
	}
	st.Store.Root += "x"
	if out, _ := s.Commit(t.Context(), st); out.State != change.Aborted {
		t.Error("a change of another store was applied")
	}
	if _, err := s.Read(t.Context(), []change.Ref{folder}); !errors.Is(err, change.ErrInvalid) {
		t.Errorf("Read of a folder: %v", err)
	}
}

func otherMessage(ref change.Ref, s *record.Session) change.Ref {
	ref.Message = s.Messages[0].ID
	return ref
}

// TestOtherMessage: a part moves to another message under its own id, and back.
func TestOtherMessage(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	previous := dbtest.Dump(t, path)
	before := load(t, s, id)
	after := before.Clone()
	from, to := &after.Messages[1], &after.Messages[2]
	moved, err := record.Move(&from.Parts[1].Record, change.Ref{Kind: change.KindPart, Session: id, Message: to.ID, Part: from.Parts[1].ID})
	if err != nil {
		t.Fatal(err)
	}
	from.Remove(from.Parts[1].Ref)
	to.Insert(record.NewPart(moved))
	ops := change.Diff(before.AllRecords, after.AllRecords)
	if out := dbtest.Run(t, s, ops); len(ops) != 2 || out.State != change.Committed {
		t.Fatalf("Commit of %d ops = %+v", len(ops), out)
	}
	if got := load(t, s, id); got.Messages[2].Part(moved.Ref.Part) == nil {
		t.Error("the message does not have the part")
	}
	if out := dbtest.Run(t, s, change.Inverse(ops)); out.State != change.Committed || dbtest.Dump(t, path) != previous {
		t.Errorf("undo = %+v", out)
	}
}

// TestCancelled: if the context ends before COMMIT, nothing is changed.
func TestCancelled(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	before := dbtest.Dump(t, path)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	s := open(t, path, sqlstore.Options{Step: func(what string) error {
		if what == "sync folder" {
			cancel(stop)
		}
		return nil
	}})
	st, err := s.Prepare(ctx, change.Plan{Ops: dbtest.MixedOps(t, load(t, s, id))})
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Commit(ctx, st)
	if err != nil || out.State != change.Aborted || !errors.Is(out.Cause, context.Canceled) {
		t.Errorf("Commit = %+v, %v", out, err)
	}
	if out, err := s.Commit(ctx, st); err != nil || out.State != change.Aborted {
		t.Errorf("Commit afterwards = %+v, %v", out, err)
	}
	if _, err := sessionIDs(ctx, s); !errors.Is(err, context.Canceled) && !errors.Is(err, stop) {
		t.Errorf("View: %v", err)
	}
	if dbtest.Dump(t, path) != before {
		t.Error("rows changed")
	}
}
