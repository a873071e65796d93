package mend

import (
	"cmp"
	"context"
	"errors"

	"mend/agent"
	"mend/session"
)

// A Forecast is what the agent will send for a session when the user types one
// more prompt, and what the provider will refuse of it.
type Forecast = agent.Forecast

// Forecast returns the next request of a session. It reads only. The error wraps
// [errors.ErrUnsupported] if mend does not know the requests of the agent.
func (c *Client) Forecast(ctx context.Context, head session.Head) (Forecast, error) {
	st, ok := c.store.(agent.Forecaster)
	if !ok {
		return Forecast{}, errors.ErrUnsupported
	}
	return st.Forecast(ctx, head, c.repairOptions())
}

// Profile returns the known version of the agent whose requests are like those of the
// version that diagnoses are made for.
func (c *Client) Profile() string {
	if st, ok := c.store.(agent.Forecaster); ok {
		return st.Profile(c.AgentVersion())
	}
	return c.AgentVersion()
}

// Verified reports whether mend was verified with that version of the agent; with "", with
// the version that diagnoses are made for.
func (c *Client) Verified(version string) bool {
	st, ok := c.store.(agent.Forecaster)
	return ok && st.Verified(cmp.Or(version, c.AgentVersion()))
}
