package undo_test

import (
	"context"
	"errors"
	"testing"

	"mend/change"
	"mend/undo"
)

// A memory is a journal with the ops of one entry, and a store with records.
type memory struct {
	ops     []change.Op
	records map[change.Ref]*change.Image
	err     error
}

func (m memory) Ops(change.Entry) ([]change.Op, error) { return m.ops, m.err }

func (m memory) Read(_ context.Context, refs []change.Ref) (now []*change.Image, err error) {
	for _, r := range refs {
		now = append(now, m.records[r])
	}
	return now, nil
}

// TestPropose: the plan reverts an entry unless a record was changed since, and names the entry as its cause.
func TestPropose(t *testing.T) {
	deleted := []change.Op{{Ref: partRef("prt_1"), Pre: image("old")}}
	for _, c := range []struct {
		name     string
		state    change.State
		ops      []change.Op
		records  map[change.Ref]*change.Image
		want     int // ops
		conflict string
		failed   bool
	}{
		{"as it was left", change.Committed, []change.Op{{Ref: message, Pre: image("old"), Post: image("new")}}, map[change.Ref]*change.Image{message: image("new")}, 1, "", false},
		{"reverted by hand", change.Committed, []change.Op{{Ref: message, Pre: image("old"), Post: image("new")}}, map[change.Ref]*change.Image{message: image("old")}, 0, "", false},
		{"changed since", change.Committed, []change.Op{{Ref: message, Pre: image("old"), Post: image("new")}}, map[change.Ref]*change.Image{message: image("x")}, 0, "changed since", false},
		{"a part whose message exists", change.Committed, deleted, map[change.Ref]*change.Image{message: image("m")}, 1, "", false},
		{"a part without its message", change.Committed, deleted, nil, 0, "its message was deleted", false},
		{"an entry that is pending", change.Pending, deleted, nil, 0, "", true},
	} {
		e := change.Entry{Seq: 7, ID: "x", Session: "ses_1", State: c.state, Append: &change.AppendPoint{Size: 3}}
		p, err := undo.Propose(t.Context(), memory{ops: c.ops}, memory{records: c.records}, e)
		conflict, isConflict := errors.AsType[*change.ConflictError](err)
		switch {
		case isConflict != (c.conflict != ""), isConflict && conflict.Conflicts[0].Why != c.conflict:
			t.Errorf("%s: Propose = %v, want the conflict %q", c.name, err, c.conflict)
		case err != nil && !isConflict && !c.failed, err == nil && c.failed:
			t.Errorf("%s: Propose = %v", c.name, err)
		case err == nil && (len(p.Ops) != c.want || p.Session != "ses_1" || p.Cause.Kind != change.CauseUndo || p.Cause.Entries[0] != 7 || p.Reverts[0] != e.Append):
			t.Errorf("%s: Propose = %+v", c.name, p)
		}
	}
	forgotten := errors.New("forgotten")
	if _, err := undo.Propose(t.Context(), memory{err: forgotten}, memory{}, change.Entry{State: change.Committed}); !errors.Is(err, forgotten) {
		t.Errorf("Propose without the images = %v", err)
	}
}
