package live

import (
	"context"
	"strings"
	"testing"
	"time"

	"mend/change"
)

// TestPublish: other plugins get the start and the end of each kind of recovery, except of repairs at the start.
func TestPublish(t *testing.T) {
	const start, end = "started ses_1", "finished ses_1"
	const session = "ses_1"
	for _, c := range []struct {
		name    string
		recover func(*testing.T) *fakeAgent
		change  string // the call between the two events
		silent  bool   // no event is published
	}{
		{"an error", func(t *testing.T) *fakeAgent {
			f, info := failedSession(emptyText)
			f.hook(Options{}).recover(t.Context(), info)
			return f
		}, "abort", false},
		{"interrupted tools", func(t *testing.T) *fakeAgent {
			f := interruptedSession()
			f.hook(Options{}).idle(t.Context())
			return f
		}, "repair", false},
		{"before a request", func(t *testing.T) *fakeAgent {
			f := &fakeAgent{entry: "quail"}
			q := Question{Session: session, Deadline: time.Minute, Begin: func(context.Context) (bool, error) { return true, nil }}
			if _, err := f.hook(Options{}).ask(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			return f
		}, "toast", false},
		{"at the start", func(t *testing.T) *fakeAgent {
			f := &fakeAgent{entry: "quail", updated: time.Now().UnixMilli()}
			q := Question{Directory: "/p", Deadline: time.Minute, Begin: func(context.Context) (bool, error) { return true, nil }}
			if err := f.hook(Options{}).LookAll(t.Context(), time.Time{}, q); err != nil {
				t.Fatal(err)
			}
			return f
		}, "", true},
		{"a turn without an answer", func(t *testing.T) *fakeAgent {
			f := &fakeAgent{entry: "quail"}
			f.hook(Options{}).Look(t.Context(), Situation{Cause: AfterSilence, Head: change.Head{ID: session}})
			return f
		}, "toast", false},
		{"a request that is too long", func(t *testing.T) *fakeAgent {
			f := &fakeAgent{entry: "quail"}
			f.hook(Options{}).overflow(t.Context())
			return f
		}, "trim", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			actions := strings.Join(c.recover(t).recordedCalls(), ", ")
			before, rest, started := strings.Cut(actions, start)
			between, _, finished := strings.Cut(rest, end)
			switch {
			case c.silent && (started || finished):
				t.Errorf("calls %s, want no event", actions)
			case !c.silent && (!started || !finished || strings.Contains(before, c.change) || !strings.Contains(between, c.change)):
				t.Errorf("calls %s, want %s between the events", actions, c.change)
			}
		})
	}
}
