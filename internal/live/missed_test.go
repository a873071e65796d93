package live

import (
	"strings"
	"testing"
	"time"
)

// recentFailure returns a fakeAgent whose last message was created a second ago and
// failed.
func recentFailure() (*fakeAgent, Info) {
	f, _ := failedSession(orderText)
	f.updated = time.Now().UnixMilli()
	f.stored[1].Info.Time.Created = float64(f.updated - 1000)
	return f, f.messages[1].Info
}

// TestReportedAfterRecoverMissed checks an error that the agent reports after
// RecoverMissed handled it: nothing is repaired twice or resumed, and one toast is shown.
func TestReportedAfterRecoverMissed(t *testing.T) {
	for _, noID := range []bool{false, true} {
		f, info := recentFailure()
		if noID {
			info.ID = ""
		}
		h := f.hook(Options{AutoResume: true})
		recoverMissed := func() {
			if err := h.RecoverMissed(t.Context(), time.Now().Add(-time.Hour), time.Now(), ""); err != nil {
				t.Fatal(err)
			}
		}
		recoverMissed()
		f.lastChange = f.entry
		for range 2 {
			h.HandleSessionRecovery(t.Context(), info)
		}
		f.lastChange = "" // even if it is not known
		recoverMissed()
		if len(f.toasts) != 1 || f.toasts[0].Message != alreadyRepairedText(f.entry) {
			t.Errorf("without an id %t: toasts %+v, want one of %s", noID, f.toasts, f.entry)
		}
		if repairs, prompts := f.count("repair"), f.count("prompt"); repairs != 1 || prompts != 0 {
			t.Errorf("without an id %t: %d repairs and %d prompts, want 1 and none; did %v", noID, repairs, prompts, f.recorded())
		}
	}
}

// TestExplainedAfterRecoverMissed checks that an error without a repair is explained when
// the agent reports it.
func TestExplainedAfterRecoverMissed(t *testing.T) {
	f, info := recentFailure()
	f.entry = ""
	h := f.hook(Options{})
	if err := h.RecoverMissed(t.Context(), time.Now().Add(-time.Hour), time.Now(), ""); err != nil || len(f.toasts) != 0 {
		t.Errorf("RecoverMissed: %v, toasts %+v, want none", err, f.toasts)
	}
	h.HandleSessionRecovery(t.Context(), info)
	if n := len(f.toasts); n == 0 || !strings.Contains(f.toasts[n-1].Message, "Nothing in the stored session") {
		t.Errorf("toasts %+v, want an explanation", f.toasts)
	}
}

// TestLastChangeFails checks that nothing is repaired if the last change is unknown, and
// that the next report is handled.
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
