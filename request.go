package mend

import (
	"context"

	"mend/agent/opencode/render"
	"mend/provider/anthropic"
	"mend/repair"
	"mend/request"
	"mend/session"
)

// A Forecast is what the agent will send for a session when the user types one
// more prompt, and what the provider will refuse of it.
type Forecast struct {
	Request    render.Request
	Violations []request.Violation // the first is the one that shows
	Version    string              // of the profile
	Thinking   bool                // the model is asked to think
}

// Forecast renders the request for a session. It reads only.
func (c *Client) Forecast(ctx context.Context, head session.Session) (Forecast, error) {
	s, _, err := c.examinable(ctx, head)
	if err != nil {
		return Forecast{}, err
	}
	p := c.Profile()
	if p.Tree() {
		s = render.AsRead(s, nil)
	}
	f := Forecast{Version: p.Version, Thinking: c.thinks(s)}
	f.Request = render.Render(s, render.Settings{Profile: p, Now: c.now(), Missing: missing, Reads: c.models.reads})
	f.Violations = render.Check(anthropic.Provider{}, f.Request, f.Thinking)
	return f, nil
}

// thinks reports whether the model is asked to think: as the options say, or else
// as the session shows.
func (c *Client) thinks(s *session.Session) bool {
	if c.opt.Thinking != nil {
		return *c.opt.Thinking
	}
	return repair.Thinks(s)
}
