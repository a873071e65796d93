package diagnose

import (
	"mend/agent/opencode/record"
	"mend/change"
	"mend/repair"
)

// Describe implements [repair.Case].
func (c *simulation) Describe(f repair.Finding) repair.Diagnosis {
	r := ruleOf(f.Code)
	d := repair.Diagnosis{Rule: f.Code, Class: f.Class, Severity: f.Severity, Ref: f.Ref, Text: f.Text, Why: c.why(f), WhyNot: r.noFix}
	if r.noFix == unknownBytes && !c.unreadable(f.Ref) {
		d.WhyNot = ""
	}
	if m := c.message(f.Ref); m != nil {
		d.Message = m.ID
	}
	if d.Ref == (change.Ref{}) {
		d.Ref = change.Ref{Kind: change.KindSession, Session: c.s.ID}
	}
	return d
}

// why returns why a finding is a fault.
func (c *simulation) why(f fault) string {
	if r := ruleOf(f.Code); r.why != nil {
		return r.why(c, f)
	}
	m, ok := repair.RemedyOf(c, f)
	switch {
	case !ok:
		return f.Text
	case f.Code == "R3" && c.isSubtask(f.Ref):
		return notRun + ". The call of the subtask has no thinking before it. The provider requires that while thinking is on."
	}
	return m.Why
}

// classOf returns the class of a finding.
func (c *simulation) classOf(f fault) repair.Class {
	r := ruleOf(f.Code)
	if r.class != nil {
		return r.class(c, f)
	}
	if m, ok := repair.RemedyOf(c, f); ok {
		return m.Class
	}
	return r.baseClass()
}

// unreadable reports whether the bytes of the record are unknown.
func (c *simulation) unreadable(ref change.Ref) bool {
	m, p := c.part(ref)
	switch {
	case p != nil:
		return p.Unreadable()
	case m != nil:
		return m.Unreadable()
	}
	return c.s.Info.Unreadable()
}

// Fixes implements [repair.Case]. There are no fixes if something that a safe change
// depends on is unknown.
func (c *simulation) Fixes(f repair.Finding) ([]repair.Fix, error) {
	if why := c.whyHidden(f.Ref); why != "" {
		return nil, &repair.RefusalError{Why: why}
	}
	if f.Code == "beside" {
		return nil, &repair.RefusalError{Why: adviceMove(f.Detail), Helps: true}
	}
	if why := c.whyNoFolder(f); why != "" {
		return nil, &repair.RefusalError{Why: why, Helps: true}
	}
	r := ruleOf(f.Code)
	if c.isUnknown() { // a new session needs the folder, too
		return nil, &repair.RefusalError{Why: r.noFix, Helps: true}
	}
	find := r.fixes
	subtask := isRule(f.Code) && c.isSubtask(f.Ref)
	if subtask {
		find = fixSubtasks
	}
	var all []repair.Fix
	if find != nil {
		for _, x := range find(c, f) {
			all = append(all, repair.Fix{Text: x.text, Loses: x.loses, Whole: x.whole, Alike: x.alike, Edit: func(d repair.Draft) error { return x.edit(d.(*draft)) }})
		}
	}
	if m, ok := repair.RemedyOf(c, f); ok && !subtask {
		all = append(all, m.Fixes()...)
	}
	for i := range all {
		all[i].Whole = all[i].Whole || c.message(f.Ref) == nil
	}
	return all, nil
}

// Records implements [repair.Case].
func (c *simulation) Records(yield func(*change.Record) bool) { c.s.AllRecords(yield) }

// Has implements [repair.Case].
func (c *simulation) Has(ref change.Ref) bool {
	m, p := c.part(ref)
	switch ref.Kind {
	case change.KindPart:
		return p != nil
	case change.KindMessage:
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

// Renamed implements [repair.Case]. It matches records by the tails of their ids,
// which the fixes that change ids keep ([record.Renumber]).
func (c *simulation) Renamed(earlier repair.Case) map[change.Ref]change.Ref {
	before, after := earlier.(*simulation).s, c.s
	if len(before.Messages) != len(after.Messages) {
		return nil
	}
	to := map[change.Ref]change.Ref{}
	places, tails := messageIndexes(after), map[string]int{}
	for i := range after.Messages {
		tails[record.Tail(after.Messages[i].Ref.Message)] = i
	}
	for i := range before.Messages {
		was := &before.Messages[i]
		if _, stays := places[was.Ref.Message]; stays {
			continue
		}
		at, ok := tails[record.Tail(was.Ref.Message)]
		if !ok {
			continue
		}
		is := &after.Messages[at]
		if len(was.Parts) != len(is.Parts) {
			continue
		}
		to[was.Ref] = is.Ref
		for j := range was.Parts {
			to[was.Parts[j].Ref] = is.Parts[j].Ref
		}
	}
	return to
}
