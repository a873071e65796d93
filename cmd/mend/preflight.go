package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"mend/config"
	"mend/internal/atomicfile"
	"mend/internal/ownfile"
	"mend/live"
)

// preflight tells the plugin that its questions are answered, and returns the function
// that answers them.
func (h *recoverer) preflight(ctx context.Context, pipe *live.Pipe) func(context.Context, live.Question) (string, error) {
	wait := milliseconds(h.config.PreflightMs)
	if h.config.Preflight == config.PreflightOff {
		wait = 0
	}
	if err := pipe.Ready(ctx, wait); err != nil {
		h.log.Warn("offering to repair before requests", "error", err)
	}
	var announced sync.Once
	return func(ctx context.Context, q live.Question) (string, error) {
		if wait == 0 {
			return "", errPreflightOff
		}
		entry, err := h.hook.AnswerQuestion(ctx, time.Now().Add(-time.Duration(h.config.LookBackHours)*time.Hour), q)
		if q.Session.ID != "" && !errors.Is(err, live.ErrUnverified) {
			announced.Do(func() { h.announcePreflight(ctx, pipe) })
		}
		return entry, err
	}
}

// preflightNotice is the name of the empty file in the journal's folder that says that
// the user knows of repairs before requests.
const preflightNotice = "preflight-announced"

// announcePreflight shows once that sessions are repaired before requests, to a user whose
// plugin is older than that.
func (h *recoverer) announcePreflight(ctx context.Context, pipe *live.Pipe) {
	if !h.config.Toasts || hasPreflightNotice(h.journal) {
		return
	}
	toast := live.Toast{
		Title: "mend", Variant: live.VariantWarning, Duration: 10_000,
		Message: "mend now repairs broken sessions before each prompt. Setting preflight=off stops that.",
	}
	ctx, cancel := context.WithTimeout(ctx, milliseconds(h.config.TimeoutMs))
	defer cancel()
	err := pipe.Toast(ctx, "", toast)
	if err == nil {
		err = writePreflightNotice(h.journal)
	}
	if err != nil {
		h.log.Warn("saying that sessions are repaired before prompts", "error", err)
	}
}

func hasPreflightNotice(journal string) bool {
	f, err := ownfile.Open(filepath.Join(journal, preflightNotice), os.O_RDONLY)
	if err == nil {
		f.Close()
	}
	return err == nil
}

func writePreflightNotice(journal string) error {
	if err := ownfile.MakeDir(journal); err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(journal, preflightNotice), nil, 0o600)
}

var errPreflightOff = errors.New("the setting \"preflight\" is off")
