package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/test/storetest"
	"mend/repair"
)

// pick draws a list of at most `most` parts.
func pick(t *rapid.T, label string, most int, parts ...string) []string {
	return rapid.SliceOfN(rapid.SampledFrom(parts), 0, most).Draw(t, label)
}

// callPart returns a call in one of callStates.
func callPart(id int, state string) string {
	return fmt.Sprintf(`"type":"tool","callID":"call_%d","tool":"bash","state":{%s}`, id, state)
}

var callStates = []string{
	`"status":"completed","input":{},"output":"y","title":"","metadata":{},"time":{"start":3,"end":4}`,
	`"status":"error","input":{},"error":"no","time":{"start":3,"end":4}`,
	`"status":"running","input":{"a":1},"time":{"start":3}`,
	`"status":"pending","input":{},"raw":""`,
}

// A generator makes random sessions, with damage if damages is set.
type generator struct {
	damages bool
	calls   int
}

func (g *generator) session(t *rapid.T) *record.Session {
	turns := []turn{g.prompt(t)}
	for range rapid.IntRange(1, 5).Draw(t, "turns") {
		if rapid.Bool().Draw(t, "prompt") {
			turns = append(turns, g.prompt(t))
		} else {
			turns = append(turns, g.answer(t))
		}
	}
	return build(turns...)
}

func (g *generator) prompt(t *rapid.T) turn {
	if !g.damages {
		return user(append(pick(t, "more", 1, file, hi), hi)...)
	}
	return user(pick(t, "prompt parts", 3, hi, file, blank, empty)...)
}

func (g *generator) answer(t *rapid.T) turn {
	var parts []string
	for i := range rapid.IntRange(1, 2).Draw(t, "steps") {
		parts = append(parts, g.step(t, i)...)
	}
	ends := []string{`"finish":"stop"`, `"finish":"tool-calls"`, `"finish":"length"`}
	if g.damages {
		ends = append(ends, `"agent":"x"`, `"error":{"name":"MessageAbortedError","data":{"message":"x"}}`, `"error":{"name":"APIError","data":{"message":"x","isRetryable":false}}`)
	}
	return turn{change.RoleAssistant, rapid.SampledFrom(ends).Draw(t, "end"), parts}
}

// step draws step i of an answer. A text never follows a call, in the same step or because a step-start is missing:
// that would be a finding of another class.
func (g *generator) step(t *rapid.T, i int) []string {
	step, between, states := []string{stepStart, signed, done}, []string{`"type":"patch","hash":"x","files":[]`}, callStates[:2]
	if g.damages {
		step = append(step[:rapid.IntRange(min(i, 1), 1).Draw(t, "start")], pick(t, "said", 4, signed, signed2, unsigned, hi, blank, empty)...)
		between, states = append(between, signed, unsigned, blank, empty), callStates
	}
	for range rapid.IntRange(0, 2).Draw(t, "calls") {
		g.calls++
		step = append(step, callPart(g.calls, rapid.SampledFrom(states).Draw(t, "state")))
		step = append(step, pick(t, "after", 2, between...)...)
	}
	if rapid.Bool().Draw(t, "finished") {
		step = append(step, stepFinish)
	}
	return step
}

func drawRequest(t *rapid.T) Request {
	r := Request{Options: Options{Now: now, Version: rapid.SampledFrom([]string{"", "1.0.100", "1.1.53"}).Draw(t, "version")}}
	r.Latent = rapid.Bool().Draw(t, "latent")
	if rapid.Bool().Draw(t, "by class") {
		r.Classes = rapid.SliceOfNDistinct(rapid.SampledFrom(Classes()), 1, 4, rapid.ID).Draw(t, "classes")
	}
	return r
}

// TestHealthyHasEmptyPlan: a healthy session has no findings and an empty plan.
func TestHealthyHasEmptyPlan(t *testing.T) {
	storetest.SampleChecks(t, "30")
	rapid.Check(t, func(t *rapid.T) {
		s := (&generator{}).session(t)
		if ds := diagnosed(s, Options{Now: now}); len(ds) > 0 {
			t.Fatalf("Diagnose of a healthy session = %s\n%s", summary(ds), records(s))
		}
		r, err := Plan(s, Request{Options: Options{Now: now}, Latent: true})
		if err != nil || len(r.Plan.Ops) > 0 || r.After != s {
			t.Fatalf("Plan of a healthy session: %v, %v", r.Plan.Ops, err)
		}
	})
}

// TestPlanProperties: a plan of any session does not change its input, has an empty second plan, fixes the findings
// that it reports as fixed, changes only records that findings name, and forges no thinking. Its ops apply, and so does
// their inverse.
func TestPlanProperties(t *testing.T) {
	storetest.SampleChecks(t, "30")
	rapid.Check(t, func(t *rapid.T) {
		s := (&generator{damages: true}).session(t)
		if rapid.IntRange(0, 4).Draw(t, "truncate") == 0 {
			truncate(t, s)
		}
		before := records(s)
		req := drawRequest(t)
		found := repair.Diagnose(caseOf(s, req.Options, false, req.Classes...))
		r, err := Plan(s, req)
		if err != nil {
			t.Fatalf("Plan: %v", err)
		}
		if records(s) != before {
			t.Fatalf("Plan changed its input")
		}
		again, err := Plan(r.After, req)
		if err != nil || len(again.Plan.Ops) > 0 {
			t.Fatalf("the second plan: %v, %v\nafter\n%s", again.Plan.Ops, err, records(r.After))
		}
		if slices.ContainsFunc(r.Fixed, func(d repair.Diagnosis) bool {
			return slices.ContainsFunc(r.Remaining, func(l repair.Diagnosis) bool { return l.Same(d) })
		}) {
			t.Fatalf("fixed %s, left %s\n%s", summary(r.Fixed), summary(r.Remaining), records(s))
		}
		wantOnlyNamedChanges(t, s, found, r)
		wantNoForgedThinking(t, s, r.After)
		wantOpsApply(t, s, r)
	})
}

func truncate(t *rapid.T, s *record.Session) {
	m := &s.Messages[rapid.IntRange(0, len(s.Messages)-1).Draw(t, "message")]
	if len(m.Parts) > 0 {
		p := &m.Parts[rapid.IntRange(0, len(m.Parts)-1).Draw(t, "part")]
		rec := p.Record
		rec.Data = rec.Data[:rapid.IntRange(0, len(rec.Data)-1).Draw(t, "bytes")]
		*p = record.NewPart(rec)
	}
}

// wantOnlyNamedChanges checks that each changed or removed record is the record of a finding, or a part of a message
// that a finding is about. A new record is in such a message, or the fix of a loop or of a lost prompt inserts it. A
// fix that changes another record than the finding's names it: thinking that moves to the front of its step in a loop,
// and the prompt without content before an answer that has lost its prompt.
func wantOnlyNamedChanges(t *rapid.T, s *record.Session, found []repair.Diagnosis, r Result) {
	for _, o := range r.Plan.Ops {
		about := func(d repair.Diagnosis) bool {
			whole := d.Ref.Kind == change.KindMessage || o.Pre == nil
			if o.Pre == nil && (d.Rule == "R3" || d.Rule == "R4" || d.Rule == "R16") {
				return true // the end of a loop, or a prompt before the answer
			}
			return d.Ref == o.Ref || whole && d.Ref.Message == o.Ref.Message
		}
		named := func(d repair.Diagnosis) bool {
			if d.Rule == "R3" {
				return d.Ref.Message == o.Ref.Message && strings.Contains(d.Fix, "The thinking "+o.Ref.Part+" moves")
			}
			return d.Rule == "R16" && strings.Contains(d.Fix, o.Ref.Message) && !slices.ContainsFunc(s.Message(o.Ref.Message).Parts, hasPrompt)
		}
		if !slices.ContainsFunc(append(found, r.Fixed...), about) && !slices.ContainsFunc(r.Fixed, named) {
			t.Fatalf("the plan will %s %s, which no finding is about: %s; fixed %s\n%s", o.Verb(), o.Ref, summary(found), summary(r.Fixed), records(s))
		}
	}
}

// wantNoForgedThinking checks that every thinking part existed before, apart from its id.
func wantNoForgedThinking(t *rapid.T, before, after *record.Session) {
	previous := map[string]bool{}
	strip := func(p record.Part) string {
		return strings.Replace(string(p.Data), string(jsonedit.Quote(p.ID)), "", 1)
	}
	for _, m := range before.Messages {
		for _, p := range m.Parts {
			previous[strip(p)] = true
		}
	}
	for _, m := range after.Messages {
		for _, p := range m.Parts {
			if p.IsThinking() && !previous[strip(p)] {
				t.Fatalf("the plan adds thinking: %s", p.Data)
			}
		}
	}
}

// TestRepairedIsAccepted: the strict endpoint accepts a session without broken findings, and a repaired one. The
// request is rendered by [endpointRequest], for versions that do not move calls.
func TestRepairedIsAccepted(t *testing.T) {
	storetest.SampleChecks(t, "20")
	rapid.Check(t, func(t *rapid.T) {
		s := (&generator{damages: true}).session(t)
		s.Messages = append(s.Messages, buildMessage(len(s.Messages)+1, user(hi))) // no open loop
		ds := diagnosed(s, Options{Now: now, Version: "1.1.53"})
		broken := slices.ContainsFunc(ds, func(d repair.Diagnosis) bool { return d.Severity == repair.Broken })
		if rules := refusedRules(s); len(rules) > 0 && !broken {
			t.Fatalf("refused by %v, found %q\n%s", rules, summary(ds), records(s))
		}
		for _, latent := range []bool{false, true} {
			r, err := Plan(s, Request{Options: Options{Now: now, Version: "1.1.53"}, Latent: latent})
			if err != nil {
				t.Fatalf("Plan: %v", err)
			}
			if rules := refusedRules(r.After); len(rules) > 0 {
				t.Fatalf("refused by %v after the repair, left %q\nbefore\n%s\nafter\n%s", rules, summary(r.Remaining), records(s), records(r.After))
			}
			if len(r.Unfixable) > 0 {
				t.Fatalf("not fixed: %s\n%s", summary(r.Unfixable), records(s))
			}
		}
	})
}

// hasPrompt reports whether a part is content of a prompt.
func hasPrompt(p record.Part) bool {
	return p.Sent() || p.Type == record.TypeFile || p.Type == "compaction" || p.Type == "subtask"
}
