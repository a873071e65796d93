package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/agent/opencode/schema"
	"mend/change"
	"mend/internal/request"
	"mend/repair"
)

// A setting is one way in which the session may be sent.
type setting struct {
	profile  render.Profile
	thinking bool
}

// own is the number of the setting that the session is diagnosed for. Findings in
// records have it, too.
const own = repair.InUse

// Findings implements [repair.Case]. It checks the request in the setting in use, and runs the
// rules on the records. If something is wrong, a fix has to hold in the other settings, too, so what
// is wrong there is counted.
//
// It releases the requests, and what was read of the session to make them: these may be larger than
// the session, and are seldom used again.
func (c *simulation) Findings() *repair.Findings {
	if c.findings == nil {
		c.findings = c.findAll()
		c.loopIDs() // needs the request, which is released here
		c.cachedView, c.requests = nil, nil
	}
	return c.findings
}

func (c *simulation) findAll() *repair.Findings {
	dead := map[int]bool{} // settings in which the agent fails before it sends a request
	v := &repair.Findings{
		Hides: func(setting int, code string) bool { return dead[setting] && isRequestFault(code) },
		Once:  func(code string) bool { return code == render.FailureScreen },
		Newer: c.newer(),
	}
	if c.isUnknown() {
		for _, code := range [...]string{"place", "hidden", "row"} {
			c.runRule(v, rules().Of(code))
		}
		return v
	}
	dead[own] = c.simulate(v, own)
	c.runRules(v)
	c.loopIDs() // while there is the request that it needs
	if c.isDraft || c.judgesAll() || len(v.All()) > 0 || len(c.screenFailures()) > 0 {
		for i := own + 1; i < len(c.settings); i++ {
			dead[i] = c.simulate(v, i)
		}
	}
	for _, f := range c.screenFailures() {
		c.addFinding(v, own, finding{Code: f.Code, Ref: f.Ref, Text: f.Why, Severity: repair.Latent, Unknown: schema.IsUnknown(f.Why)})
	}
	// A record that cannot be read cannot be shown either. A fix after which it is read,
	// but still not shown, causes nothing new.
	for _, f := range c.screen() {
		if f.Code == render.FailureUnreadable {
			v.Count(own, render.FailureScreen, f.Ref.Message)
		}
	}
	return v
}

// newer returns the program and the version that wrote the session, or will read it, if that is newer than all that were observed; else "".
func (c *simulation) newer() string {
	for _, version := range []string{c.request.Version, c.s.Version} {
		if render.Newer(version) {
			return fmt.Sprintf("%s %.20s", cmp.Or(c.env.Agent, "OpenCode"), version)
		}
	}
	return ""
}

// markUnknown marks the turns of messages with content that mend does not know, and of those beside them.
func (c *simulation) markUnknown(turns []request.Turn) {
	unknown := map[string]bool{}
	for _, f := range c.screen() {
		unknown[f.Ref.Message] = unknown[f.Ref.Message] || schema.IsUnknown(f.Why)
	}
	beside := map[change.Ref]bool{}
	for i, m := range c.s.Messages {
		for j := max(i-1, 0); unknown[m.Ref.Message] && j <= min(i+1, len(c.s.Messages)-1); j++ {
			beside[c.s.Messages[j].Ref] = true
		}
	}
	for i, t := range turns {
		turns[i].Unknown = slices.ContainsFunc(t.Messages, func(ref change.Ref) bool { return beside[ref] })
	}
}

// runRules adds what the rules on records find.
func (c *simulation) runRules(v *repair.Findings) {
	for _, r := range rules().Own {
		if r.Find != nil && (!r.Asked || c.isRequested(r.Class)) {
			c.runRule(v, r)
		}
	}
	for _, e := range c.asked {
		for _, f := range repair.Asked(c, e) {
			if _, p := c.part(f.Ref); f.Code != "encrypted" || p != nil && len(hiddenPaths(p)) > 0 { // else Anthropic signed it
				c.addFinding(v, own, f)
			}
		}
	}
}

func (c *simulation) runRule(v *repair.Findings, r repair.Rule) {
	for _, f := range r.Find(c) {
		f.Code, f.Severity = r.Code, cmp.Or(r.Severity, f.Severity, repair.Note)
		c.addFinding(v, own, f)
	}
}

// simulate adds the violations of setting i, and reports whether the agent fails before
// it sends a request.
func (c *simulation) simulate(v *repair.Findings, i int) (dead bool) {
	set := c.settings[i]
	for _, w := range c.violations(set) {
		if set.thinking != c.settings[own].thinking && isLoopRule(w.Rule) {
			continue
		}
		severity := repair.Latent
		if i == own {
			severity = c.severity(w)
		}
		f := finding{Code: w.Rule, Ref: firstRef(w.Refs), Text: w.Message, Severity: severity, Unknown: repair.BesideUnknown(c.render(set).Request, w)}
		if i == own || c.judgesAll() {
			c.addFinding(v, i, f)
		} else {
			v.Count(i, f.Code, f.Ref.Message)
		}
	}
	return len(c.render(set).Failures) > 0
}

// isForeign reports whether the part is of a type that only other tools write, and that
// no new version shows.
func (c *simulation) isForeign(ref change.Ref) bool {
	_, p := c.part(ref)
	if p == nil {
		return false
	}
	switch p.Type {
	case record.TypeThinking, record.TypeRedactedThinking, record.TypeToolUse, record.TypeToolResult:
		return true
	}
	return false
}

// addFinding adds a finding, except one of an answer that the agent is still writing.
func (c *simulation) addFinding(v *repair.Findings, i int, f finding) {
	if c.busy && c.isSubtask(f.Ref) {
		return // it may be running
	}
	if !c.busy || c.newest == "" || f.Ref.Message != c.newest {
		v.Add(i, rules().Fault(c, f).Finding)
	}
}

// severity returns how bad a violation in the setting in use is. A rule that only some
// vendors enforce is latent with another one, and each rule if a part of the request is unknown.
func (c *simulation) severity(w request.Violation) repair.Severity {
	if isRule(w.Rule) && c.hasLink() {
		return repair.Latent
	}
	r := c.render(c.settings[own])
	if w.Rule == "R15" && c.env.Reads != nil { // of images; what is attached to a result is sent to any model
		if _, known := c.env.Reads(r.Model, "image"); !known && !c.isAttachment(w) {
			return repair.Latent
		}
	}
	if vendors := vendorsOf(w.Rule); vendors != nil && !slices.Contains(vendors, r.Target.Vendor) {
		return repair.Latent
	}
	return repair.Broken
}

// isAttachment reports whether the violation is about a file in the result of a call.
func (c *simulation) isAttachment(w request.Violation) bool {
	_, p := c.part(firstRef(w.Refs))
	return p != nil && p.Type == record.TypeTool
}

// isLoopRule reports whether the rule is about an open tool loop. Under another setting
// of thinking every session breaks it until the loop is closed, so it counts only under
// the one in use.
func isLoopRule(code string) bool { return code == "R3" || code == "R4" }

// isRequestFault reports whether the code is of a fault of the request, or of a reason
// why the agent cannot make one.
func isRequestFault(code string) bool {
	switch code {
	case render.FailureUnreadable, render.FailureField, render.FailureMedia, render.FailureClock, render.FailureSubtask:
		return true
	}
	return isRule(code)
}

func firstRef(refs []change.Ref) change.Ref {
	if len(refs) == 0 {
		return change.Ref{}
	}
	return refs[0]
}
