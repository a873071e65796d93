package diagnose

import (
	"slices"

	"mend/agent/opencode/render"
	"mend/repair"
	"mend/request"
)

var _ repair.Prover = (*simulation)(nil)

// Prove implements [repair.Prover]. No version of OpenCode reads a foreign store.
func (c *simulation) Prove() (all []repair.Proof) {
	if c.env.Foreign {
		return nil
	}
	for _, version := range render.ComparedVersions() {
		for _, thinking := range [...]bool{true, false} {
			p := repair.Proof{Version: version, Thinking: thinking}
			p.Rules = c.brokenRules(setting{profile: render.ProfileFor(version), thinking: thinking})
			all = append(all, p)
		}
	}
	return all
}

// UnknownProvider implements [repair.Prover].
func (c *simulation) UnknownProvider() string {
	q := c.render(c.settings[own])
	if q.Target.IsKnown(q.Model) {
		return ""
	}
	return q.Target.Package
}

// brokenRules returns the codes of the rules that the session breaks in the setting, each
// once.
func (c *simulation) brokenRules(set setting) []string {
	c.Findings() // which simulates most settings
	rules, ok := c.broken[set]
	if !ok {
		rules = rulesOf(c.violations(set))
	}
	return rules
}

func rulesOf(vs []request.Violation) (rules []string) {
	for _, v := range vs {
		if !slices.Contains(rules, v.Rule) {
			rules = append(rules, v.Rule)
		}
	}
	return rules
}
