package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/internal/test/damage"
)

// idsBeforeWrap gives the messages of the fixture up to number n times and ids from before the wrap of the clock.
func idsBeforeWrap(n int) func(damage.Store) {
	const wrapped, back = "f", 10_000_000_000 // 115 days
	return func(s damage.Store) {
		messages, parts := s.Records()
		for _, m := range messages[:n+1] {
			s.Put(m.Edit(func(f map[string]any) {
				times := f["time"].(map[string]any)
				for name, at := range times {
					times[name] = at.(float64) - back
				}
			}))
			if db, ok := s.(damage.Database); ok {
				db.SQL(fmt.Sprintf("update message set time_created = time_created - %d where id = ?", back), m.ID)
			}
		}
		for _, m := range messages[:n+1] {
			for _, p := range parts {
				if p.Owner == m.ID {
					s.Replace(p.ID, "prt_"+wrapped+p.ID[5:])
				}
			}
			s.Replace(m.ID, "msg_"+wrapped+m.ID[5:])
		}
	}
}

// addReferences adds the kinds of references that the fixture lacks.
func addReferences(s damage.Store) {
	messages, _ := s.Records()
	tool := damage.Parts(s, damage.OneCall, "tool")[0]
	s.Put(tool.Edit(func(f map[string]any) {
		f["state"].(map[string]any)["attachments"] = []any{map[string]any{
			"id": "prt_1fbbd1808001AAAAAAAAAAAAAA", "sessionID": "ses_1", "messageID": tool.Owner,
			"type": "file", "mime": "image/png", "url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==",
		}}
	}))
	text := damage.Parts(s, damage.FourthPrompt, "text")[0]
	s.Put(damage.Record{Table: "part", ID: text.ID + "z", Owner: text.Owner, Data: `{"type":"compaction","auto":false,"tail_start_id":"` + messages[damage.SecondPrompt].ID + `"}`})
}

// TestClock: the repair of ids from before a wrap of the clock removes the finding in every kind of store. The order
// and all references stay, and an undo restores every byte.
func TestClock(t *testing.T) {
	for version, name := range damage.Versions {
		for _, c := range []struct {
			name  string
			apply func(damage.Store)
			old   int // messages that get new ids
		}{
			{"all", func(s damage.Store) { s.Replace("msg_1", "msg_f"); s.Replace("prt_1", "prt_f") }, 10},
			{"all, with references", func(s damage.Store) { addReferences(s); idsBeforeWrap(damage.Goodbye)(s) }, 10},
			{"some, with references", func(s damage.Store) { addReferences(s); idsBeforeWrap(damage.Hello)(s) }, 5},
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				st := unpack(t, version, c.apply)
				before := st.load()
				after := applyFixes(before, render.FailureClock, allFixes)
				if after == nil {
					counts, f := faults(before, render.FailureClock)
					t.Fatalf("no fix removes %v; %v", f, counts)
				}
				wantSameConversation(t, before, after, c.old)
				st.wantUndone(before, after)
			})
		}
	}
}

// wantSameConversation checks that after differs from before only by new ids in the first n messages.
func wantSameConversation(t *testing.T, before, after *record.Session, n int) {
	t.Helper()
	ids := map[string]string{}
	for i := range before.Messages {
		previous, current := &before.Messages[i], &after.Messages[i]
		if (previous.ID != current.ID) != (i < n) {
			t.Errorf("message %d was %s and is %s, want a new id: %t", i, previous.ID, current.ID, i < n)
		}
		if i > 0 && current.ID <= after.Messages[i-1].ID {
			t.Errorf("message %s does not sort after %s", current.ID, after.Messages[i-1].ID)
		}
		ids[previous.ID] = current.ID
		for j := range previous.Parts {
			ids[previous.Parts[j].ID] = current.Parts[j].ID
		}
	}
	var replace []string
	for _, old := range slices.Backward(slices.Sorted(maps.Keys(ids))) { // longer ids first
		replace = append(replace, old, ids[old])
	}
	if diff := cmp.Diff(strings.NewReplacer(replace...).Replace(records(before)), records(after)); diff != "" {
		t.Errorf("more than the ids changed (-want +got):\n%s", diff)
	}
}

// TestClockWithoutRoom: there is no fix if no ids are free between the start of the clock and the first new id.
func TestClockWithoutRoom(t *testing.T) {
	s := build(user(hi), answer(hi), user(hi))
	if err := s.Rename(map[string]string{"msg_01": "msg_f00000000001x", "msg_02": "msg_f00000001001x", "msg_03": "msg_000000001fffx"}); err != nil {
		t.Fatal(err)
	}
	if err := renumber(s, 2); err == nil {
		t.Error("renumber returns no error, although no ids are free")
	}
}
