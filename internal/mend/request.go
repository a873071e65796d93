package mend

import (
	"cmp"
	"context"

	"mend/agent"
	"mend/change"
)

// A Forecast is the next request of a session after one more prompt, with the violations that the provider
// would report.
type Forecast = agent.Forecast

// Forecast returns the next request of a session. It only reads. The error wraps
// [errors.ErrUnsupported] if mend does not know the requests of the agent.
func (c *Store) Forecast(ctx context.Context, head change.Head) (Forecast, error) {
	return c.store.Forecast(ctx, head, c.repairOptions())
}

// agentVersion returns the agent version for diagnoses: the option, or else the newest version of the
// sessions that [Store.Sessions] listed; "" if none has a version.
func (c *Store) agentVersion() string { return cmp.Or(c.opt.AgentVersion, c.last.Load().version) }

// Version returns the facts about a version of the agent; "" means the version for diagnoses.
func (c *Store) Version(name string) agent.Version {
	name = cmp.Or(name, c.agentVersion())
	return agent.Version{
		Name: name, Profile: c.store.Profile(name), Verified: c.store.Verified(name), Newer: c.store.Newer(name),
	}
}
