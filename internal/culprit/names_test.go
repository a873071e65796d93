package culprit

import (
	"testing"

	"mend/internal/mend"
)

// TestNamesInTexts: a text names a session by its full id, which may be in a path or wrapped.
func TestNamesInTexts(t *testing.T) {
	const id = "35814092-99b2-4a66-99e1-1dc2cbd7fc10"
	o := mend.Options{}
	for _, c := range []struct {
		text, id string
		hasID    bool
	}{
		{text: "No conversation found with session ID: " + id, id: id, hasID: true},
		{text: "/home/user/.claude/projects/-home/" + id + ".jsonl: line 3", id: id, hasID: true},
		{text: "service=session.prompt sessionID=ses_0bf1ffa17ffefvlL96v3475UGE step=3", id: "ses_0bf1ffa17ffefvlL96v3475UGE", hasID: true},
		{text: "Session not found: ses_0bf1ffa17\nffefvlL96v3475UGE", id: "ses_0bf1ffa17ffefvlL96v3475UGE", hasID: true},
		{text: "No conversation found with session ID: " + id, id: id[:20]},
		{text: "see agents of " + id + ".agent-7", id: id + ".agent-7", hasID: true},
		{text: "message", id: "message"},
	} {
		if got := namesIn(Readings(o.Agents, []byte(c.text)))[c.id]; got != c.hasID {
			t.Errorf("%q names the id %q: %v", c.text, c.id, got)
		}
	}
}
