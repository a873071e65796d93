package diagnose

import (
	"slices"

	"mend/agent/opencode/render"
	"mend/repair"
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
			for _, v := range c.violations(setting{profile: render.ProfileFor(version), thinking: thinking}) {
				if !slices.Contains(p.Rules, v.Rule) {
					p.Rules = append(p.Rules, v.Rule)
				}
			}
			all = append(all, p)
		}
	}
	return all
}
