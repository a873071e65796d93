package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"mend/agent/opencode/record"
	"mend/internal/damage"
	"mend/repair"
	"mend/session"
	"mend/testdata"
)

// Messages are in the order that SQLite has them in, whatever the storage class of
// their times is; times that are no numbers become what they were.
func TestTimesOfEveryClass(t *testing.T) {
	st := newRowStore(t, testdata.OpenCode11833)
	healthy := idsOf(st.session)
	var cut strings.Builder
	cut.WriteString("title")
	for i, v := range []string{"'b'", "x'00'", "time_created + 0.5", "'12x'", "x'ff'", "''"} {
		fmt.Fprintf(&cut, "; update message set time_created = %s where id = '%s'", v, healthy[i+2])
	}
	s := st.with(damage.Cell{Column: "title", Value: cut.String()})
	bySQL := idsOf(s)
	if slices.Equal(bySQL, healthy) {
		t.Fatal("the order did not change")
	}
	mixed := s.Clone()
	slices.Reverse(mixed.Messages)
	mixed.Sort()
	if got := idsOf(mixed); !slices.Equal(got, bySQL) {
		t.Errorf("Sort = %v, SQLite has %v", got, bySQL)
	}
	o := Options{Now: fixtureTime, Version: "1.18.33"}
	r, err := Plan(s, Request{Options: o, Latent: true})
	if err != nil || len(r.Remaining) > 0 || !slices.Equal(idsOf(r.After), healthy) || len(r.Plan.Ops) != 5 {
		t.Errorf("Plan has %d ops, want the 5 rows whose times are no numbers; left %s, order %v, %v", len(r.Plan.Ops), summary(r.Remaining), idsOf(r.After), err)
	}
}

func idsOf(s *record.Session) (ids []string) {
	for i := range s.Messages {
		ids = append(ids, s.Messages[i].ID)
	}
	return ids
}

// Of the session's file 1.1.53 needs nothing but the object with its times.
func TestSessionFile(t *testing.T) {
	for data, broken := range map[string]bool{
		`{"id":"ses_1","time":{}}`: false, `{"time":{}}`: false, `{"id":5,"time":[]}`: false, "\ufeff{\"time\":{}}": false,
		`{"id":"ses_1"}`: true, `{"time":null}`: true, `{"time":"x"}`: true, `{"time":5}`: true,
	} {
		s := fixture(t)
		s.Info = session.Record{Ref: session.Ref{Kind: session.KindSession, Project: "global", Session: s.ID}, Data: []byte(data), Mode: 0o644}
		o := Options{Now: fixtureTime, Version: "1.1.53"}
		ds := diagnosed(s, o)
		if got := len(ds) > 0 && ds[0].Severity == repair.Broken; got != broken {
			t.Errorf("%s: Diagnose = %s, want broken: %t", data, summary(ds), broken)
		}
		if r, err := Plan(s, Request{Options: o}); err != nil || len(r.Remaining) > 0 || len(r.Plan.Ops) > 0 != broken {
			t.Errorf("%s: Plan = %v, %v; left %s", data, r.Plan.Ops, err, summary(r.Remaining))
		}
	}
}

// TestEarlyAnswer checks answers that are dated before the first prompt: the time in the record,
// or else that in its id, moves them to their place again (found fault 13.10).
func TestEarlyAnswer(t *testing.T) {
	for version, name := range damage.Versions[1:] {
		for _, c := range []struct {
			at     int
			column string // of the row
			inside any    // the time in the record; nil for the former
		}{
			{4, "-time_created", nil},
			{9, "-time_created", nil},
			{4, "-1", nil},
			{4, "0", nil},
			{7, "1", nil},
			{4, "1", 1},
			{7, "1500", 1500},
			{4, "-1", -1},
		} {
			t.Run(fmt.Sprint(name, c), func(t *testing.T) {
				healthy := idsOf(unpack(t, version+1, func(damage.Store) {}).load())
				before := map[string]any{}
				s := unpack(t, version+1, func(s damage.Store) {
					messages, _ := s.Records()
					m := messages[c.at]
					s.Put(m.Edit(func(f map[string]any) {
						times := f["time"].(map[string]any)
						maps.Copy(before, times)
						if c.inside != nil {
							times["created"] = c.inside
						}
					}))
					s.(damage.Database).SQL("update message set time_created = "+c.column+" where id = ?", m.ID)
				}).load()
				o := Options{Now: fixtureTime, Version: name, Missing: missing}
				r, err := Plan(s, Request{Options: o})
				if err != nil || len(r.Remaining) > 0 || len(r.Plan.Ops) != 1 || !slices.Equal(idsOf(r.After), healthy) {
					t.Fatalf("Plan has %d ops, want 1; left %s, order %v, want %v; %v", len(r.Plan.Ops), summary(r.Remaining), idsOf(r.After), healthy, err)
				}
				if got, want := r.After.Messages[c.at].Completed, int64(before["completed"].(float64)); got != want {
					t.Errorf("completed at %d, want %d", got, want)
				}
			})
		}
	}
}
