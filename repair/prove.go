package repair

import "slices"

// A Proof is the result of checking the request of a setting.
type Proof struct {
	Setting
	Rules []string // the codes of the broken rules, each once
}

// prove checks the requests of all settings.
func prove(c *Case) (all []Proof) {
	for i, set := range c.Settings() {
		p := Proof{Setting: set}
		_, refused := c.Sent(i)
		for _, v := range refused {
			if !slices.Contains(p.Rules, v.Rule) {
				p.Rules = append(p.Rules, v.Rule)
			}
		}
		all = append(all, p)
	}
	return all
}
