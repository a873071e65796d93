package diagnose

import (
	"strings"
	"testing"

	"mend/internal/test/damage"
	"mend/repair"
	"mend/testdata"
)

// TestEvents: a counter below the number of the session's last event is reported for versions that have a counter, and
// is not changed. The fixture has events 0 to 99, and the counter is at 99.
func TestEvents(t *testing.T) {
	st := newRowStore(t, testdata.OpenCode11833)
	s := st.withCell(damage.Cell{Column: "title", Value: "title; update event_sequence set seq = 98"})
	o := Options{Now: now, Version: "1.18.33"}
	if ds := diagnosed(s, o); len(ds) != 1 || ds[0].Rule != "events" || ds[0].Severity != repair.Broken {
		t.Errorf("Diagnose = %s, want the finding events", summary(ds))
	}
	if old := diagnosed(s, Options{Now: now, Version: "1.2.27"}); len(old) > 0 {
		t.Errorf("Diagnose for 1.2.27 = %s", summary(old))
	}
	r, err := Plan(s, Request{Options: o, Latent: true})
	if err == nil && len(r.Plan.Ops) > 0 || len(r.Remaining) != 1 || !strings.Contains(r.Remaining[0].WhyNot, "fork") {
		t.Errorf("Plan = %+v, %v, want no ops and a way out by a fork", r, err)
	}
}
