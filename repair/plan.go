package repair

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/request"
)

// A Request selects the findings of a session to fix: all broken ones, with Latent also latent ones; with Classes all
// findings of these classes. With Error it first selects the findings that the error is about: everywhere with All,
// otherwise at the place that the error names, if any.
type Request struct {
	Options
	Latent  bool
	Classes []Class
	Error   *APIError
	All     bool    // with Error: all of its kind, even if only the provider can know which record is affected
	Except  []Class // not fixed, unless Error is about them
	Force   bool    // even if the agent is working in the session
	// Restore means that the agent should list the session again. Only findings of the class [HiddenSession] are fixed
	// then. An agent may have fixes that it offers only with Restore, such as for an archived session.
	Restore bool
	// Unattended means that the user cannot be asked: only findings with the tier [Auto] are fixed.
	Unattended bool
	// SetAside means that findings without a fix that holds are set aside: their content is removed from the session. It
	// excludes Unattended.
	SetAside bool

	// Changes are applied to the records before the case is read. An agent may ignore them if its models do not bind
	// thinking.
	Changes []change.Op
	Gone    bool // the store does not have the session: Changes create its records

	Placeholder string // the text in place of missing content; blank for the agent's default
	Cancelled   string // the error of a call that never ended; blank for the agent's default
}

// A Result is a plan with its effects.
type Result struct {
	Plan      change.Plan // without ops if there is nothing to fix, or no fix holds
	After     *Case       // the session after the plan
	Fixed     []Diagnosis // removed by the plan
	Remaining []Diagnosis // the findings of After, whether requested or not
	Unfixable []Diagnosis // requested, but without a fix that holds; also in Remaining
	// Suspects are remaining findings of the error's kind, which may be its cause.
	Suspects        []Diagnosis
	All             bool    // Request.All, for an error
	Proof           []Proof // for each setting, the rules that After breaks
	UnknownProvider string  // see [Case]
	// SentBefore and SentAfter count the stored blocks of the next request without and with the plan. Added counts the
	// blocks that only the plan brings into the request; 0 if the agent makes no request without the plan.
	SentBefore, SentAfter, Added int
	LeftOut                      []string // the content set aside: a number for each kind, with names
}

// An AskError means that a session may be repaired only after the user agrees.
type AskError struct{ Session, Why string }

func (e *AskError) Error() string {
	return fmt.Sprintf("%s; \"mend fix %s\" shows the repair and asks", e.Why, e.Session)
}

// ErrBusy means that the agent is working in the session.
var ErrBusy error = fail.New(fail.Refused, "wait until the agent is done, or end it; --force overrides",
	"the agent is using this session")

// Plan makes the smallest plan that fixes the requested findings in the session. Each of its fixes was tried on a copy
// and proved under every setting: its finding is gone and there is no new finding, see the package. The plan of a
// healthy session has no ops. A second plan after the first has no ops either, unless it has an Error. Only records
// that a diagnosis or its fix names are changed.
//
// The error wraps [ErrBusy] if the session is busy and Force is not set.
func Plan(id string, c *Case, req Request) (Result, error) {
	if why := c.Busy; why != "" && !req.Force {
		return Result{}, fmt.Errorf("planning for %s: %w: %s", id, ErrBusy, why)
	}
	originals := originalRefs{}
	t, fixed, failed, out := repeatUntilStable(c, originals, req)
	r := Result{After: t.c, LeftOut: out.words(), Fixed: dedupe(fixed), Unfixable: dedupe(failed)}
	var bound *change.BoundThinking
	if t.c != c {
		var err error
		if r.After, bound, err = removeSpoiled(c, t.c, req.Unattended); err != nil {
			return Result{}, fmt.Errorf("planning for %s: %w", id, err)
		}
	}
	r.Remaining = diagnose(r.After, originals)
	if req.Error != nil {
		r.Suspects, r.All = suspects(r.After, originals, *req.Error), req.All
	}
	r.Proof, r.UnknownProvider = prove(r.After), r.After.UnknownProvider()
	r.Plan = change.Plan{
		Session: id, Cause: req.cause(r.Fixed), Force: req.Force, Ops: change.Diff(c.Records, r.After.Records),
	}
	r.Plan.Cause.Bound = bound
	if len(r.Plan.Ops) > 0 {
		r.compareRequests(c, originals, req.Error != nil)
	}
	return r, nil
}

// compareRequests counts the blocks of the next request before and after the plan. A block counts as added if the
// request before has no block of its record and no block with its content, since records may move. If the request
// before is refused, according to mend or an error, blocks of messages that the plan completes or creates do not count.
// If the agent makes no request, no block counts.
func (r *Result) compareRequests(c *Case, originals originalRefs, hasError bool) {
	before, refused := sentBlocks(c)
	after, _ := sentBlocks(r.After)
	r.SentBefore, r.SentAfter = len(before), len(after)
	sent, completed, contents := map[change.Ref]bool{}, map[string]bool{}, map[[sha256.Size]byte]int{}
	for _, b := range before {
		sent[b.Ref()] = true
	}
	for _, op := range r.Plan.Ops {
		completed[op.Ref.Message] = op.Ref.Message != "" && (hasError || len(refused) > 0)
	}
	after = slices.DeleteFunc(after, func(b *request.Block) bool {
		return sent[originals.first(b.Ref())] || completed[b.Ref().Message]
	})
	if len(after) == 0 || slices.ContainsFunc(refused, func(v request.Violation) bool { return v.N < 0 }) {
		return
	}
	for _, b := range before {
		contents[contentOf(b)]++
	}
	for _, b := range after {
		content := contentOf(b)
		if contents[content]--; contents[content] < 0 {
			r.Added++
		}
	}
}

// sentBlocks returns the stored blocks of the agent's current request, and its violations.
func sentBlocks(c *Case) (all []*request.Block, refused []request.Violation) {
	q, refused := c.Current()
	for b := range q.Whole().Blocks {
		if b.Source != nil {
			all = append(all, b)
		}
	}
	return all, refused
}

func (r *Request) cause(fixed []Diagnosis) change.Cause {
	c := change.Cause{Kind: change.CauseScan}
	if r.Restore {
		c.Kind = change.CauseRestore
	}
	if r.Error != nil {
		c.Kind, c.Text = change.CauseError, r.Error.Text
		c.Error = &change.Failure{Status: r.Error.Status(), RequestID: r.Error.RequestID()}
		if r.Error.Whole != r.Error.Text {
			c.Error.Whole = r.Error.Whole
		}
	}
	at := map[change.Finding]int{} // indexes in the cause's findings, by finding without Count
	for _, d := range fixed {
		f := change.Finding{Rule: d.Rule, Class: string(d.Class), Why: d.Why, Fix: d.Fix, Loses: d.Loses}
		alike := change.Finding{Rule: f.Rule, Class: f.Class, Fix: f.Fix, Loses: f.Loses} // all but Why
		i, ok := at[f]
		if !ok && len(c.Findings) >= maxCauses {
			i, ok = at[alike]
		}
		if !ok {
			i = len(c.Findings)
			at[f], at[alike] = i, i
			c.Findings = append(c.Findings, f)
			c.Diagnoses = append(c.Diagnoses, d.Why+" "+d.Fix)
		}
		c.Findings[i].Count++
	}
	return c
}

// maxCauses is how many findings that differ only in Why are listed as causes. The others are counted with the last one
// that has the same fix.
const maxCauses = 1000

// maxPasses is far more than any session needs: each pass fixes the findings that the previous one uncovered.
const maxPasses = 8

// repeatUntilStable repeats the request until nothing changes. It returns the last search, the fixed findings and
// those without a fix. A repaired session may be sent differently, such as with thinking, and then have other
// findings. An error names one place in one request, so the first pass fixes it, and later passes fix all broken
// findings.
func repeatUntilStable(c *Case, originals originalRefs, req Request) (t *search, fixed, failed []Diagnosis, out asideItems) {
	rest := req
	rest.Error = nil
	t = fixRequested(c, originals, req)
	fixed, out = t.fixed, t.leftOut
	if req.Error != nil {
		failed = t.failed
	}
	for i := range maxPasses {
		if !t.changed && (i > 0 || req.Error == nil) {
			break
		}
		t = fixRequested(t.c.Reset(), originals, rest)
		fixed, out = append(fixed, t.fixed...), append(out, t.leftOut...)
	}
	gone := map[key]bool{}
	for _, d := range fixed {
		gone[d.finding] = true
	}
	failed = slices.DeleteFunc(append(failed, t.failed...), func(d Diagnosis) bool { return gone[d.finding] })
	left := map[key]bool{} // another fix may have caused a finding again
	for _, f := range t.findings.list {
		left[f.keyAt(originals.first(f.Ref))] = true
	}
	return t, slices.DeleteFunc(fixed, func(d Diagnosis) bool { return left[d.finding] }), failed, out
}

func fixRequested(c *Case, originals originalRefs, req Request) *search {
	switch {
	case req.Error != nil:
		return fixError(c, originals, req)
	case req.Restore:
		return req.search(c, originals, func(f Finding) bool { return f.Class == HiddenSession })
	case len(req.Classes) > 0:
		return req.search(c, originals, func(f Finding) bool { return slices.Contains(req.Classes, f.Class) })
	}
	return req.search(c, originals, func(f Finding) bool {
		return (f.Severity == Broken || req.Latent && f.Severity == Latent) && !slices.Contains(req.Except, f.Class)
	})
}

// search fixes the wanted findings, and sets the rest aside if requested.
func (r *Request) search(c *Case, originals originalRefs, w filter) *search {
	t := newSearch(c, originals, w, r.Unattended)
	if r.SetAside && !r.Unattended && len(t.failed) > 0 {
		t = t.setAside()
	}
	return t
}

// fixError fixes the findings of the API error's kind: those at the record that the error names, or all of them if All
// is set or that record has none.
func fixError(c *Case, originals originalRefs, req Request) *search {
	e := *req.Error
	c = c.WithError(e)
	kind := sameKind(c, e)
	found := slices.DeleteFunc(slices.Clone(c.Findings().list), func(f Finding) bool { return !kind(f) })
	if selects, only := locate(c, e, found); selects != nil && !req.All {
		named := map[key]bool{} // by key, because fixes may change the places of other findings
		for _, f := range found {
			named[f.key()] = selects(f)
		}
		t := req.search(c, originals, func(f Finding) bool { return named[f.keyAt(originals.first(f.Ref))] })
		if len(t.fixed) > 0 || only {
			return t
		}
	}
	return req.search(c, originals, kind)
}

// sameKind selects the findings of the error's rule; if there are none, those of its class.
func sameKind(c *Case, e APIError) filter {
	exact := func(f Finding) bool { return e.Rule != "" && f.Code == e.Rule }
	if slices.ContainsFunc(c.Findings().list, exact) {
		return exact
	}
	return func(f Finding) bool { return e.Class != "" && f.Class == e.Class }
}

// suspects returns the findings of the error's kind, which may be its cause.
func suspects(c *Case, originals originalRefs, e APIError) (ds []Diagnosis) {
	c = c.WithError(e)
	for _, f := range c.Findings().All() {
		if f.Class != e.Class || !engineRules()[f.Code].Asked {
			continue
		}
		d := describe(c, originals, f)
		d.WhyNot = ""
		ds = append(ds, d)
	}
	return dedupe(ds)
}
