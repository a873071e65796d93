package live

import (
	"strings"
	"testing"
	"time"
)

// youngError is a fake whose answer was begun a moment ago and failed.
func recentFailure() (*fakeAgent, Info) {
	f, _ := failedSession(orderText)
	f.updated = time.Now().UnixMilli()
	f.stored[1].Info.Time.Created = float64(f.updated - 1000)
	return f, f.messages[1].Info
}

// The agent tells of an error that a sweep has found before: nothing is repaired
// twice or resumed, and the user hears of it once.
func TestReportedAfterRecoverMissed(t *testing.T) {
	for _, noID := range []bool{false, true} {
		f, info := recentFailure()
		if noID {
			info.ID = ""
		}
		h := f.hook(Options{AutoResume: true})
		sweep := func() {
			if err := h.RecoverMissed(t.Context(), time.Now().Add(-time.Hour), time.Now(), ""); err != nil {
				t.Fatal(err)
			}
		}
		sweep()
		f.lastChange = f.entry
		for range 2 {
			h.HandleSessionRecovery(t.Context(), info)
		}
		f.lastChange = "" // even if nobody knew
		sweep()
		if len(f.toasts) != 1 || f.toasts[0].Message != alreadyRepairedText(f.entry) {
			t.Errorf("without an id %t: toasts %+v, want one of %s", noID, f.toasts, f.entry)
		}
		if repairs, prompts := f.count("repair"), f.count("prompt"); repairs != 1 || prompts != 0 {
			t.Errorf("without an id %t: %d repairs and %d prompts, want 1 and none; did %v", noID, repairs, prompts, f.recorded())
		}
	}
}

// An error that a sweep could do nothing about is explained when the agent tells
// of it.
func TestExplainedAfterRecoverMissed(t *testing.T) {
	f, info := recentFailure()
	f.entry = ""
	h := f.hook(Options{})
	if err := h.RecoverMissed(t.Context(), time.Now().Add(-time.Hour), time.Now(), ""); err != nil || len(f.toasts) != 0 {
		t.Errorf("Sweep: %v, toasts %+v, want none", err, f.toasts)
	}
	h.HandleSessionRecovery(t.Context(), info)
	if n := len(f.toasts); n == 0 || !strings.Contains(f.toasts[n-1].Message, "Nothing in the stored session") {
		t.Errorf("toasts %+v, want an explanation", f.toasts)
	}
}

// Whether the session was changed since cannot be known: nothing is repaired, and the next
// report of it is looked at again.
func TestLastChangeFails(t *testing.T) {
	f, info := recentFailure()
	f.errors = map[string]error{"lastChange": errTest}
	h := f.hook(Options{})
	if h.HandleSessionRecovery(t.Context(), info) || f.count("repair") != 0 {
		t.Errorf("recovered; did %v", f.recorded())
	}
	f.errors = nil
	if !h.HandleSessionRecovery(t.Context(), info) {
		t.Errorf("not recovered; did %v", f.recorded())
	}
}
