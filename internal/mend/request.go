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

// Profile returns the known version of the agent whose requests are like those of the
// version that diagnoses are made for.
func (c *Store) Profile() string {
	return c.store.Profile(c.AgentVersion())
}

// KnowsVersion reports whether mend was verified with that version of the agent, and whether
// it is newer than all of those; with "", with the version that diagnoses are made for, which
// it returns.
func (c *Store) KnowsVersion(version string) (resolved string, verified, newer bool) {
	version = cmp.Or(version, c.AgentVersion())
	return version, c.store.Verified(version), c.store.Newer(version)
}

// VersionNote says as which version the agent's requests are built, if mend was not verified
// with the version that diagnoses are made for; else "".
func (c *Store) VersionNote() string {
	version, verified, _ := c.KnowsVersion("")
	if version == "" || verified {
		return ""
	}
	return fmt.Sprintf("as %s builds them; %.30s was not verified", c.Profile(), version)
}
