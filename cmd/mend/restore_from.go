package main

import (
	"context"
	"fmt"
	"slices"

	"mend/change"
	"mend/internal/mend"
	"mend/internal/term"
)

// runRestoreFrom brings back all sessions that another store of the agent has and this one lacks.
func runRestoreFrom(ctx context.Context, env *environment, f writeFlags, r mend.RestoreRequest) error {
	c, err := openFirst(ctx, env, !f.dryRun)
	if err != nil {
		return err
	}
	printStore(env, c)
	heads, err := c.MissingFrom(ctx, r.From)
	if err != nil {
		return err
	}
	env.setAnswer("sessions", []restorableJSON{})
	env.setAnswer("repairs", []repairJSON{})
	if len(heads) == 0 {
		env.Say("Nothing to bring back: this store has each session of %s.", term.Escape(term.ShortenHome(r.From)))
		return nil
	}
	slices.SortStableFunc(heads, func(a, b change.Head) int { return int(b.Updated - a.Updated) })
	var rows []restorable
	for _, h := range heads {
		rows = append(rows, restorable{mend.Restorable{Session: h, State: mend.Elsewhere, Other: r.From}, c})
	}
	list := make([]restorableJSON, len(rows))
	for i, x := range rows {
		list[i] = x.json(env)
	}
	env.setAnswer("sessions", list)
	if !env.JSON {
		env.PrintRows(restorableRows(env.Terminal, rows), "")
		env.Printf("\n")
	}
	if f.dryRun {
		env.Say("Dry run: nothing was written.")
		return nil
	}
	if err := confirmChange(ctx, env.Terminal, f, fmt.Sprintf("Bring back %s?", term.CountWords(len(heads), "session", "sessions")), nil); err != nil {
		return err
	}
	env.opt.Journal.Join()
	done, failed := []repairJSON{}, 0
	operation := ""
	for _, h := range heads {
		p, err := c.ProposeRestore(ctx, nil, h, r)
		var e change.Entry
		if err == nil {
			e, err = applyPlan(ctx, env, c, p.Plan)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed++
			env.Note(fmt.Sprintf("%s is not brought back: %v", quotedTitle(h.Title, h.ID), err))
			continue
		}
		operation = mend.OperationOf(e)
		done = append(done, entryJSON(e, nil))
	}
	env.setAnswer("repairs", done)
	if len(done) > 0 {
		env.Say("%s %s. Undo: %s", term.Good("Brought back"), term.CountWords(len(done), "session", "sessions"), term.Command("mend undo "+operation))
	}
	if failed > 0 {
		return errProblems
	}
	return nil
}
