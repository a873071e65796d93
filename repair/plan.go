package repair

import (
	"errors"
	"fmt"
	"slices"

	"mend/change"
	"mend/session"
)

// A Request says what of a session shall be cured: all that is broken, or with
// Latent also what is latent; or with Classes all faults of these; or with Error
// those of the error's class, and of the message that it names if that has one.
type Request struct {
	Options
	Latent  bool
	Classes []Class
	Error   *APIError
	Force   bool // although the agent is at work in the session

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
}

// ErrBusy says that the agent is at work in the session.
var ErrBusy = errors.New("the agent is at work in this session")

// Plan makes the smallest plan that cures what is asked for. Every cure in it
// was tried on a copy: what it is for is gone afterwards and nothing new is
// wrong. The plan of a healthy session has no ops, nor has a second plan after
// the first; records that no diagnosis is about never change.
//
// The error wraps [ErrBusy] if the session is busy and Force is not set.
func Plan(s *session.Session, req Request) (Result, error) {
	if Busy(s, req.Now, req.Held) && !req.Force {
		return Result{}, fmt.Errorf("planning for %s: %w", s.ID, ErrBusy)
	}
	asked := req.Classes
	if req.Error != nil {
		asked = []Class{req.Error.Class}
	}
	c := newChart(s, req.Options, req.Force, asked...)
	c.texts = req.texts()
	before := c.found()
	cured, failed := c.carryOut(req, before)
	after := c.again()
	if err := worse(before, after.found()); err != nil {
		return Result{}, fmt.Errorf("planning for %s: %w", s.ID, err)
	}
	r := Result{After: c.s, Cured: cured, Uncurable: failed, Remaining: after.diagnose()}
	r.Plan = change.Plan{Session: s.ID, Cause: req.cause(cured), Ops: change.Diff(s, c.s)}
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

// wants reports whether the diagnosis shall be cured.
func (r *Request) wants(d Diagnosis) bool {
	switch {
	case r.Error != nil:
		return d.Class == r.Error.Class
	case len(r.Classes) > 0:
		return slices.Contains(r.Classes, d.Class)
	}
	return d.Severity == Broken || r.Latent && d.Severity == Latent
}

// carryOut treats what the request wants: the message that an error names, and
// the whole session if that alone does not do.
func (c *chart) carryOut(req Request, before map[key]Severity) (cured, failed []Diagnosis) {
	if i := c.named(req); i >= 0 {
		cured, failed = c.treat(i, req.wants)
		// Thinking is taken from the message at fault alone, or what was signed
		// in all others would be lost for nothing.
		alone := len(cured) > 0 || req.Error.Class == ThinkingDisabledViolation
		if alone && worse(before, c.again().found()) == nil {
			return cured, failed
		}
	}
	failed = c.untreatable(req)
	for i := range c.s.Messages {
		gone, left := c.treat(i, req.wants)
		cured, failed = append(cured, gone...), append(failed, left...)
	}
	return cured, failed
}

// named is the message that the request's error is most likely about: of those
// that have a fault of its class. It is -1 if there is none.
func (c *chart) named(req Request) int {
	if req.Error == nil {
		return -1
	}
	return c.s.Near(req.Error.Index, func(i int) bool {
		return slices.ContainsFunc(c.look(i, &c.s.Messages[i]), func(f finding) bool { return req.wants(f.Diagnosis) })
	})
}

// untreatable is what the request wants and no message has.
func (c *chart) untreatable(req Request) []Diagnosis {
	return slices.DeleteFunc(c.ownRecord(), func(d Diagnosis) bool { return !req.wants(d) })
}

// found is all that is wrong with the messages, without a thought of a cure.
func (c *chart) found() map[key]Severity {
	all := map[key]Severity{}
	for i := range c.s.Messages {
		for _, f := range c.look(i, &c.s.Messages[i]) {
			all[f.key()] = f.Severity
		}
	}
	return all
}

// worse is an error if something is wrong afterwards that was not before. Each
// cure was proved on its message; this proves them together.
func worse(before, after map[key]Severity) error {
	for k, v := range after {
		if was, ok := before[k]; !ok || v < was {
			return fmt.Errorf("the cures do not agree: %s at %s would be new", k.class, k.ref)
		}
	}
	return nil
}
