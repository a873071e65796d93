package main

import (
	"context"
	"log/slog"
	"time"

	"mend/internal/config"
	"mend/internal/live"
	"mend/internal/mend"
	"mend/internal/unattended"
)

func logOptions(debug bool) *slog.HandlerOptions {
	if debug {
		return &slog.HandlerOptions{Level: slog.LevelDebug}
	}
	return &slog.HandlerOptions{Level: slog.LevelInfo}
}

// A recoverer recovers the sessions of one agent according to the settings.
type recoverer struct {
	hook   *live.Hook
	client *mend.Store
	config config.Config
	log    *slog.Logger

	journal string        // the folder of the journal; "" for watch
	state   *hookReporter // of this process
	copies  *turnKeeper   // nil for watch
}

// logNotes logs what a user should know of the settings.
func logNotes(log *slog.Logger, notes []string) {
	for _, note := range notes {
		log.Info("settings", "note", note)
	}
}

func newRecoverer(agent live.Agent, client *mend.Store, c config.Config, o live.Options, log *slog.Logger, state *hookReporter) *recoverer {
	o.Versions = versionLog{state.dir, client.ID().Agent}
	o.Log, o.Report, o.Version, o.Claim = log, state.report, state.version, claimMessages(state.dir, client.ID(), log)
	return &recoverer{hook: live.New(agent, unattended.New(client), o), client: client, config: c, log: log, state: state}
}

// recoverMissed recovers sessions that broke before listening, in one directory or, for
// "", in all.
func (h *recoverer) recoverMissed(ctx context.Context, listening time.Time, directory string) {
	if h.config.LookBackHours == 0 {
		return
	}
	since := time.Now().Add(-time.Duration(h.config.LookBackHours) * time.Hour)
	if err := h.hook.RecoverMissed(ctx, since, listening, directory); err != nil && ctx.Err() == nil {
		h.log.Warn("looking for sessions that broke before", "error", err)
	}
}

// gcDaily deletes images from the journal that are older than days, once a day. It does
// nothing if days is 0.
func gcDaily(ctx context.Context, env *environment, days int, log *slog.Logger) {
	if days == 0 {
		return
	}
	for day := time.NewTicker(24 * time.Hour); ; {
		freed, err := env.opt.Journal.GC(ctx, time.Now().AddDate(0, 0, -days), nil)
		if err == nil {
			_, err = sweep(ctx, env, false)
		}
		if err != nil {
			log.Warn("deleting old undo data from the journal", "error", err)
		} else if freed.Images > 0 {
			log.Info("deleted old undo data from the journal", "images", freed.Images, "bytes", freed.Bytes)
		}
		select {
		case <-day.C:
		case <-ctx.Done():
			day.Stop()
			return
		}
	}
}
