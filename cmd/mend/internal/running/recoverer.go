package running

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"mend/change"
	"mend/internal/config"
	"mend/internal/hooks"
	"mend/internal/live"
	"mend/internal/mend"
	"mend/internal/unattended"
	"mend/repair"
)

// A recoverer recovers the sessions of one agent according to the settings.
type recoverer struct {
	hook   *live.Hook
	client *mend.Store
	config config.Config
	log    *slog.Logger
	copies *copier
}

func logNotes(log *slog.Logger, notes []string) {
	for _, note := range notes {
		log.Info("settings", "note", note)
	}
}

// newRecoverer returns the recoverer of a store. A nil agent shows no messages.
func newRecoverer(agent live.Agent, journal *mend.Journal, client *mend.Store, c config.Config, log *slog.Logger) *recoverer {
	o := liveOptions(c)
	o.Log = log
	return &recoverer{
		hook: live.New(agent, unattended.New(client), o), client: client, config: c, log: log,
		copies: &copier{journal: journal, config: c, log: log, client: client},
	}
}

// lookBack returns the time since which a session must have been used to be examined at the start.
func lookBack(c config.Config) time.Time {
	return time.Now().Add(-time.Duration(c.LookBackHours) * time.Hour)
}

// liveOptions converts the settings to the options of a [live.Hook].
func liveOptions(c config.Config) live.Options {
	o := live.Options{
		KeepInterrupted: c.Skips(config.SkipInterrupted), AutoResume: c.AutoResume, MaxAttempts: c.MaxRetries,
		TrimOverflow:  c.TrimOverflow,
		SkipPreflight: c.Skips(config.SkipPreflight),
		ToastTime:     seconds(c.NotificationSeconds), Placeholder: c.Placeholder,
	}
	for _, word := range c.Skip {
		o.Disabled = append(o.Disabled, repair.Class(word)) // the other words of skip are not classes
	}
	return o
}

// questions sends the plugin the points at which it can ask mend, and returns the function that answers.
func (h *recoverer) questions(ctx context.Context, pipe *live.Pipe, others *hooks.Hooks) live.Answerer {
	wait := time.Duration(h.config.PreflightMs) * time.Millisecond
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
		if q.Session == "" {
			return r, h.hook.LookAll(ctx, lookBack(h.config), q)
		}
		v := h.hook.Look(ctx, live.Situation{Cause: live.BeforeRequest, Head: change.Head{ID: q.Session}, Question: q})
		r.Repair = v.Entry
		return r, v.Err
	}
}

// otherHooks returns the options of the hooks that repair no session. once means that the agent ends with its turn.
func otherHooks(c config.Config, once bool) hooks.Options {
	o := hooks.Options{WriteGuard: c.WriteGuard, ExplainToolErrors: c.ExplainToolErrors}
	if c.WatchSubagents != "off" {
		o.Children = hooks.ChildOptions{After: seconds(c.StuckAfter), Action: c.WatchSubagents}
	}
	if c.Skips(config.SkipFallback) {
		return o
	}
	o.Fallback = hooks.FallbackPolicy{
		Models: parseModels(c.FallbackModels), AgentModels: map[string][]live.Model{},
		Codes: c.FallbackErrors, Attempts: c.FallbackAttempts, Restore: c.FallbackRestore, KeepTurns: once,
		Cooldown: seconds(c.FallbackCooldownSeconds), Silence: seconds(c.FallbackSilenceSeconds),
	}
	for agent, models := range c.AgentFallbackModels {
		o.Fallback.AgentModels[agent] = parseModels(models)
	}
	return o
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// parseModels returns the models with these names. The settings have checked them.
func parseModels(names []string) []live.Model {
	var all []live.Model
	for _, name := range names {
		provider, model, variant, _ := config.ParseModel(name) // it was validated
		all = append(all, live.Model{ProviderID: provider, ModelID: model, Variant: variant})
	}
	return all
}
