package culprit

import (
	"testing"

	"mend/internal/mend"
	"mend/repair"
)

// TestNamesInTexts: a text names a session by its full id, which may be in a path or wrapped, or by its title: in
// quotes, as the complete text, or of several words.
func TestNamesInTexts(t *testing.T) {
	const id = "35814092-99b2-4a66-99e1-1dc2cbd7fc10"
	o := mend.Options{}
	for _, c := range []struct {
		text, id, title string
		hasID, hasTitle bool
	}{
		{text: "No conversation found with session ID: " + id, id: id, hasID: true},
		{text: "/home/user/.claude/projects/-home/" + id + ".jsonl: line 3", id: id, hasID: true},
		{text: "service=session.prompt sessionID=ses_0bf1ffa17ffefvlL96v3475UGE step=3", id: "ses_0bf1ffa17ffefvlL96v3475UGE", hasID: true},
		{text: "Session not found: ses_0bf1ffa17\nffefvlL96v3475UGE", id: "ses_0bf1ffa17ffefvlL96v3475UGE", hasID: true},
		{text: "No conversation found with session ID: " + id, id: id[:20]},
		{text: "see agents of " + id + ".agent-7", id: id + ".agent-7", hasID: true},
		{text: "message", id: "message"},
		{text: `"Fix the date parser" is gone`, title: "Fix the date parser", hasTitle: true},
		{text: "fix the date\npar\nser is gone", title: "Fix the date parser", hasTitle: true},
		{text: "rate limit exceeded", title: "rate"},
		{text: "unauthorized", title: "Unauthorized", hasTitle: true},
		{text: "a\n title", title: "A title", hasTitle: true},
		{text: "401 unauthorized", title: "Unauthorized"},
		{text: `Session "Refactoring" failed`, title: "refactoring", hasTitle: true},
		{text: "Sitzung „A title“ fehlt", title: "A title", hasTitle: true},
		{text: "a title is missing", title: "A title"},
		{text: "out of cheese", title: ""},
	} {
		n := newNames(Readings(o.Agents, []byte(c.text)))
		if got := n.hasID(c.id); got != c.hasID {
			t.Errorf("%q names the id %q: %v", c.text, c.id, got)
		}
		if got := n.hasTitle(c.title); got != c.hasTitle {
			t.Errorf("%q names the title %q: %v", c.text, c.title, got)
		}
	}
	if n := newNames([]repair.APIError{{}}); n.hasID("") || n.hasTitle("") {
		t.Error("an empty text names a session")
	}
}
