package main

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"time"

	"mend/change"
	"mend/internal/config"
	"mend/internal/live"
	"mend/internal/mend"
	"mend/internal/unattended"
	"mend/repair"
)

func logOptions() *slog.HandlerOptions {
	if on, err := strconv.ParseBool(os.Getenv("MEND_DEBUG")); on && err == nil {
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

	copies *turnKeeper // nil for watch
}

// logNotes logs what a user should know of the settings.
func logNotes(log *slog.Logger, notes []string) {
	for _, note := range notes {
		log.Info("settings", "note", note)
	}
}

func newRecoverer(agent live.Agent, client *mend.Store, c config.Config, o live.Options, log *slog.Logger) *recoverer {
	o.Log = log
	return &recoverer{hook: live.New(agent, unattended.New(client), o), client: client, config: c, log: log}
}

// look examines a session that changed in the store, and repairs it: the error with which its last turn ended, or what is
// broken. It returns the id of the repair, "" for none, and the worst that is broken; the error is why the session is left
// as it is.
func (h *recoverer) look(ctx context.Context, head change.Head) (entry string, worst *repair.Diagnosis, err error) {
	x, err := h.client.Examine(ctx, head, repair.Request{})
	if err != nil {
		h.log.Debug("examining a session", "session", head.ID, "error", err)
		return "", nil, nil
	}
	if i := slices.IndexFunc(x.Diagnoses, func(d repair.Diagnosis) bool { return d.Severity == repair.Broken }); i >= 0 {
		worst = &x.Diagnoses[i]
	}
	var failure *live.StoredFailure
	if f := x.Failure; f != nil {
		failure = &live.StoredFailure{Message: f.Message, Error: f.Error, Time: f.Time}
	}
	entry, err = h.hook.RepairStored(ctx, head, failure, worst != nil && !h.config.Skips(config.SkipPreflight))
	return entry, worst, err
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
