package diagnose

import (
	"fmt"
	"testing"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/test/damage"
	"mend/repair"
	"mend/testdata"
)

// TestUnreadRow: a session with a row that cannot be read is broken, and has no fix.
func TestUnreadRow(t *testing.T) {
	for _, statement := range []string{
		"update message set time_created = 'b' where id = '%s'", "update message set time_created = x'00' where id = '%s'",
		"update message set time_created = time_created + 0.5 where id = '%s'", "update message set id = x'00' where id = '%s'",
		"update message set data = jsonb(data) where id = '%s'", "update part set id = '' where message_id = '%s' and id = (select max(id) from part where message_id = '%[1]s')",
	} {
		st := newRowStore(t, testdata.OpenCode11833)
		id := idsOf(st.session)[2]
		s := st.withCell(damage.Cell{Column: "title", Value: "title; " + fmt.Sprintf(statement, id)})
		o := Options{Now: now, Version: "1.18.33"}
		if ds := diagnosed(s, o); len(ds) == 0 || ds[0].Rule != "row" || ds[0].Severity != repair.Broken || ds[0].Fix != "" || ds[0].WhyNot == "" {
			t.Errorf("%s: Diagnose = %+v, want a broken row without a fix", statement, ds)
		}
		if r, err := Plan(s, Request{Options: o, Latent: true}); err != nil || len(r.Plan.Ops) > 0 {
			t.Errorf("%s: Plan has %d ops, %v", statement, len(r.Plan.Ops), err)
		}
	}
}

func idsOf(s *record.Session) (ids []string) {
	for i := range s.Messages {
		ids = append(ids, s.Messages[i].ID)
	}
	return ids
}

// TestSessionFile: 1.1.53 needs only the object with the times in the session's file.
func TestSessionFile(t *testing.T) {
	s := fixture(t)
	for data, broken := range map[string]bool{
		`{"id":"ses_1","time":{}}`: false, `{"time":{}}`: false, `{"id":5,"time":[]}`: false, "\ufeff{\"time\":{}}": false,
		`{"id":"ses_1"}`: true, `{"time":null}`: true,
	} {
		s.Info = change.Record{Ref: change.Ref{Kind: change.KindSession, Project: "global", Session: s.ID}, Data: []byte(data), Mode: 0o644}
		o := Options{Now: now, Version: "1.1.53"}
		ds := diagnosed(s, o)
		if got := len(ds) > 0 && ds[0].Severity == repair.Broken; got != broken {
			t.Errorf("%s: Diagnose = %s, want broken: %t", data, summary(ds), broken)
		}
		if r, err := Plan(s, Request{Options: o}); err != nil || len(r.Remaining) > 0 || len(r.Plan.Ops) > 0 != broken {
			t.Errorf("%s: Plan = %v, %v; left %s", data, r.Plan.Ops, err, summary(r.Remaining))
		}
	}
}
