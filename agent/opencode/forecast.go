package opencode

import (
	"context"

	"mend/agent"
	"mend/agent/opencode/render"
	"mend/provider/anthropic"
	"mend/repair"
	"mend/session"
)

// Profile implements [agent.Forecaster].
func (s *store) Profile(version string) string { return render.ProfileFor(version).Version }

// Verified implements [agent.Forecaster].
func (s *store) Verified(version string) bool { return render.Verified(version) }

// Forecast implements [agent.Forecaster]. It reads only.
func (s *store) Forecast(ctx context.Context, head session.Head, o repair.Options) (agent.Forecast, error) {
	loaded, err := s.Load(ctx, head)
	if err != nil {
		return agent.Forecast{}, err
	}
	p := render.ProfileFor(o.Version)
	if p.Tree() {
		loaded = render.WithFiles(loaded, nil)
	}
	f := agent.Forecast{Version: p.Version, Thinking: thinks(loaded, o)}
	r := render.Render(loaded, render.Settings{Profile: p, Now: o.Typed(), Missing: missing, Reads: s.models.reads})
	f.Request, f.Violations = r.Request, render.Check(anthropic.Provider{}, r, f.Thinking)
	return f, nil
}
