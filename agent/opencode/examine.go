package opencode

import (
	"context"
	"slices"
	"time"

	"mend/agent"
	"mend/agent/opencode/diagnose"
	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/change"
	"mend/repair"
)

// Examine implements [agent.Store]. The examination has no stamp if it depends on more than the
// records, such as the time of day, a file elsewhere or the folder of a workspace.
func (s *store) Examine(ctx context.Context, head change.Head, o repair.Options) (agent.Examination, error) {
	loaded, stamp, err := s.load(ctx, head)
	if err != nil {
		return agent.Examination{}, err
	}
	env, err := s.environment(ctx, loaded, o.Provider)
	if err != nil {
		return agent.Examination{}, err
	}
	asked := false // whether a file elsewhere was checked
	env.Missing = func(path string) bool {
		asked = true
		return isMissing(path)
	}
	d := diagnose.Diagnose(loaded, o, env)
	e := agent.Examination{
		Busy: diagnose.WhyBusy(loaded, o.Now, env.Held, env.Free) != "", Thinking: isThinking(loaded, d.Target, o),
		Provider: targetName(d.Model, d.Target), Diagnoses: d.Found,
		Unfinished: unfinished(loaded),
	}
	if m := loaded.LatestAssistant(); m != nil && m.Failed && m.ID == loaded.Messages[len(loaded.Messages)-1].ID {
		e.Failure = &agent.Failure{Message: m.ID, Error: m.Data, Time: time.UnixMilli(m.Created)}
	}
	inFuture := func(m record.Message) bool { return render.IsInFuture(&m, o.Now) }
	if !asked && !e.Busy && !loaded.InWorkspace && loaded.IndexFault == "" &&
		change.OnlyFiles(loaded.Stray) && !slices.ContainsFunc(loaded.Messages, inFuture) {
		e.Stamp = stamp
	}
	return e, nil
}

func (s *store) Busy(_ context.Context, _ change.Head, unfinished bool) bool {
	return unfinished && s.cache.Load().isHeld()
}

// isThinking reports whether the model is asked to think: according to the options, or else the settings and the
// session.
func isThinking(s *record.Session, t render.Target, o repair.Options) bool {
	if o.Thinking != nil {
		return *o.Thinking
	}
	return diagnose.LikelyThinks(s, t)
}

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
	f := agent.Forecast{Version: p.Version}
	k := s.models.directoryModels(head.Directory)
	r := render.Render(loaded, render.Settings{
		Profile: p, Now: o.Now, Missing: isMissing, CanRead: k.canRead,
		Target: k.targetAs(o.Provider),
	})
	api := diagnose.ProviderOf(r)
	f.Thinking = isThinking(loaded, r.Target, o)
	f.Request, f.Violations = r.Request, render.Check(api, r, f.Thinking)
	f.Provider = targetName(r.Model, r.Target)
	f.Place.Turn, f.Place.Block = r.API.Paths()
	return f, nil
}
