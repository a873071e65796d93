package diagnose

import (
	"errors"
	"fmt"
	"slices"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/repair"
)

// Describe implements [repair.Case].
func (c *simulation) Describe(f repair.Finding) repair.Diagnosis {
	d := c.describe(f)
	for _, text := range []*string{&d.Why, &d.Text, &d.WhyNot} {
		*text = c.env.Says(*text)
	}
	return d
}

func (c *simulation) describe(f repair.Finding) repair.Diagnosis {
	x := rules().Fault(c, f)
	d := x.Describe()
	if newest := slices.Index(c.settings, setting{c.newestProfile(), c.settings[own].thinking}); x.Rule.Healed != "" && newest >= 0 && c.Findings().IsWell(newest, f) {
		d.Healed = x.Rule.Healed
	}
	if d.WhyNot == unknownBytes && !c.unreadable(f.Ref) {
		d.WhyNot = ""
	}
	if (d.Shown == repair.Archived || d.Shown == repair.Hidden) && d.WhyNot == "" {
		d.WhyNot = fmt.Sprintf("A repair leaves it so, because it may be intentional. To list it again: mend restore %s", c.s.ID)
	}
	if f.Code == "R3" && c.isSubtask(f.Ref) {
		d.Why = notRun + ". The call of the subtask has no thinking before it. The provider requires that while thinking is on."
	}
	d.Message = ""
	if m := c.message(f.Ref); m != nil {
		d.Message = m.ID
	}
	if d.Ref == (change.Ref{}) {
		d.Ref = change.Ref{Kind: change.KindSession, Session: c.s.ID}
	}
	return d
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

// Fixes implements [repair.Case].
func (c *simulation) Fixes(f repair.Finding) ([]repair.Fix, error) {
	all, err := c.fixes(f)
	for i := range all {
		all[i].Text, all[i].Loses = c.env.Says(all[i].Text), c.env.Says(all[i].Loses)
	}
	if refusal, ok := errors.AsType[*repair.RefusalError](err); ok {
		refusal.Why = c.env.Says(refusal.Why)
	}
	return all, err
}

// fixes returns no fixes if something that a safe change depends on is unknown.
func (c *simulation) fixes(f repair.Finding) ([]repair.Fix, error) {
	if why := c.whyHidden(f.Ref); why != "" {
		return nil, &repair.RefusalError{Why: why}
	}
	if f.Code == "beside" {
		return nil, &repair.RefusalError{Why: adviceMove(f.Detail), Helps: true}
	}
	if why := c.whyNoFolder(f); why != "" {
		return nil, &repair.RefusalError{Why: why, Helps: true}
	}
	x := rules().Fault(c, f)
	if c.isUnknown() { // a new session needs the folder, too
		return nil, &repair.RefusalError{Why: x.Rule.NoFix, Helps: true}
	}
	all := x.Fixes()
	if isRule(f.Code) && c.isSubtask(f.Ref) {
		all = fixSubtasks(c, f)
	}
	for i := range all {
		all[i].Whole = all[i].Whole || c.message(f.Ref) == nil
	}
	return all, nil
}

// Records implements [repair.Case].
func (c *simulation) Records(yield func(*change.Record) bool) { c.s.AllRecords(yield) }

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
