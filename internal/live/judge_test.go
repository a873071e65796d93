package live

import (
	"context"
	"testing"
	"time"

	"mend/change"
	"mend/repair"
)

// TestStoredFailure: a failure in the store is repaired once, even if the agent also reports it, and is not repaired if
// the session was changed since.
func TestStoredFailure(t *testing.T) {
	for _, c := range []struct {
		name       string
		lastChange string
		steps      func(h *Hook, stored func(), reported func())
		repairs    int
	}{
		{"stored", "", func(_ *Hook, stored, _ func()) { stored() }, 1},
		{"stored twice", "", func(_ *Hook, stored, _ func()) { stored(); stored() }, 1},
		{"stored, then reported", "", func(_ *Hook, stored, reported func()) { stored(); reported() }, 1},
		{"reported, then stored", "", func(_ *Hook, stored, reported func()) { reported(); stored() }, 1},
		{"changed since", "quail", func(_ *Hook, stored, _ func()) { stored() }, 0},
		{"the agent has ended", "", func(h *Hook, stored, _ func()) { h.EndAgent(); stored() }, 1},
	} {
		f, info := failedSession(orderText)
		f.lastChange = c.lastChange
		h := f.hook(Options{})
		stored := func() {
			if err := h.Look(t.Context(), Situation{Cause: Stored, Head: change.Head{ID: "ses_1"}}).Err; err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		c.steps(h, stored, func() { h.recover(t.Context(), info) })
		if got := f.count("repair"); got != c.repairs {
			t.Errorf("%s: %d repairs, want %d; did %v", c.name, got, c.repairs, f.recordedCalls())
		}
	}
}

// TestLastChangeFails: while the last change is unknown nothing is repaired, and the next report is handled.
func TestLastChangeFails(t *testing.T) {
	f, info := failedSession(orderText)
	info.Time.CreationTime = float64(time.Now().UnixMilli())
	f.messages[1].Info.Time.CreationTime = info.Time.CreationTime
	f.errors = map[string]error{"lastChange": errTest}
	h := f.hook(Options{})
	if h.recover(t.Context(), info) || f.count("repair") != 0 {
		t.Errorf("recovered; did %v", f.recordedCalls())
	}
	f.errors = nil
	if !h.recover(t.Context(), info) {
		t.Errorf("not recovered; did %v", f.recordedCalls())
	}
}

// TestStored: a session that is broken in the store is repaired, unless a setting, the version or the time forbids it.
func TestStored(t *testing.T) {
	broken := []repair.Diagnosis{{Severity: repair.Broken, Class: repair.EmptyContentMessage}}
	for _, c := range []struct {
		name     string
		options  Options
		question Question
		cause    Cause
		found    []repair.Diagnosis
		repaired bool
	}{
		{"broken", Options{}, Question{}, Stored, broken, true},
		{"healthy", Options{}, Question{}, Stored, nil, false},
		{"not before an error", Options{SkipPreflight: true}, Question{}, Stored, broken, false},
		{"an older version", Options{}, Question{Version: "0.0.1"}, Stored, broken, false},
		{"an event", Options{}, Question{Deadline: time.Minute}, AtStart, nil, true},
		{"an event, too late", Options{}, Question{Deadline: time.Minute, Begin: func(context.Context) (bool, error) { return false, nil }}, AtStart, nil, false},
		{"an event, skipped", Options{SkipPreflight: true}, Question{Deadline: time.Minute}, AtStart, nil, false},
	} {
		f := &fakeAgent{entry: "quail", found: c.found, result: repair.Result{Fixed: []repair.Diagnosis{fixed(repair.EmptyContentMessage, "")}}}
		v := f.hook(c.options).Look(t.Context(), Situation{Cause: c.cause, Head: change.Head{ID: "ses_1"}, Question: c.question})
		if (v.Entry != "") != c.repaired || (v.Worst != nil) != (c.found != nil) {
			t.Errorf("%s: %+v; did %v", c.name, v, f.recordedCalls())
		}
		for _, r := range f.requests {
			if r.Force {
				t.Errorf("%s: forced", c.name)
			}
		}
	}
}
