package diagnose

import (
	"cmp"
	"strings"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/repair"
	"mend/request"
	"mend/session"
)

// A fault is what is between a session and its next answer: a rule of the provider that
// the request breaks, what ends the agent, or what a rule of this package finds in the
// records.
type fault = repair.Finding

// A setting is one way in which the session may be sent.
type setting struct {
	profile  render.Profile
	thinking bool
}

// own is the number of the setting that the session is diagnosed for, and of
// what the records alone show.
const own = repair.InUse

// Findings implements [repair.Case]: it simulates the request of the session in every
// setting, and searches the records for what they alone show.
//
// What the agent makes of the session is released: it may be larger than the session, and
// is seldom needed again.
func (c *simulation) Findings() *repair.Findings {
	if c.findings == nil {
		c.findings = c.findAll()
		c.loopIDs() // which needs the request
		c.cachedView, c.requests = nil, nil
	}
	return c.findings
}

func (c *simulation) findAll() *repair.Findings {
	dead := map[int]bool{} // the settings in which the agent ends before it sends anything
	v := &repair.Findings{
		Hides: func(setting int, code string) bool { return dead[setting] && isRequestFault(code) },
		Once:  func(code string) bool { return code == render.FailureScreen },
	}
	c.runRules(v, true)
	dead[own] = c.simulate(v, own)
	c.runRules(v, false)
	for i := own + 1; i < len(c.settings); i++ {
		dead[i] = c.simulate(v, i)
	}
	for _, f := range c.screenFailures() {
		c.addFault(v, own, fault{Code: f.Code, Ref: f.Ref, Says: f.Why, Severity: repair.Latent})
	}
	// What cannot be read cannot be shown either: a record that is read again and not
	// yet shown is nothing new.
	for _, f := range c.view().Screen(render.ProfileFor("")) {
		if f.Code == render.FailureUnreadable {
			v.Count(own, render.FailureScreen, f.Ref.Message)
		}
	}
	return v
}

// runRules notes what the rules find in the records that the request does not show.
func (c *simulation) runRules(v *repair.Findings, first bool) {
	for _, r := range Rules {
		if r.find == nil || r.first != first || r.Asked && !c.isRequested(r.Class) {
			continue
		}
		for _, f := range r.find(c) {
			f.Code, f.Severity = r.Code, cmp.Or(r.severity, f.Severity, repair.Note)
			c.addFault(v, own, f)
		}
	}
}

// simulate notes what setting i violates, and reports whether the agent ends before it
// sends anything.
func (c *simulation) simulate(v *repair.Findings, i int) (dead bool) {
	set := c.settings[i]
	for _, w := range c.violations(set) {
		if set.thinking != c.settings[own].thinking && isLoopRule(w.Rule) {
			continue
		}
		severity := repair.Latent
		if i == own {
			severity = c.severity(w, c.render(set.profile).Model)
		}
		c.addFault(v, i, fault{Code: w.Rule, Ref: firstRef(w.Refs), Says: w.Message, Severity: severity})
	}
	return len(c.render(set.profile).Failures) > 0
}

// isForeign reports whether the part is of a kind that only the stores of other
// tools hold, which no new agent shows.
func (c *simulation) isForeign(ref session.Ref) bool {
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

// addFault adds a fault, but for those of an answer that the agent still writes.
func (c *simulation) addFault(v *repair.Findings, i int, f fault) {
	if c.env.Foreign && f.Severity == repair.Latent && !c.isRequested(ruleOf(f.Code).Class) {
		return
	}
	if !c.busy || c.newest == "" || f.Ref.Message != c.newest {
		f.Class = c.classOf(f)
		v.Add(i, f)
	}
}

// severity returns how bad a violation in the setting in use is. What ends the agent
// does so with any model; the rules, and which files can be sent, are those of a
// provider that serves Claude, and another may take more.
func (c *simulation) severity(w request.Violation, m request.Model) repair.Severity {
	if w.Rule == "R15" && c.env.Reads != nil { // of images; what is attached to a result is sent to any model
		if _, known := c.env.Reads(m, "image"); !known && !c.isAttachment(w) {
			return repair.Latent
		}
	}
	if !isRule(w.Rule) && w.Rule != render.FailureMedia || servesClaude(m) {
		return repair.Broken
	}
	return repair.Latent
}

// isAttachment reports whether the violation is about a file in the result of a call.
func (c *simulation) isAttachment(w request.Violation) bool {
	_, p := c.part(firstRef(w.Refs))
	return p != nil && p.Type == record.TypeTool
}

// isLoopRule reports whether the rule is about an open tool loop, for which the
// user would have to switch thinking on or off in the middle of it: until the
// loop is closed the provider refuses that with every session.
func isLoopRule(code string) bool { return code == "R3" || code == "R4" }

// isRequestFault reports whether faults of the code are those of a request, or of what ends
// the agent before it makes one.
func isRequestFault(code string) bool {
	switch code {
	case render.FailureUnreadable, render.FailureField, render.FailureMedia, render.FailureClock:
		return true
	}
	return isRule(code)
}

// isRule reports whether the code is one of the provider's rules, R1 to R17.
func isRule(code string) bool { return strings.HasPrefix(code, "R") }

// servesClaude reports whether the model is asked through Anthropic's API, or
// one that is held to its rules. A session that does not say is taken for one.
func servesClaude(m request.Model) bool {
	return m == (request.Model{}) || strings.Contains(m.ProviderID, "anthropic") || strings.Contains(m.ModelID, "claude")
}

func firstRef(refs []session.Ref) session.Ref {
	if len(refs) == 0 {
		return session.Ref{}
	}
	return refs[0]
}
