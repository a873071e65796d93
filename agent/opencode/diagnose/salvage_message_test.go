package diagnose

import (
	"strings"
	"testing"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/internal/jsonedit"
)

// TestSalvagedRole: a message without readable data gets the role that its remaining data, its parts and its neighbours
// show.
func TestSalvagedRole(t *testing.T) {
	for _, c := range []struct {
		name  string
		s     *record.Session
		lost  int
		left  string
		want  string
		after string // "finish" of an answer
	}{
		{"named by an answer", build(user(hi), answer(hi)), 0, "", "user", ""},
		{"text after a prompt", build(user(hi), answer(hi), user(hi)), 1, "", "assistant", "stop"},
		{"text after an answer", build(user(hi), answer(hi), user(hi)), 2, "", "user", ""},
		{"a step, after an answer", build(user(hi), answer(hi), answer(stepStart, hi)), 2, "", "assistant", "stop"},
		{"a call last", build(user(hi), calling(stepStart, hi, stepFinish, stepStart, bash), answer(hi)), 1, "", "assistant", "stop"},
		{"a call in the first step", build(user(hi), answer(stepStart, bash, stepFinish, stepStart, hi)), 1, "", "assistant", "stop"},
		{"no parts, after an answer", build(user(hi), answer(hi), user()), 2, "", "user", ""},
		{"in its own data", build(user(hi), answer(hi), user(hi)), 2, `{"id":"msg_03","role":"assistant","ti`, "assistant", "stop"},
		{"a field of an answer's", build(user(hi), answer(hi), user(hi)), 2, `{"id":"msg_03","parentID":"msg_01","ro`, "assistant", "stop"},
	} {
		m := &c.s.Messages[c.lost]
		s := replaced(c.s, damaged(m.Record, c.left, 0))
		fixes := recordFixes(&simulation{s: s}, finding{Code: render.FailureUnreadable, Ref: m.Ref})
		got := edited(t, s, fixes[0]).Message(m.ID)
		if got == nil || got.Role != c.want || got.Finish != c.after || got.Defect != nil {
			t.Errorf("%s: %q becomes %+v, want role %s, finish %q", c.name, c.left, got, c.want, c.after)
		}
	}
}

// TestSalvagedTime: a message without readable data gets its time from its neighbours, and keeps its place.
func TestSalvagedTime(t *testing.T) {
	for _, c := range []struct {
		name string
		s    *record.Session
		lost int
		want int64
	}{
		{"from the message before", build(user(hi), answer(hi), user(hi)), 1, 1000},
		{"from the message before, which ended later", build(user(hi), turn{"assistant", `"finish":"stop","time":{"created":2000,"completed":2800}`, []string{hi}}, user(hi)), 2, 2000},
		{"from the message after", build(user(hi), answer(hi)), 0, 2000},
	} {
		m := &c.s.Messages[c.lost]
		ref := m.Ref
		s := replaced(c.s, damaged(m.Record, "", 0))
		after := edited(t, s, recordFixes(&simulation{s: s}, finding{Code: render.FailureUnreadable, Ref: ref})[0])
		if got := after.Messages[c.lost]; got.Ref != ref || got.Created != c.want {
			t.Errorf("%s: created %d at %s, want %d at %s", c.name, got.Created, got.Ref, c.want, ref)
		}
	}
}

// TestSessionInfo cuts the session's own file after each of its bytes. The fix rebuilds it with all readable values,
// and changes nothing else.
func TestSessionInfo(t *testing.T) {
	s := fromStore(t, 0, unchanged)
	whole := s.Info
	f := finding{Code: "session", Ref: whole.Ref}
	if fixes := sessionInfoFixes(draftOf(s).c, f); len(fixes) > 0 {
		t.Errorf("%d fixes for a healthy session", len(fixes))
	}
	for n := range len(whole.Data) {
		broken := s.Clone()
		broken.Info = damaged(whole, string(whole.Data[:n]), 0)
		broken.Title, broken.Directory, broken.Version, broken.Created, broken.Updated = "", "", "", 0, 0
		got := edited(t, broken, sessionInfoFixes(draftOf(broken).c, f)[0])
		if got.ID != s.ID || got.Project != "global" || got.Directory != s.Directory || got.Version == "" || got.Created == 0 || got.Updated < got.Created {
			t.Fatalf("cut at %d: %s", n, got.Info.Data)
		}
		if !strings.HasPrefix("A title", got.Title) && got.Title != "Recovered session" {
			t.Fatalf("cut at %d, the title is %q", n, got.Title)
		}
		if id := textAt(got.Info.Data, "id"); id != s.ID || jsonedit.ParsePartial(got.Info.Data).Complete != true {
			t.Fatalf("cut at %d: %s", n, got.Info.Data)
		}
		if again := sessionInfoFixes(draftOf(got).c, f); len(again) > 0 {
			t.Fatalf("cut at %d: a second fix: %s", n, again[0].Text)
		}
		wantOthersUnchanged(t, s, got, whole.Ref)
	}
}

// TestPartialRevert: a revert that is only partly readable is removed, because its meaning is unknown.
func TestPartialRevert(t *testing.T) {
	s := fromStore(t, 0, unchanged)
	data, err := jsonedit.Set(s.Info.Data, []byte(`{"messageID":"msg_1","partID":"prt_1"}`), "revert")
	if err != nil {
		t.Fatal(err)
	}
	s.Info = damaged(s.Info, string(data[:len(data)-12]), 0)
	got := edited(t, s, sessionInfoFixes(draftOf(s).c, finding{Code: "session", Ref: s.Info.Ref})[0])
	if raw, ok := jsonedit.Get(got.Info.Data, "revert"); ok {
		t.Errorf("the revert becomes %s", raw)
	}
}
