package mend

import (
	"cmp"
	"context"
	"fmt"

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
func (c *Store) agentVersion() string { return cmp.Or(c.opt.AgentVersion, c.listFacts.get().newest) }

// A Version is a version of the agent and its nearest known one.
type Version struct {
	Name     string // such as 1.18.33; "" if it is not known
	Profile  string // the known version with the same requests
	Verified bool   // mend was verified with it
	Newer    bool   // newer than all verified versions
}

// Version returns the facts about a version of the agent; "" means the version for diagnoses.
func (c *Store) Version(name string) Version {
	name = cmp.Or(name, c.agentVersion())
	return Version{name, c.store.Profile(name), c.store.Verified(name), c.store.Newer(name)}
}

// Note names the version that mend builds requests for, if mend was not verified with the agent's; else "".
func (v Version) Note() string {
	if v.Name == "" || v.Verified {
		return ""
	}
	return fmt.Sprintf("as %s builds them; %.30s was not verified", v.Profile, v.Name)
}
