package diagnose

import (
	"strings"
	"testing"

	"mend/agent/opencode/render"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/provider/anthropic"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/repair"
)

// TestNothingIsInvented: if no record of the session has a value, the value is left out. mend invents no name.
func TestNothingIsInvented(t *testing.T) {
	apply := func(s damage.Store) {
		messages, _ := s.Records()
		for _, m := range messages {
			m.Data = ""
			s.Put(m)
		}
	}
	for i, version := range damage.Versions {
		s := unpack(t, i, apply).load()
		for _, name := range []string{"model", "agent"} { // the session's row has no value either
			s.Info = s.Info.WithCol(change.Col{Name: name, Class: change.ClassNull})
		}
		r, err := Plan(s, Request{Options: Options{Now: now, Version: version}})
		if err != nil || len(r.After.Messages) != len(s.Messages) || verdict(r.Remaining) != damage.Alive {
			t.Fatalf("%s: %d messages are left of %d, %s, %v", version, len(r.After.Messages), len(s.Messages), summary(r.Remaining), err)
		}
		for _, m := range r.After.Messages {
			for _, word := range []string{`"unknown"`, `"build"`, `"/"`, `"modelID"`, `"providerID"`} {
				if strings.Contains(string(m.Data), word) {
					t.Errorf("%s: %s is in %s", version, word, m.Data)
				}
			}
			if m.Parent == m.ID {
				t.Errorf("%s: an answer to itself: %s", version, m.Data)
			}
		}
	}
}

// TestModelComesFromOneRecord: a model has two names, and both come from the same record.
func TestModelComesFromOneRecord(t *testing.T) {
	s := build(user(hi), answer(hi), user(hi))
	m := &s.Messages[0]
	for raw, want := range map[string]string{
		`{"providerID":"anthropic"}`: `{"providerID":"anthropic","modelID":"claude-x"}`,
		`{"providerID":"other"}`:     "",
		`{"modelID":"other"}`:        "",
		`null`:                       `{"providerID":"anthropic","modelID":"claude-x"}`,
	} {
		data, err := jsonedit.Set(m.Data, []byte(raw), "model")
		if err != nil {
			t.Fatal(err)
		}
		broken := replaced(s, withData(m.Record, data))
		fixes := recordFixes(&simulation{s: broken}, finding{Code: render.FailureField, Ref: m.Ref})
		var got []byte
		if len(fixes) > 0 {
			got, _ = jsonedit.Get(edited(t, broken, fixes[0]).Messages[0].Data, "model")
		}
		if string(got) != want {
			t.Errorf("the model %s becomes %s, want %q", raw, got, want)
		}
	}
}

// TestSeverityInVersionInUse: a finding is broken exactly if the request of the version in use has it. A plain run has
// each kind of damage in the store of one version.
func TestSeverityInVersionInUse(t *testing.T) {
	for i := range damage.Versions {
		for n, w := range damage.Table {
			ofModel := strings.Contains(w.Name, "model") || strings.Contains(w.Name, "provider")
			if !storetest.AllCases() && (n%len(damage.Versions) != i || !ofModel && !damage.Everyday(w.Name)) {
				continue
			}
			s := unpack(t, i, w.Apply).load()
			for _, version := range damage.Versions {
				p := render.ProfileFor(version)
				o := Options{Now: now, Version: version, Missing: missing}
				request := render.Render(s, render.Settings{Profile: p, Now: now, Missing: missing})
				type key struct {
					code string
					ref  change.Ref
				}
				broken := map[key]bool{}
				for _, v := range render.Check(anthropic.Provider{}, request, LikelyThinks(s, render.Target{})) {
					broken[key{v.Rule, firstRef(v.Refs)}] = true
				}
				for _, f := range caseOf(s, o, false).Findings().All() {
					if simulated := isRule(f.Code) || strings.Contains("unreadable field media clock", f.Code); simulated && (f.Severity == repair.Broken) != broken[key{f.Code, f.Ref}] {
						t.Errorf("%s of %s on %s: %s %s is %s, and the request of that version has it: %v", w.Name, damage.Versions[i], version, f.Code, f.Ref, f.Severity, broken[key{f.Code, f.Ref}])
					}
				}
			}
		}
	}
}
