package diagnose

import (
	"cmp"

	"mend/repair"
	"mend/session"
)

// Describe implements [repair.Case].
func (c *chart) Describe(f repair.Finding) repair.Diagnosis {
	r := ruleOf(f.Code)
	d := repair.Diagnosis{Rule: cmp.Or(f.Shows, f.Code), Class: f.Class, Severity: f.Severity, Ref: f.Ref, Says: f.Says, Why: r.why(c, f), WhyNot: r.noCure}
	if r.noCure == unknownBytes && !c.unreadable(f.Ref) {
		d.WhyNot = ""
	}
	if m := c.message(f.Ref); m != nil {
		d.Message = m.ID
	}
	if d.Ref == (session.Ref{}) {
		d.Ref = session.Ref{Kind: session.KindSession, Session: c.s.ID}
	}
	return d
}

// classOf returns the class of a finding.
func (c *chart) classOf(f fault) repair.Class {
	r := ruleOf(f.Code)
	if r.as == nil {
		return r.Class
	}
	return r.as(c, f)
}

// unreadable reports whether the bytes of the record are not known.
func (c *chart) unreadable(ref session.Ref) bool {
	m, p := c.part(ref)
	switch {
	case p != nil:
		return p.Unreadable()
	case m != nil:
		return m.Unreadable()
	}
	return c.s.Info.Unreadable()
}

// Fixes implements [repair.Case]: there are none where something in the way of a safe
// change is not known.
func (c *chart) Fixes(f repair.Finding, d repair.Draft) ([]repair.Fix, error) {
	if why := c.hidden(f.Ref); why != "" {
		return nil, &repair.Refusal{Why: why}
	}
	if why := c.staying(f.Ref); why != "" {
		return nil, &repair.Refusal{Why: why, Helps: true}
	}
	r := ruleOf(f.Code)
	if r.fixes == nil {
		return nil, nil
	}
	if d != nil {
		c.edited = d.(*draft).known()
		defer func() { c.edited = nil }()
	}
	fixes := r.fixes(c, f)
	all := make([]repair.Fix, len(fixes))
	for i, x := range fixes {
		all[i] = repair.Fix{
			Text: x.cure, Loses: x.loses, Whole: x.whole || c.message(f.Ref) == nil, Alike: x.alike,
			Edit: func(d repair.Draft) error { return x.edit(d.(*draft)) },
		}
	}
	return all, nil
}

// Records implements [repair.Case].
func (c *chart) Records(yield func(*session.Record) bool) { c.s.AllRecords(yield) }

// Has implements [repair.Case].
func (c *chart) Has(ref session.Ref) bool {
	m, p := c.part(ref)
	switch ref.Kind {
	case session.KindPart:
		return p != nil
	case session.KindMessage:
		return m != nil
	default:
		for r := range c.Records {
			if r.Ref == ref {
				return true
			}
		}
		return false
	}
}
