package mend_test

import (
	"errors"
	"testing"

	"mend/change"
	"mend/internal/mend"
)

// TestFindSession: a session is found by its id, the start of its id, its title, a part of its title, or the folder.
func TestFindSession(t *testing.T) {
	heads := []change.Head{ // newest first
		{ID: "ses_c3", Title: "Add dark mode", Directory: "/home/u/app"},
		{ID: "ses_c1", Title: "add Dark mode to the site", Directory: "/home/u/site/"},
		{ID: "ses_b1", Title: "ÄRGER im Büro", Directory: "/home/u/app"},
		{ID: "ses_b", Title: "ses_c", Directory: "/"},
		{ID: "ses_a1", Title: "100% coverage"},
		{ID: "7c1e-1.agent-1", Title: "subagent: one"},
		{ID: "7c1e-1", Title: "A session with subagents"},
		{ID: "7c1e-1.agent-2", Title: "subagent: two"},
		{ID: "9d-1.agent-1", Title: "subagent: of one session"},
		{ID: "9d-2.agent-1", Title: "subagent: of another"},
		{ID: "twice"},
		{ID: "twice"}, // of two stores
	}
	for _, c := range []struct {
		name, dir, want string // want: an id, "none", or "several"
	}{
		{"ses_c3", "/", "ses_c3"},
		{"ses_a", "/", "ses_a1"},
		{"ses_b", "/", "ses_b"},  // an id that is the start of another id
		{"ses_c", "/", "ses_b"},  // a whole title before the start of an id
		{"ses_", "/", "several"}, // the start of all ids
		{"7c", "/", "7c1e-1"},    // not its subagents
		{"7c1e-1.agent", "/", "several"},
		{"9d", "/", "several"},
		{"büro", "/", "ses_b1"},          // in any case
		{"DARK", "/", "several"},         // a part of two titles
		{"add dark mode", "/", "ses_c3"}, // a whole title before a part of a title
		{"the site", "/", "ses_c1"},
		{"%", "/", "ses_a1"},
		{"nope", "/", "none"},
		{"", "/", "none"},
		{"twice", "/", "several"},
		{"@", "/", "ses_c3"},
		{".", "/home/u/app", "ses_c3"},
		{".", "/home/u/site", "ses_c1"},
		{".", "/home/u/app/src/deep", "ses_c3"}, // the nearest folder above
		{".", "/home/other", "none"},            // the root is above every folder
		{".", "/", "ses_b"},
	} {
		got, err := mend.FindSession(heads, c.name, c.dir)
		var several *mend.AmbiguousNameError
		id := heads[got].ID
		switch {
		case errors.As(err, &several):
			id = "several"
		case errors.Is(err, mend.ErrNoSession):
			id = "none"
		}
		if id != c.want {
			t.Errorf("FindSession(%q) in %s = %q, %v, want %s", c.name, c.dir, id, err, c.want)
		}
	}
	if _, err := mend.FindSession(nil, "@", "/"); !errors.Is(err, mend.ErrNoSession) {
		t.Errorf("FindSession without sessions: %v, want %v", err, mend.ErrNoSession)
	}
}
