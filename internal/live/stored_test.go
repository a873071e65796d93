package live

import (
	"testing"
	"time"

	"mend/change"
)

// TestStoredFailure checks that a failure that is found in the store is repaired once, also if the agent reports it
// afterwards or before, and not if the session was changed since.
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
		{"the agent has ended", "", func(h *Hook, stored, _ func()) { h.AgentEnded(); stored() }, 1},
	} {
		f, info := failedSession(orderText)
		f.lastChange = c.lastChange
		h := f.hook(Options{})
		stored := func() {
			failure := &StoredFailure{Message: info.ID, Error: info.Error, Time: time.Now()}
			if _, err := h.RepairStored(t.Context(), change.Head{ID: "ses_1"}, failure, false); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		c.steps(h, stored, func() { h.HandleSessionRecovery(t.Context(), info) })
		if got := f.count("repair"); got != c.repairs {
			t.Errorf("%s: %d repairs, want %d; did %v", c.name, got, c.repairs, f.recorded())
		}
	}
}

// TestLastChangeFails checks that nothing is repaired if the last change is unknown, and
// that the next report is handled.
func TestLastChangeFails(t *testing.T) {
	f, info := failedSession(orderText)
	info.Time.Created = float64(time.Now().UnixMilli())
	f.messages[1].Info.Time.Created = info.Time.Created
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
