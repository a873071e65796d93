package mend_test

import (
	"testing"

	"mend/change"
	"mend/internal/keep"
	"mend/internal/mend"
	"mend/internal/test/dbtest"
	"mend/repair"
)

// bind makes a session of OpenCode 1.18.33 use a model that binds its thinking.
func bind(t *testing.T, b *lossBench) {
	t.Helper()
	dbtest.Alter(
		t, b.file,
		`UPDATE message SET data = replace(data, '"claude-fake"', '"claude-opus-5-5"')`,
		`UPDATE session SET model = replace(model, '"claude-fake"', '"claude-opus-5-5"')`,
	)
}

const blankFirstPrompt = `UPDATE part SET data = '{"type":"text","text":" "}' WHERE id =
	(SELECT p.id FROM part p JOIN message m ON m.id = p.message_id WHERE json_extract(m.data, '$.role') = 'user' ORDER BY m.time_created, p.id LIMIT 1)`

func (b *lossBench) repairEntry() change.Entry {
	b.t.Helper()
	r, err := b.client.ProposeRepair(b.t.Context(), b.head, repair.Request{})
	if err != nil {
		b.t.Fatal(err)
	}
	e, err := b.client.Apply(b.t.Context(), r.Plan)
	if err != nil {
		b.t.Fatal(err)
	}
	return e
}

// spoiledByUndo undoes or redoes a repair, and returns how many thinking blocks the plan reports as spoiled.
func (b *lossBench) spoiledByUndo(id string, redo bool) int {
	b.t.Helper()
	p, err := b.client.ProposeUndo(b.t.Context(), mend.UndoRequest{IDs: []string{id}, Redo: redo})
	if err == nil {
		_, err = b.client.Apply(b.t.Context(), p)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	if p.Cause.Bound == nil {
		return 0
	}
	return p.Cause.Bound.Spoiled
}

// TestUndoSpoilsBoundThinking: thinking from before a repair is valid again after the undo of the repair. Thinking
// written since is bound to the repaired conversation: the undo spoils it, and a redo makes it valid again.
func TestUndoSpoilsBoundThinking(t *testing.T) {
	for name, c := range map[string]struct {
		since string // changes after the repair
		undo  int
	}{
		"nothing since":  {"", 0},
		"thinking since": {"x", 1},
	} {
		b := newLossBench(t, "1.18.33")
		bind(t, b)
		dbtest.Alter(t, b.file, blankFirstPrompt)
		if c.since != "" { // the newest thinking does not exist yet
			dbtest.Alter(t, b.file, `UPDATE part SET data = replace(data, '"signature":"', '"none":"') WHERE id = (SELECT max(id) FROM part WHERE data LIKE '%"signature":"%')`)
		}
		e := b.repairEntry()
		if e.Cause.Bound == nil || e.Cause.Bound.Spoiled == 0 || e.Cause.Bound.Removed {
			t.Fatalf("%s: the repair spoils %+v, want some blocks that OpenCode leaves out", name, e.Cause.Bound)
		}
		if c.since != "" {
			dbtest.Alter(t, b.file, `UPDATE part SET data = replace(data, '"none":"', '"signature":"since') WHERE data LIKE '%"none":"%'`)
		}
		if n := b.spoiledByUndo(e.ID, false); n != c.undo {
			t.Errorf("%s: the undo spoils %d blocks, want %d", name, n, c.undo)
		}
		if n := b.spoiledByUndo(e.ID, true); n != e.Cause.Bound.Spoiled {
			t.Errorf("%s: the redo spoils %d blocks, want %d as the repair", name, n, e.Cause.Bound.Spoiled)
		}
	}
}

// TestRestoreSpoilsBoundThinking: a restore of lost parts makes the thinking after them valid again, and spoils only
// thinking written since the loss.
func TestRestoreSpoilsBoundThinking(t *testing.T) {
	for name, c := range map[string]struct {
		since []string
		want  int
	}{
		"nothing since": {nil, 0},
		"thinking since": {[]string{`INSERT INTO part (id, message_id, session_id, time_created, time_updated, data)
			SELECT id || 'z', message_id, session_id, time_created, time_updated, replace(data, '"signature":"', '"signature":"since')
			FROM part WHERE data LIKE '%"signature":"%' ORDER BY id DESC LIMIT 1`}, 1},
	} {
		b := newLossBench(t, "1.18.33")
		bind(t, b)
		b.keep()
		dbtest.Alter(t, b.file, append([]string{`DELETE FROM part WHERE message_id = (SELECT id FROM message ORDER BY time_created LIMIT 1)`}, c.since...)...)
		var p change.Plan
		err := b.journal.Kept(keep.Options{ReadOnly: true}, func(k *keep.Keep) error {
			done, err := b.client.ProposeRestore(t.Context(), k, b.head, mend.RestoreRequest{})
			p = done.Plan
			return err
		})
		n := 0
		if p.Cause.Bound != nil {
			n = p.Cause.Bound.Spoiled
		}
		if err != nil || len(p.Ops) == 0 || n != c.want {
			t.Errorf("%s: %d ops spoil %d blocks, want %d; %v", name, len(p.Ops), n, c.want, err)
		}
	}
}
