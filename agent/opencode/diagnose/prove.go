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
	for _, set := range c.settings {
		all = append(all, repair.Proof{Version: c.versionOf(set), Thinking: set.thinking, Rules: rulesOf(c.violations(set))})
	}
	return all
}

// versionOf returns the version that stands for a setting.
func (c *simulation) versionOf(set setting) string {
	switch {
	case c.request.Version != "" && set.profile == c.settings[own].profile:
		return c.request.Version
	case set.profile == render.ProfileFor(""):
		return render.NewestVerified
	}
	return set.profile.Version
}

// UnknownProvider implements [repair.Prover].
func (c *simulation) UnknownProvider() string {
	q := c.render(c.settings[own])
	if q.Target.IsKnown(q.Model) {
		return ""
	}
	return q.Target.Package
}

// rulesOf returns the codes of the rules that are broken, each once.
func rulesOf(vs []request.Violation) (rules []string) {
	for _, v := range vs {
		if !slices.Contains(rules, v.Rule) {
			rules = append(rules, v.Rule)
		}
	}
	return rules
}
