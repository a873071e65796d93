package diagnose

import (
	"reflect"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/test/damage"
	"mend/repair"
	"mend/testdata"
)

// The counter of events is judged as 1.18.33 counts, and set to the number of the last event.
// The fixture has events 0 to 99, and the counter is at 99.
func TestEvents(t *testing.T) {
	st := newRowStore(t, testdata.OpenCode11833)
	st.exec("create table event_whole as select * from event; create table counter_whole as select * from event_sequence")
	const healthy, latent, broken = repair.Severity(0), repair.Latent, repair.Broken
	for _, c := range []struct {
		do        string
		severity  repair.Severity
		unfixable bool
	}{
		{"update event_sequence set seq = 99", healthy, false},
		{"update event_sequence set seq = 1000", healthy, false},
		{"update event_sequence set seq = 98", broken, false},
		{"update event_sequence set seq = -3", broken, false},
		{"update event_sequence set seq = -1000", latent, false},
		{"update event_sequence set seq = 'x'", healthy, false},
		{"update event_sequence set seq = '-'", broken, false},
		{"update event_sequence set seq = x''", broken, false},
		{"update event_sequence set seq = 50.5", healthy, false},
		{"update event_sequence set seq = 9e999", broken, false},
		{"update event_sequence set seq = 9007199254740993", broken, false},
		{"update event_sequence set seq = 9007199254740900", latent, false},
		{"update event_sequence set seq = -9007199254740993", healthy, false},
		{"update event_sequence set owner_id = x'00'", healthy, false},
		{"update event_sequence set aggregate_id = cast(aggregate_id as blob)", broken, false},
		{"delete from event_sequence", broken, false},
		{"delete from event", healthy, false},
		{"delete from event; delete from event_sequence", healthy, false},
		{"delete from event; update event_sequence set seq = 9e999", broken, false},
		{"insert into event select 'evt_x', aggregate_id, 113, '', '' from event_sequence", broken, false},
		{"insert into event select 'evt_x', aggregate_id, 115, '', '' from event_sequence", latent, false},
		{"insert into event select 'evt_x', aggregate_id, 9007199254740993, '', '' from event_sequence", healthy, false},
		{"insert into event select 'evt_x', aggregate_id, 'x', '', '' from event_sequence", healthy, false},
		{"insert into event select 'evt_x', 'ses_x', 100, '', '' from event_sequence", healthy, false},
		{"update event set seq = seq + 9007199254740993; update event_sequence set seq = 9007199254741092", broken, true},
		{"drop index event_aggregate_seq_idx; delete from event_sequence", healthy, false},
	} {
		cell := damage.Cell{Column: "title", Value: "title; " + c.do}
		st.exec("delete from event; delete from event_sequence; insert into event select * from event_whole; insert into event_sequence select * from counter_whole")
		s := st.with(cell)
		o := Options{Now: fixtureTime, Version: "1.18.33"}
		ds := diagnosed(s, o)
		var got repair.Severity
		if len(ds) > 0 {
			got = ds[0].Severity
		}
		if got != c.severity {
			t.Errorf("%s: Diagnose = %s, want %v", c.do, summary(ds), c.severity)
		}
		if old := diagnosed(s, Options{Now: fixtureTime, Version: "1.2.27"}); len(old) > 0 {
			t.Errorf("%s: Diagnose for 1.2.27 = %s", c.do, summary(old))
		}
		if got == healthy {
			continue
		}
		r, err := Plan(s, Request{Options: o, Latent: true})
		if c.unfixable {
			if len(r.Remaining) != 1 || !strings.Contains(r.Remaining[0].WhyNot, "fork") {
				t.Errorf("%s: Plan = %+v, %v, want none", c.do, r, err)
			}
			continue
		}
		if err != nil || len(r.Plan.Ops) != 1 || r.Plan.Ops[0].Ref.Kind != change.KindEvents || len(r.Remaining) > 0 {
			t.Errorf("%s: Plan = %v, %v; left: %s", c.do, r.Plan.Ops, err, summary(r.Remaining))
			continue
		}
		if err := st.applied(damage.Cell{Column: "title", Value: "title"}, r.Plan.Ops); err != nil {
			t.Errorf("%s: %v", c.do, err)
		}
		if again := st.load(s.ID).Events; !reflect.DeepEqual(again, s.Events) {
			t.Errorf("%s: after undo %+v, want %+v", c.do, again, s.Events)
		}
	}
}
