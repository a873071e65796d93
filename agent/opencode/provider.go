package opencode

import (
	"mend/agent/opencode/diagnose"
	"mend/agent/opencode/render"
	"mend/internal/request"
)

// Providers implements [agent.Agent].
func (Agent) Providers() (names []string) {
	for _, c := range diagnose.Targets {
		names = append(names, c.Name)
	}
	return names
}

// targetAs returns where requests go if the user chose the provider with that name; "" means that none was chosen.
func (k *knownModels) targetAs(name string) func(request.Model) render.Target {
	for _, c := range diagnose.Targets {
		if c.Name == name {
			return func(m request.Model) render.Target {
				t := k.target(m)
				if t.API(m).String() == name {
					return t
				}
				return c.Target
			}
		}
	}
	return k.target
}

// targetName returns the name of a provider: its API, or the vendor if several vendors share the
// API.
func targetName(m request.Model, t render.Target) string {
	api := t.API(m)
	if api == render.Chat && t.Vendor != "" {
		return t.Vendor
	}
	return api.String()
}
