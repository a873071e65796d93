package diagnose

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/change"
	"mend/internal/provider/anthropic"
	"mend/internal/test/damage"
	"mend/repair"
)

// Helpers of the tests of damaged and incomplete records.

// fromStore returns the fixture of a version, given by its number, as its store loads it after damage.
func fromStore(t *testing.T, version int, apply func(damage.Store)) *record.Session {
	t.Helper()
	return unpack(t, version, apply).load()
}

func unchanged(damage.Store) {}

type faultPlace struct{ code, message string }

// violationCounts counts and lists the findings of a session under some profiles, with thinking on and off.
func violationCounts(s *record.Session, profiles []render.Profile) (map[faultPlace]int, []finding) {
	counts, faults := map[faultPlace]int{}, map[[2]any]finding{}
	note := func(in map[faultPlace]int, code, text string, refs ...change.Ref) {
		f := finding{Code: code, Text: text}
		if len(refs) > 0 {
			f.Ref = refs[0]
		}
		in[faultPlace{code, f.Ref.Message}]++
		faults[[2]any{f.Ref, code + text}] = f
	}
	for _, p := range profiles {
		r := render.Render(s, render.Settings{Profile: p})
		for _, thinking := range []bool{true, false} {
			here := map[faultPlace]int{}
			for _, v := range render.Check(anthropic.Provider{}, r, thinking) {
				note(here, v.Rule, v.Message, v.Refs...)
			}
			for _, f := range render.Read(s).Screen(p) {
				note(here, render.FailureScreen, f.Why, f.Ref)
			}
			for k, n := range here {
				counts[k] = max(counts[k], n)
			}
		}
	}
	return counts, slices.Collect(maps.Values(faults))
}

// firstHolding returns the broken session after the first fix that leaves no finding that the healthy session does not
// have, nil if there is no such fix.
func firstHolding(t *testing.T, broken *record.Session, healthy map[faultPlace]int, fixes []repair.Fix, profiles []render.Profile) *record.Session {
	t.Helper()
	for _, f := range fixes {
		d := draftOf(broken)
		if err := f.Edit(d); err != nil {
			continue
		}
		d.arrange()
		counts, _ := violationCounts(d.s, profiles)
		worse := false
		for k, n := range counts {
			worse = worse || n > healthy[k]
		}
		if !worse {
			return d.s
		}
	}
	return nil
}

// truncated returns the session with one record cut after n bytes.
func truncated(s *record.Session, ref change.Ref, n int) *record.Session {
	c := s.Clone()
	for i := range c.Messages {
		m := &c.Messages[i]
		if m.Ref == ref {
			parts := m.Parts
			*m = record.NewMessage(withData(m.Record, m.Data[:n:n]))
			m.Parts = parts
		}
		for j := range m.Parts {
			if p := &m.Parts[j]; p.Ref == ref {
				*p = record.NewPart(withData(p.Record, p.Data[:n:n]))
			}
		}
	}
	c.Sort()
	return c
}

// partOutline returns the names of all members of a record.
func partOutline(s *record.Session, ref change.Ref) string {
	for r := range s.Records {
		if r.Ref == ref {
			return fmt.Sprint(paths(r.Data))
		}
	}
	return ""
}

// wantReadable checks that the record can be read and has its ids.
func wantReadable(t *testing.T, s *record.Session, ref change.Ref) {
	t.Helper()
	for r := range s.Records {
		if r.Ref == ref && r.Defect != nil {
			t.Errorf("%s has the defect %v: %s", ref, *r.Defect, r.Data)
		}
		if r.Ref == ref && !r.IsRow() && textAt(r.Data, "sessionID") != ref.Session {
			t.Errorf("%s has lost its session: %s", ref, r.Data)
		}
	}
}

// wantOthersUnchanged checks that no byte of another record changes.
func wantOthersUnchanged(t *testing.T, before, after *record.Session, but change.Ref) {
	t.Helper()
	now := map[change.Ref]string{}
	for r := range after.Records {
		now[r.Ref] = string(r.Data)
	}
	for i := range after.Messages {
		if len(after.Messages) == len(before.Messages) && after.Messages[i].Ref != before.Messages[i].Ref {
			t.Errorf("repairing %s moved %s", but, after.Messages[i].Ref)
		}
	}
	for r := range before.Records {
		if got, there := now[r.Ref]; r.Ref != but && (!there || got != string(r.Data)) {
			t.Errorf("repairing %s changed %s", but, r.Ref)
		}
	}
}

// to returns the damage that replaces the data of a record.
func to(data string) func(change.Record) change.Record {
	return func(r change.Record) change.Record { return damaged(r, data, 0) }
}

func damaged(r change.Record, data string, class change.Class) change.Record {
	r.Data, r.Class, r.Defect = []byte(data), class, nil
	return r
}

func fixesFor(s *record.Session, ref change.Ref) []repair.Fix {
	f := finding{Code: render.FailureUnreadable, Ref: ref, Text: "the text ends early"}
	return recordFixes(&simulation{s: s}, f)
}

// edited returns the session after a fix.
func edited(t *testing.T, s *record.Session, f repair.Fix) *record.Session {
	t.Helper()
	d := draftOf(s)
	if err := f.Edit(d); err != nil {
		t.Fatalf("%s: %v", f.Text, err)
	}
	d.arrange()
	return d.s
}

// replaced returns the session with another record under the same ref.
func replaced(s *record.Session, r change.Record) *record.Session {
	c := s.Clone()
	for i := range c.Messages {
		m := &c.Messages[i]
		if m.Ref == r.Ref {
			parts := m.Parts
			*m = record.NewMessage(r)
			m.Parts = parts
		}
		for j := range m.Parts {
			if m.Parts[j].Ref == r.Ref {
				m.Parts[j] = record.NewPart(r)
			}
		}
	}
	c.Sort()
	return c
}

// paths lists the paths of all members of an object and of the objects in it.
func paths(data []byte, above ...string) [][]string {
	var names map[string]json.RawMessage
	_ = json.Unmarshal(data, &names)
	var all [][]string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		raw, path := names[name], append(slices.Clone(above), name)
		all = append(append(all, path), paths(raw, path...)...)
	}
	return all
}
