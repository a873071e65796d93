package main

import (
	"context"
	"errors"
	"time"

	"mend/internal/config"
	"mend/internal/hooks"
	"mend/internal/live"
)

// questions tells the plugin where it can ask, and returns the function that answers.
func (h *recoverer) questions(ctx context.Context, pipe *live.Pipe, others *hooks.Hooks) func(context.Context, live.Question) (live.Reply, error) {
	wait := milliseconds(h.config.PreflightMs)
	offer := live.Offer{Hooks: map[live.HookPoint]time.Duration{}}
	off := h.config.Skips(config.SkipPreflight)
	if !off {
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
		if off {
			return r, errors.New("the setting \"skip\" has \"preflight\"")
		}
		r.Repair, err = h.hook.AnswerQuestion(ctx, time.Now().Add(-time.Duration(h.config.LookBackHours)*time.Hour), q)
		return r, err
	}
}
