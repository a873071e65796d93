package mend

import (
	"context"
	"slices"

	"mend/session"
	"mend/wire"
)

// A Forecast is what the agent will send for a session when the user types one
// more prompt, and what the provider will refuse of it.
type Forecast struct {
	Request    wire.Request
	Violations []wire.Violation // the first is the one that shows
	Version    string           // of the profile
	Thinking   bool             // the model is asked to think
}

// Forecast renders the request for a session. It reads only. thinking says
// whether the model is asked to think; nil for what the newest answer shows.
func (c *Client) Forecast(ctx context.Context, head session.Session, thinking *bool) (Forecast, error) {
	s, err := c.store.Load(ctx, head)
	if err != nil {
		return Forecast{}, err
	}
	p := wire.ProfileFor(c.opt.AgentVersion)
	f := Forecast{Version: p.Version, Thinking: thinks(s)}
	if thinking != nil {
		f.Thinking = *thinking
	}
	f.Request = wire.Render(s, wire.Settings{Profile: p, Now: c.opt.Now()})
	f.Violations = wire.Check(f.Request, f.Thinking)
	return f, nil
}

// thinks reports whether the newest answer has thinking.
func thinks(s *session.Session) bool {
	m := s.LatestAssistant()
	return m != nil && slices.ContainsFunc(m.Parts, func(p session.Part) bool { return p.IsThinking() })
}
