package diagnose

import (
	"slices"
	"testing"
	"time"

	"mend/agent/opencode/record"
	"mend/internal/jsonedit"
	"mend/internal/test/endpoint"
	"mend/repair"
)

// fixture returns the session that the real OpenCode 1.1.53 wrote: four prompts, six answers, healthy.
func fixture(t *testing.T) *record.Session {
	t.Helper()
	return fromStore(t, 0, unchanged)
}

// TestFixtureIsHealthy: the session that the real program wrote has no findings, and the strict endpoint accepts it.
// All its thinking can be removed.
func TestFixtureIsHealthy(t *testing.T) {
	s := fixture(t)
	o := Options{Now: now, Held: time.Unix(0, 0), Version: "1.1.53"}
	if len(s.Messages) != 10 {
		t.Fatalf("the fixture has %d messages", len(s.Messages))
	}
	if ds := diagnosed(s, o); len(ds) > 0 {
		t.Errorf("Diagnose = %s", summary(ds))
	}
	for _, c := range []repair.Class{repair.ToolResultMissing, repair.ThinkingBlockOrder, repair.EmptyContentMessage} {
		if r, err := Plan(s, Request{Options: o, Classes: []repair.Class{c}}); err != nil || len(r.Plan.Ops) > 0 {
			t.Errorf("Plan for %s: %v, %v", c, r.Plan.Ops, err)
		}
	}
	if vs := endpoint.Violations(endpointRequest(s)); len(vs) > 0 {
		t.Errorf("the endpoint refuses it: %v", vs)
	}
	r, err := Plan(s, Request{Options: o, Classes: []repair.Class{repair.ThinkingDisabledViolation}})
	if err != nil || len(r.Plan.Ops) != 6 || len(r.Unfixable) > 0 || slices.ContainsFunc(r.After.Messages, func(m record.Message) bool { return m.HasThinking() }) {
		t.Errorf("stripping changes %d records of 6, leaves %s, %v", len(r.Plan.Ops), summary(r.Unfixable), err)
	}
}

// TestFixtureDamages: the strict endpoint refuses each damaged session by the rule of docs/opencode.md, and accepts the
// session after the repair.
func TestFixtureDamages(t *testing.T) {
	const oneCall, prompt, hello, goodbye = 1, 3, 4, 9
	first := func(m *record.Message, kind string) *record.Part {
		for i := range m.Parts {
			if m.Parts[i].Type == kind {
				return &m.Parts[i]
			}
		}
		return nil
	}
	text := func(n int, text string) func(*record.Session) error {
		return func(s *record.Session) error { return first(&s.Messages[n], "text").Set(jsonedit.Quote(text), "text") }
	}
	addAfter := func(n int, kind string) func(*record.Session) error {
		return func(s *record.Session) error {
			m := &s.Messages[n]
			p := first(m, record.TypeReasoning)
			to := p.Ref
			to.Part = first(m, kind).ID + "z"
			r, err := record.Move(&p.Record, to)
			m.Remove(p.Ref)
			m.Insert(record.NewPart(r))
			return err
		}
	}
	drop := func(n int) func(*record.Session) error {
		return func(s *record.Session) error {
			s.Messages[n].Remove(first(&s.Messages[n], "text").Ref)
			return nil
		}
	}
	healthy := fixture(t)
	for _, c := range []struct {
		name string
		edit func(*record.Session) error
		rule string
		ops  int
	}{
		{"reasoning after tool", addAfter(oneCall, record.TypeTool), "R1", 2},
		{"reasoning last", addAfter(hello, record.TypeText), "R10", 2},
		{"empty answer", text(hello, ""), "R10", 1},
		{"blank answer", text(hello, " \n"), "R11", 1},
		{"blank text beside tool", text(oneCall, " \n"), "R11", 1},
		{"blank prompt", text(prompt, " \n"), "R11", 1},
		{"answer of reasoning only", drop(hello), "R10", 1},
		{"last answer of reasoning only", drop(goodbye), "R10", 1},
		{"first prompt lost its parts", func(s *record.Session) error { s.Messages[0].Parts = nil; return nil }, "R16", 1},
	} {
		s := healthy.Clone()
		if err := c.edit(s); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if rule, _ := endpoint.Check(endpointRequest(s)); rule != c.rule {
			t.Errorf("%s: refused by %q, want %q", c.name, rule, c.rule)
		}
		r, err := Plan(s, Request{Options: Options{Now: now, Version: "1.1.53"}})
		if err != nil || len(r.Plan.Ops) != c.ops || len(r.Remaining) > 0 {
			t.Errorf("%s: Plan has %d ops, want %d; left %s, %v", c.name, len(r.Plan.Ops), c.ops, summary(r.Remaining), err)
		}
		if rule, why := endpoint.Check(endpointRequest(r.After)); rule != "" {
			t.Errorf("%s: refused after the repair: %s %s", c.name, rule, why)
		}
	}
}
