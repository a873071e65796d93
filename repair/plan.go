package repair

import (
	"errors"
	"fmt"
	"slices"

	"mend/change"
	"mend/session"
)

// A Request says what of a session shall be cured: all that is broken, or with
// Latent also what is latent; or with Classes all faults of these. With Error it is
// first what the error is about, at the place that it names if something is there,
// or with All everywhere.
type Request struct {
	Options
	Latent  bool
	Classes []Class
	Error   *APIError
	All     bool    // with Error: all of its kind, also where only the provider can tell what is at fault
	Except  []Class // left alone, unless Error is about them
	Force   bool    // although the agent is at work in the session
	// LeaveFiles keeps files that lie beside the records where they are: they are the
	// user's own, and nobody can be asked.
	LeaveFiles bool

	Placeholder string // stands where content is missing; blank: "[user interrupted]"
	Cancelled   string // the error of a call that never ended; blank: "Operation cancelled by user (ESC pressed)"
}

// A Result is a plan and what it does.
type Result struct {
	Plan      change.Plan      // without ops if there is nothing to cure, or nothing that can be
	After     *session.Session // the session as the plan leaves it
	Cured     []Diagnosis      // gone by the plan
	Remaining []Diagnosis      // what is wrong with After, asked for or not
	Uncurable []Diagnosis      // what was asked for and has no cure that holds; also in Remaining
	Suspects  []Diagnosis      // what is left of the kind of the error, where only the provider can tell whether it is at fault
	All       bool             // Request.All, for an error
}

// ErrBusy says that the agent is at work in the session.
var ErrBusy = errors.New("the agent is at work in this session")

// Plan makes the smallest plan that cures what is asked for. Every cure in it
// was tried on a copy, and the requests of that copy checked under every profile,
// with thinking and without: what it is for is gone, and nothing is wrong that
// was not before. The plan of a healthy session has no ops, nor has a second plan
// after the first, but for an error that is no more. Records that no diagnosis is
// about, nor its cure by name, never change.
//
// The error wraps [ErrBusy] if the session is busy and Force is not set.
func Plan(s *session.Session, req Request) (Result, error) {
	if Busy(s, req.Now, req.Held) && !req.Force {
		return Result{}, fmt.Errorf("planning for %s: %w", s.ID, ErrBusy)
	}
	c := newChart(s, req.Options, req.Force, req.Classes...)
	c.texts, c.stay = req.texts(), req.LeaveFiles
	t, cured, failed := c.carryThrough(req)
	r := Result{After: t.s, Cured: once(cured), Uncurable: once(failed)}
	r.Remaining = t.c.diagnose()
	if req.Error != nil {
		r.Suspects, r.All = t.c.suspects(*req.Error), req.All
	}
	r.Plan = change.Plan{Session: s.ID, Cause: req.cause(r.Cured), Ops: change.Diff(s, t.s)}
	return r, nil
}

func (r *Request) texts() texts {
	t := defaultTexts()
	if !session.Blank(r.Placeholder) {
		t.placeholder = r.Placeholder
	}
	if !session.Blank(r.Cancelled) {
		t.cancelled = r.Cancelled
	}
	return t
}

func (r *Request) cause(cured []Diagnosis) change.Cause {
	c := change.Cause{Kind: change.CauseScan}
	if r.Error != nil {
		c.Kind, c.Text = change.CauseError, r.Error.Text
	}
	for _, d := range cured {
		c.Diagnoses = append(c.Diagnoses, d.Why+" "+d.Cure)
	}
	return c
}

// maxPasses is far more often than a repair lets show what the one before did not.
const maxPasses = 8

// carryThrough carries the request out until that changes nothing any more, and
// tells what is gone by then and what has no cure. A repaired session may be one that
// is asked in another way, such as with thinking, and so have other faults. What an
// error names is cured once, since the request that it came for is another by then;
// after it all that is broken is, since one error names one place.
func (c *chart) carryThrough(req Request) (t *treatment, cured, failed []Diagnosis) {
	rest := req
	rest.Error = nil
	t = c.carryOut(req)
	cured = t.cured
	if req.Error != nil {
		failed = t.failed
	}
	for i := range maxPasses {
		if t.s == c.s && (i > 0 || req.Error == nil) {
			break
		}
		c = t.c.anew(req.Options)
		t = c.carryOut(rest)
		cured = append(cured, t.cured...)
	}
	gone := map[key]bool{}
	for _, d := range cured {
		gone[d.of] = true
	}
	failed = slices.DeleteFunc(append(failed, t.failed...), func(d Diagnosis) bool { return gone[d.of] })
	left := map[key]bool{} // one fault may have come back with the cure of another
	for _, f := range t.now.findings {
		left[t.c.keyAtFirst(f)] = true
	}
	return t, slices.DeleteFunc(cured, func(d Diagnosis) bool { return left[d.of] }), failed
}

// carryOut treats what the request wants.
func (c *chart) carryOut(req Request) *treatment {
	switch {
	case req.Error != nil:
		return c.answer(*req.Error, req.All)
	case len(req.Classes) > 0:
		return c.treat(func(c *chart, f finding) bool { return slices.Contains(req.Classes, c.classOf(f)) })
	}
	return c.treat(func(c *chart, f finding) bool {
		return (f.severity == Broken || req.Latent && f.severity == Latent) && !slices.Contains(req.Except, c.classOf(f))
	})
}

// classOf is the class of a finding.
func (c *chart) classOf(f finding) Class {
	r := ruleOf(f.code)
	if r.as == nil {
		return r.Class
	}
	return r.as(c, f.fault)
}
