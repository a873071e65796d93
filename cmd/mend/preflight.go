package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"mend/internal/atomicfile"
	"mend/internal/config"
	"mend/internal/hooks"
	"mend/internal/live"
	"mend/internal/ownfile"
)

// questions tells the plugin where it can ask, and returns the function that answers.
func (h *recoverer) questions(ctx context.Context, pipe *live.Pipe, others *hooks.Hooks) func(context.Context, live.Question) (live.Reply, error) {
	wait := milliseconds(h.config.PreflightMs)
	offer := live.Offer{Hooks: map[live.HookPoint]time.Duration{}}
	if h.config.Preflight == config.PreflightRequest {
		offer.Hooks[live.HookRepair] = wait
	}
	if h.config.Preflight != config.PreflightOff {
		offer.Hooks[live.HookCompare] = wait
	}
	off := h.config.Preflight != config.PreflightRepair
	if !off {
		offer.Wait = wait
	}
	others.Offer(&offer, wait)
	if err := pipe.Ready(ctx, offer); err != nil {
		h.log.Warn("offering to answer questions", "error", err)
	}
	var announced sync.Once
	return func(ctx context.Context, q live.Question) (r live.Reply, err error) {
		if r, ok := others.Answer(ctx, q); ok {
			return r, nil
		}
		switch {
		case q.Hook == live.HookRepair && h.config.Preflight == config.PreflightRequest:
			r.Edits, err = h.hook.RepairRequest(ctx, q)
			return r, err
		case q.Hook != live.HookPrompt:
			return r, errors.New("mend does not answer this question")
		}
		if r.Model = others.Model(q); r.Model != nil {
			q.Model, q.Named = r.Model, true
		}
		if off {
			return r, errors.New("the setting \"preflight\" is not \"repair\"")
		}
		r.Repair, err = h.hook.AnswerQuestion(ctx, time.Now().Add(-time.Duration(h.config.LookBackHours)*time.Hour), q)
		if q.Session.ID != "" && !errors.Is(err, live.ErrUnverified) {
			announced.Do(func() { h.announcePreflight(ctx, pipe) })
		}
		return r, err
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
		Title: "mend", Variant: live.VariantWarning, Duration: h.config.ToastSeconds * 1000,
		Message: "mend now repairs broken sessions before each prompt. Setting preflight=off stops that.",
	}
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
