package opencode

import (
	"context"

	"mend/agent"
	"mend/agent/opencode/diagnose"
	"mend/agent/opencode/render"
	"mend/change"
	"mend/repair"
)

func (s *store) Profile(version string) string { return render.ProfileFor(version).Version }

func (s *store) Verified(version string) bool { return render.IsVerified(version) }

func (s *store) Newer(version string) bool { return render.Newer(version) }

// Forecast implements [agent.Store]. It only reads.
func (s *store) Forecast(ctx context.Context, head change.Head, o repair.Options) (agent.Forecast, error) {
	loaded, _, err := s.load(ctx, head)
	if err == nil {
		err = s.Changeable(ctx) // the requests of a newer generation are unknown
	}
	if err != nil {
		return agent.Forecast{}, err
	}
	p := render.ProfileFor(o.Version)
	f := agent.Forecast{Version: p.Version, Thinking: isThinking(loaded, o)}
	k := s.models.directoryModels(head.Directory)
	r := render.Render(loaded, render.Settings{
		Profile: p, Now: o.Now, Missing: isMissing, CanRead: k.canRead,
		Target: k.targetAs(o.Provider),
	})
	api := diagnose.ProviderOf(r)
	f.Request, f.Violations = r.Request, render.Check(api, r, f.Thinking)
	f.Provider = targetName(r.Model, r.Target)
	f.Place.Turn, f.Place.Block = r.API.Paths()
	return f, nil
}
