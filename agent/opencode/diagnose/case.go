package diagnose

import (
	"fmt"
	"slices"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/change"
	"mend/internal/request"
	"mend/repair"
)

// New returns the case of a session for a request. In a busy session the newest answer is not examined unless the
// request has Force, because the agent is still writing it.
func New(s *record.Session, r repair.Request, e Environment) *repair.Case {
	c := newSimulation(s, r, e)
	x := repair.Context{
		Session: change.Ref{Kind: change.KindSession, Session: s.ID}, Rules: rules(), Texts: c.texts,
		Busy: c.whyBusy(), Newer: c.newer(), Window: e.Window, All: r.AllSettings || r.Latent, Asked: r.Classes,
		OfRequest: isRequestFault, Rebrand: c.env.Rebrand,
		Settings: func(s repair.State, e *repair.APIError) (repair.State, []repair.Setting) {
			n := s.(*simulation).withSettings(e)
			return n, n.shownSettings()
		},
		Writing: func(s repair.State, f finding) bool { return s.(*simulation).isWriting(f) },
		// Thinking without hidden data is signed by Anthropic, not encrypted.
		Ask: func(s repair.State, f *finding, _ *request.Block) bool {
			_, p := s.(*simulation).part(f.Ref)
			return f.Code != "encrypted" || p != nil && len(hiddenPaths(p)) > 0
		},
		Describe:   describe,
		Renamed:    matchRenamed,
		ForkBefore: forkBefore,
	}
	if m := s.LatestAssistant(); m != nil && m.Failed {
		x.LastError = m.Data
	}
	return repair.New(c, x)
}

func stateOf(s *repair.Case) *simulation { return s.State.(*simulation) }

// describe completes a diagnosis.
func describe(x *repair.Fault, d *repair.Diagnosis) {
	c, f := stateOf(x.Case), x.Finding
	d.Healed = ""
	newest := slices.Index(c.settings, setting{c.newestProfile(), c.settings[own].thinking})
	if x.Rule.Healed != "" && newest >= 0 && x.Findings().IsWell(newest, f) {
		d.Healed = x.Rule.Healed
	}
	if d.WhyNot == unknownBytes && !c.unreadable(f.Ref) {
		d.WhyNot = ""
	}
	if (d.Shown == repair.Archived || d.Shown == repair.Hidden) && d.WhyNot == "" {
		d.WhyNot = "A repair leaves it so, because it may be intentional. To list it again: mend restore " + c.s.ID
	}
	if at := c.futureDate(f); at != "" && (d.WhyNot != "" || f.Code == render.FailureClock) {
		d.WhyNot = whyNoTime + at + "."
	}
	d.Message = ""
	if m := c.message(f.Ref); m != nil {
		d.Message = m.ID
	}
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

// Refuses implements [repair.State]. It refuses a change if data that a safe change needs is unknown.
func (c *simulation) Refuses(f finding) *repair.RefusalError {
	if why := c.whyHidden(f.Ref); why != "" {
		return &repair.RefusalError{Why: why}
	}
	if f.Code == "beside" {
		return &repair.RefusalError{Why: yourFile, Helps: true}
	}
	if why := c.whyNoFolder(f); why != "" {
		return &repair.RefusalError{Why: why, Helps: true}
	}
	if c.isUnknown() { // a new session needs the folder, too
		return &repair.RefusalError{Why: rules().Rule(f.Code).NoFix, Helps: true}
	}
	return nil
}

func (c *simulation) Records(yield func(*change.Record) bool) { c.s.AllRecords(yield) }

// isWriting reports whether a finding is about an answer that the agent is still writing.
func (c *simulation) isWriting(f finding) bool {
	return c.busy && c.newest != "" && f.Ref.Message == c.newest
}

// matchRenamed returns the new refs of renamed records, by old ref. It matches records by the tails of their ids, which
// the fixes that change ids keep ([record.Renumber]).
func matchRenamed(earlier, later repair.State) map[change.Ref]change.Ref {
	before, after := earlier.(*simulation).s, later.(*simulation).s
	if len(before.Messages) != len(after.Messages) {
		return nil
	}
	to := map[change.Ref]change.Ref{}
	places, tails := messageIndexes(after), map[string]int{}
	for i := range after.Messages {
		tails[record.Tail(after.Messages[i].Ref.Message)] = i
	}
	for i := range before.Messages {
		old := &before.Messages[i]
		if _, placed := places[old.Ref.Message]; placed {
			continue
		}
		at, ok := tails[record.Tail(old.Ref.Message)]
		if !ok {
			continue
		}
		current := &after.Messages[at]
		if len(old.Parts) != len(current.Parts) {
			continue
		}
		to[old.Ref] = current.Ref
		for j := range old.Parts {
			to[old.Parts[j].Ref] = current.Parts[j].Ref
		}
	}
	return to
}

// forkBefore explains how to continue without a prompt and everything after it.
func forkBefore(state repair.State, prompt change.Ref) string {
	c := state.(*simulation)
	i := slices.IndexFunc(c.s.Messages, func(m record.Message) bool { return m.Ref == prompt })
	if i < 0 {
		return ""
	}
	s := *c.s
	s.Messages = s.Messages[:i]
	if len(c.withSession(&s).violations(c.settings[own])) > 0 {
		return ""
	}
	return fmt.Sprintf("To continue without it, fork the session before the prompt %s.", c.s.Messages[i].ID)
}

// shownSettings returns the settings with the versions that represent them.
func (c *simulation) shownSettings() []repair.Setting {
	all := make([]repair.Setting, len(c.settings))
	for i, set := range c.settings {
		all[i] = repair.Setting{Version: c.versionOf(set), Thinking: set.thinking}
	}
	return all
}

// versionOf returns the version that represents a setting.
func (c *simulation) versionOf(set setting) string {
	switch {
	case render.IsTested(c.request.Version) && set.profile == c.settings[own].profile:
		return c.request.Version
	case set.profile == render.ProfileFor(""):
		return render.NewestVerified
	}
	return set.profile.Version
}
