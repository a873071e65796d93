package mend

import (
	"cmp"
	"context"
	"fmt"

	"mend/agent"
	"mend/change"
)

// A Forecast is what the agent will send for a session when the user types one
// more prompt, and what the provider will refuse of it.
type Forecast = agent.Forecast

// Forecast returns the next request of a session. It reads only. The error wraps
// [errors.ErrUnsupported] if mend does not know the requests of the agent.
func (c *Store) Forecast(ctx context.Context, head change.Head) (Forecast, error) {
	return c.store.Forecast(ctx, head, c.repairOptions())
}

// agentVersion returns the version of the agent that diagnoses are made for: that of the options, or else
// the newest of the sessions that [Store.Sessions] listed; "" if none has a version.
func (c *Store) agentVersion() string { return cmp.Or(c.opt.AgentVersion, c.listed.get().newest) }

// A Version is what mend knows of a version of the agent.
type Version struct {
	Name     string // such as 1.18.33; "" if it is not known
	Profile  string // the known version whose requests are like those of this one
	Verified bool   // mend was verified with it
	Newer    bool   // it is newer than all of those
}

// Version returns what is known of a version of the agent; with "", of the one that diagnoses are made for.
func (c *Store) Version(name string) Version {
	name = cmp.Or(name, c.agentVersion())
	return Version{name, c.store.Profile(name), c.store.Verified(name), c.store.Newer(name)}
}

// Note says as which version the agent's requests are built, if mend was not verified with this one; else "".
func (v Version) Note() string {
	if v.Name == "" || v.Verified {
		return ""
	}
	return fmt.Sprintf("as %s builds them; %.30s was not verified", v.Profile, v.Name)
}
