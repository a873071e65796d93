package repair

import (
	"cmp"
	"strings"

	"mend/agent/opencode/render"
	"mend/request"
	"mend/session"
)

// A fault is what stands between a session and its next answer: a rule of the
// provider that the request breaks, what ends the agent, or what a rule of this
// package finds in the records.
type fault struct {
	code string      // of [Rule]
	ref  session.Ref // the record to blame; the zero Ref for none
	says string      // the provider's words, or what was found

	which string   // tells faults of one code and record apart
	shows string   // the provider's rule that it breaks, where code is another
	grade Severity // of what a rule finds, where that is not always the same; else zero
}

// A key tells one fault of a session from the others.
type key struct {
	code, which string
	ref         session.Ref
}

func (f fault) key() key { return key{f.code, f.which, f.ref} }

// at is the key of the same fault at another record.
func (f fault) at(ref session.Ref) key { return key{f.code, f.which, ref} }

// A finding is a fault with how bad it is.
type finding struct {
	fault
	severity Severity
}

// A setting is one way in which the session may be sent.
type setting struct {
	profile  render.Profile
	thinking bool
}

// A place is where a kind of fault is in the request of one setting: what is
// counted to see whether a cure makes anything new.
type place struct {
	setting int
	code    string
	message string // the id of the stored message, "" for none
}

// A survey is all that is wrong with a session, under every setting.
type survey struct {
	findings []finding
	counts   map[place]int
	at       map[key]int   // the index of a fault in findings
	settings map[key][]int // that have the fault
	dead     map[int]bool  // the settings in which the agent ends before it sends anything
}

// add notes a fault that setting i has.
func (v *survey) add(i int, f fault, s Severity) {
	v.counts[place{i, f.code, f.ref.Message}]++
	v.settings[f.key()] = append(v.settings[f.key()], i)
	if at, seen := v.at[f.key()]; seen {
		v.findings[at].severity = min(v.findings[at].severity, s)
		return
	}
	v.at[f.key()] = len(v.findings)
	v.findings = append(v.findings, finding{f, s})
}

func (v *survey) has(k key) bool {
	_, ok := v.at[k]
	return ok
}

// own is the number of the setting that the session is diagnosed for, and of
// what the records alone show.
const own = 0

// survey simulates the request of the session in every setting, and asks what
// the records alone show. What comes first is cured first.
func (c *chart) survey() *survey {
	if c.surveyed == nil {
		c.surveyed = c.newSurvey()
	}
	return c.surveyed
}

func (c *chart) newSurvey() *survey {
	v := &survey{counts: map[place]int{}, at: map[key]int{}, settings: map[key][]int{}, dead: map[int]bool{}}
	c.search(v, true)
	c.simulate(v, own)
	c.search(v, false)
	for i := own + 1; i < len(c.settings); i++ {
		c.simulate(v, i)
	}
	for _, f := range c.screen() {
		c.note(v, own, fault{code: f.Code, ref: f.Ref, says: f.Why}, Latent)
	}
	// What cannot be read cannot be shown either: a record that is read again and not
	// yet shown is nothing new.
	for _, f := range c.read().Screen(render.ProfileFor("")) {
		if f.Code == render.FailureUnreadable {
			v.counts[place{own, render.FailureScreen, f.Ref.Message}]++
		}
	}
	return v
}

// search notes what the rules find in the records that the request does not show.
func (c *chart) search(v *survey, first bool) {
	for _, r := range Rules {
		if r.find == nil || r.first != first || r.Asked && !c.asks(r.Class) {
			continue
		}
		for _, f := range r.find(c) {
			f.code = r.Code
			c.note(v, own, f, cmp.Or(r.severity, f.grade, Note))
		}
	}
}

// simulate notes what setting i violates.
func (c *chart) simulate(v *survey, i int) {
	set := c.settings[i]
	v.dead[i] = len(c.render(set.profile).Failures) > 0
	for _, w := range c.violations(set) {
		if set.thinking != c.settings[own].thinking && aboutLoops(w.Rule) {
			continue
		}
		severity := Latent
		if i == own {
			severity = c.severity(w, c.render(set.profile).Model)
		}
		c.note(v, i, fault{code: w.Rule, ref: blamed(w.Refs), says: w.Message}, severity)
	}
}

// foreign reports whether the part is of a kind that only the stores of other
// tools hold, which no new agent shows.
func (c *chart) foreign(ref session.Ref) bool {
	_, p := c.part(ref)
	if p == nil {
		return false
	}
	switch p.Type {
	case session.TypeThinking, session.TypeRedactedThinking, session.TypeToolUse, session.TypeToolResult:
		return true
	}
	return false
}

// note adds a fault, but for those of an answer that the agent still writes.
func (c *chart) note(v *survey, i int, f fault, s Severity) {
	if c.unread && s == Latent && !c.asks(ruleOf(f.code).Class) {
		return
	}
	if !c.busy || c.newest == "" || f.ref.Message != c.newest {
		v.add(i, f, s)
	}
}

// severity is how bad a violation in the setting in use is. What ends the agent
// does so with any model; the rules, and which files can be sent, are those of a
// provider that serves Claude, and another may take more.
func (c *chart) severity(w request.Violation, m request.Model) Severity {
	if w.Rule == "R15" && c.reads != nil { // of images; what is attached to a result is sent to any model
		if _, known := c.reads(m, "image"); !known && !c.attached(w) {
			return Latent
		}
	}
	if !isRule(w.Rule) && w.Rule != render.FailureMedia || servesClaude(m) {
		return Broken
	}
	return Latent
}

// attached reports whether the violation is about a file in the result of a call.
func (c *chart) attached(w request.Violation) bool {
	_, p := c.part(blamed(w.Refs))
	return p != nil && p.Type == session.TypeTool
}

// aboutLoops reports whether the rule is about an open tool loop, for which the
// user would have to switch thinking on or off in the middle of it: until the
// loop is closed the provider refuses that with every session.
func aboutLoops(code string) bool { return code == "R3" || code == "R4" }

// inRequest reports whether faults of the code are those of a request, or of what ends
// the agent before it makes one.
func inRequest(code string) bool {
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

func blamed(refs []session.Ref) session.Ref {
	if len(refs) == 0 {
		return session.Ref{}
	}
	return refs[0]
}
