package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/keep"
	"mend/internal/mend"
	"mend/internal/term"
)

// runRestoreFrom restores all sessions that another store of the agent has and this one lacks.
func runRestoreFrom(ctx context.Context, env *environment, f writeFlags, r mend.RestoreRequest) error {
	c, err := openFirst(ctx, env, !f.dryRun)
	if err != nil {
		return err
	}
	printStore(env, c)
	heads, unread, err := c.MissingFrom(ctx, r.From)
	if err != nil {
		return err
	}
	if unread != nil {
		unread = env.skipStore(ctx, nil, unread)
	}
	slices.SortStableFunc(heads, func(a, b change.Head) int { return int(b.Updated - a.Updated) })
	var rows []restorable
	for _, h := range heads {
		rows = append(rows, restorable{mend.Restorable{Session: h, State: mend.Elsewhere, Other: r.From}, c})
	}
	return env.both(ctx, unread, restoreSeveral(ctx, env, f, r, rows, "Nothing to bring back: this store has each session that is found in "+term.Escape(term.ShortenHome(r.From))+"."))
}

// runRestoreAll restores all sessions with a copy that their agents no longer have.
func runRestoreAll(ctx context.Context, env *environment, f writeFlags, r mend.RestoreRequest) error {
	clients, left := openAll(ctx, env, !f.dryRun)
	if len(clients) == 0 && !errors.Is(left, mend.ErrNoStore) {
		return left
	}
	var gone []restorable
	lost := map[string]restorable{} // by the root of their store
	err := withKept(env, func(k *keep.Keep) error {
		all, unread := listRestorable(ctx, env, clients, k, left)
		left = unread
		for _, x := range all {
			switch {
			case x.State != mend.Deleted:
			case x.store == nil:
				lost[x.storeID().Root] = x
			default:
				gone = append(gone, x)
			}
		}
		if k == nil {
			return env.unkeptError("restoring all that is gone: nothing is known of it")
		}
		return ctx.Err()
	})
	if err != nil {
		return env.both(ctx, left, err)
	}
	made := false
	for _, x := range lost {
		ok, err := makeStore(ctx, env, f, x.storeID())
		if made = made || ok; err == nil && !ok {
			err = x.named().noStore(env)
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
	return env.both(ctx, left, restoreSeveral(ctx, env, f, r, gone, "Nothing to bring back: no copied session is gone."))
}

// restoreSeveral restores sessions that their stores lack as one operation, after a question. none is the text if there
// are none.
func restoreSeveral(ctx context.Context, env *environment, f writeFlags, r mend.RestoreRequest, rows []restorable, none string) error {
	if env.JSON {
		list := make([]restorableJSON, len(rows))
		for i, x := range rows {
			list[i] = newRestorableJSON(env, x)
		}
		env.setAnswers(restoreAnswer{Sessions: list, Repairs: []repairJSON{}})
	}
	if len(rows) == 0 {
		env.Say("%s", none)
		return nil
	}
	env.PrintRows(restorableRows(env.Terminal, rows), "")
	env.Printf("\n")
	r.Gone = true
	brought := false
	err := env.run(ctx, f, job{
		question: fmt.Sprintf("Bring back %s?", term.Count(len(rows), "session")), noDiff: true, n: len(rows),
		steps: func(yield func(step) bool) {
			for _, x := range rows {
				p, err := proposeRestore(ctx, env, x.store, x.Session, r)
				if err == nil && len(p.Plan.Ops) == 0 { // another mend has restored it
					continue
				}
				if !yield(restoreStep(x.store, x.Session, p, err)) {
					return
				}
			}
		},
		done: func(b *batch) {
			brought = true
			env.Say("%s %s. Undo: %s", term.Good("Brought back"), term.Count(len(b.done), "session"), term.Command("mend undo "+mend.OperationOf(b.done[0])))
		},
	})
	if !brought && err == nil && !f.dryRun {
		env.Say("%s", none)
	}
	return err
}
