package running

import (
	"context"
	"errors"
	"time"

	"mend/internal/config"
	"mend/internal/hooks"
	"mend/internal/live"
)

// questions tells the plugin at which points it can ask, and returns the function that answers.
func (h *recoverer) questions(ctx context.Context, pipe *live.Pipe, others *hooks.Hooks) live.Answerer {
	wait := milliseconds(h.config.PreflightMs)
	offer := live.Offer{Hooks: map[live.HookPoint]time.Duration{}}
	if !h.config.Skips(config.SkipPreflight) {
		offer.Wait = wait
	}
	others.Offer(&offer, wait)
	if err := pipe.Ready(ctx, offer); err != nil {
		h.log.Warn("offering to answer questions", "error", err)
	}
	return func(ctx context.Context, q live.Question) (r live.Reply, err error) {
		if r, ok := others.Answer(ctx, q); ok {
			return r, nil
		}
		if q.Hook != live.HookPrompt {
			return r, errors.New("mend does not answer this question")
		}
		if r.Model = others.Model(q); r.Model != nil {
			q.Model, q.Named = r.Model, true
		}
		if q.Session.ID == "" {
			return r, h.hook.LookAll(ctx, lookBack(h.config), q)
		}
		v := h.hook.Look(ctx, live.Situation{Cause: live.BeforeRequest, Session: q.Session, Question: q})
		r.Repair = v.Entry
		return r, v.Err
	}
}
