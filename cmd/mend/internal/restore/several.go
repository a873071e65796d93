package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/keep"
	"mend/internal/mend"
	"mend/internal/term"
)

// runRestoreFrom restores all sessions that another store of the agent has and this one lacks.
func runRestoreFrom(ctx context.Context, env *frame.Env, f frame.WriteFlags, r mend.RestoreRequest) error {
	c, err := frame.OpenFirst(ctx, env, !f.DryRun)
	if err != nil {
		return err
	}
	frame.PrintStore(env, c)
	heads, unread, err := c.MissingFrom(ctx, r.From)
	if err != nil {
		return err
	}
	if unread != nil {
		unread = env.SkipStore(ctx, nil, unread)
	}
	slices.SortStableFunc(heads, func(a, b change.Head) int { return int(b.Updated - a.Updated) })
	var rows []frame.Restorable
	for _, h := range heads {
		rows = append(rows, frame.Restorable{Restorable: mend.Restorable{Session: h, State: mend.Elsewhere, Other: r.From}, Store: c})
	}
	return env.Both(ctx, unread, restoreSeveral(ctx, env, f, r, rows, "Nothing to bring back: this store has each session that is found in "+term.Escape(term.ShortenHome(r.From))+"."))
}

// runRestoreAll restores all sessions with a copy that their agents no longer have.
func runRestoreAll(ctx context.Context, env *frame.Env, f frame.WriteFlags, r mend.RestoreRequest) error {
	clients, left := frame.OpenAll(ctx, env, !f.DryRun)
	if len(clients) == 0 && !errors.Is(left, mend.ErrNoStore) {
		return left
	}
	var gone []frame.Restorable
	lost := map[string]frame.Restorable{} // by the root of their store
	err := frame.WithKept(env, func(k *keep.Keep) error {
		all, unread := frame.ListRestorable(ctx, env, clients, k, left)
		left = unread
		for _, x := range all {
			switch {
			case x.State != mend.Deleted:
			case x.Store == nil:
				lost[x.StoreID().Root] = x
			default:
				gone = append(gone, x)
			}
		}
		if k == nil {
			return env.UnkeptError("restoring all that is gone: nothing is known of it")
		}
		return ctx.Err()
	})
	if err != nil {
		return env.Both(ctx, left, err)
	}
	made := false
	for _, x := range lost {
		ok, err := makeStore(ctx, env, f, x.StoreID())
		if made = made || ok; err == nil && !ok {
			err = x.Named().NoStore(env)
		}
		if !ok {
			left = fail.Worst(left, err)
		}
	}
	switch {
	case made:
		return runRestoreAll(ctx, env, f, r)
	case len(clients) == 0:
		return lostStore(env, left)
	}
	return env.Both(ctx, left, restoreSeveral(ctx, env, f, r, gone, "Nothing to bring back: no copied session is gone."))
}

// restoreSeveral restores sessions that their stores lack as one operation, after a question. none is the text if there
// are none.
func restoreSeveral(ctx context.Context, env *frame.Env, f frame.WriteFlags, r mend.RestoreRequest, rows []frame.Restorable, none string) error {
	if env.JSON {
		list := make([]restorableJSON, len(rows))
		for i, x := range rows {
			list[i] = newRestorableJSON(env, x)
		}
		env.SetAnswers(RestoreAnswer{Sessions: list, Repairs: []show.RepairJSON{}})
	}
	if len(rows) == 0 {
		env.Say("%s", none)
		return nil
	}
	env.PrintRows(restorableRows(env.Terminal, rows), "")
	env.Printf("\n")
	r.Gone = true
	brought := false
	err := env.Run(ctx, f, frame.Job{
		Question: fmt.Sprintf("Bring back %s?", term.Count(len(rows), "session")), NoDiff: true, N: len(rows),
		Steps: func(yield func(frame.Step) bool) {
			for _, x := range rows {
				p, err := frame.ProposeRestore(ctx, env, x.Store, x.Session, r)
				if err == nil && len(p.Plan.Ops) == 0 { // another mend has restored it
					continue
				}
				if !yield(restoreStep(x.Store, x.Session, p, err)) {
					return
				}
			}
		},
		Done: func(b *frame.Batch) {
			brought = true
			env.Say("%s %s. Undo: %s", term.Good("Brought back"), term.Count(len(b.Done), "session"), term.Command("mend undo "+mend.OperationOf(b.Done[0])))
		},
	})
	if !brought && err == nil && !f.DryRun {
		env.Say("%s", none)
	}
	return err
}
