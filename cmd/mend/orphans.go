package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/repair"
)

type orphanJSON struct {
	Session string   `json:"session"`
	Records []string `json:"records"`
}

// scanOrphans reports the number of orphans and, with all, each of them.
func (a *app) scanOrphans(ctx context.Context, c *mend.Store, all bool) error {
	found, err := c.Orphans(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil { // the sessions are fine
		a.printMessage(warn("note:"), escape(err.Error()))
		return nil
	}
	n := 0
	answer := []orphanJSON{}
	for _, o := range found {
		one := orphanJSON{o.Session, []string{}}
		for _, r := range o.Records() {
			one.Records = append(one.Records, r.String())
		}
		n += len(one.Records)
		answer = append(answer, one)
	}
	a.setAnswer("orphans", answer)
	if n == 0 {
		return nil
	}
	a.say("%s %s of %s are orphaned: they belong to no session, and the agent never reads them. %s moves them into the journal.",
		faint("note"), count(n, "record"), count(len(found), "session"), bold(a.cmdline("repair", "--orphans")))
	for _, o := range found {
		if all {
			a.printOrphans(o.Session, o.Records(), "")
		}
	}
	return nil
}

// printOrphans lists orphans of one session.
func (a *app) printOrphans(id string, refs []change.Ref, mark string) {
	a.printf("  %s\n", escape(id))
	for _, r := range refs {
		a.printf("    %s%s %s\n", mark, r.Kind, r)
	}
}

// repairOrphans moves orphans into the journal: all, or those of the session whose id starts
// with ids[0].
func (a *app) repairOrphans(cmd *cobra.Command, ids []string, f repairFlags) error {
	if f.latent || f.force || len(f.classes) > 0 || f.apiError != "" {
		return usagef("--orphans can only be combined with --dry-run and --yes")
	}
	a.opt.Journal.Join()
	c, err := a.open(cmd, !f.dryRun)
	if err != nil {
		return err
	}
	a.printStore(c)
	todo, left, err := a.proposeOrphans(cmd.Context(), c, ids)
	if err != nil {
		return err
	}
	if len(todo) > 0 {
		var ops []change.Op
		for _, p := range todo {
			ops = append(ops, p.result.Plan.Ops...)
		}
		question := fmt.Sprintf("Move the orphans of %s into the journal?", count(len(todo), "session"))
		if err := a.confirmChange(cmd.Context(), writeFlags{dryRun: f.dryRun, yes: f.yes}, question, ops); err != nil {
			return err
		}
	}
	if f.dryRun || len(todo) == 0 {
		if len(todo) > 0 || left == nil {
			a.finishOrphans(todo)
		}
		return left
	}
	run := repairRun{app: a, client: c, agent: agentOf(c.ID()), proposals: todo}
	err = left
	for _, p := range todo {
		err = fail.Worst(err, run.apply(cmd.Context(), p, len(todo) == 1))
	}
	if a.asJSON {
		a.setAnswer("repairs", repairAnswer(todo, run.done)["repairs"])
	}
	return err
}

// proposeOrphans plans to move orphans. The error left is about those for which there is no plan.
func (a *app) proposeOrphans(ctx context.Context, c *mend.Store, ids []string) (todo []proposal, left, err error) {
	found, err := c.Orphans(ctx)
	if err != nil {
		return nil, nil, err
	}
	if len(ids) > 0 {
		found = slices.DeleteFunc(found, func(o mend.Orphaned) bool { return !strings.HasPrefix(o.Session, ids[0]) })
	}
	for _, o := range found {
		p, err := c.ProposeOrphans(ctx, o)
		var linked *change.LinkedError
		if errors.As(err, &linked) {
			left = err
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		a.printOrphans(o.Session, o.Records(), "- delete ")
		todo = append(todo, proposal{head: change.Head{ID: o.Session}, result: repair.Result{Plan: p}})
	}
	return todo, left, nil
}

// finishOrphans prints the end of an answer if nothing was written.
func (a *app) finishOrphans(todo []proposal) {
	switch {
	case a.asJSON:
		a.setAnswer("repairs", repairAnswer(todo, nil)["repairs"])
	case len(todo) == 0:
		a.printf("%s\n", good("No orphaned records."))
	default:
		a.printf("\nDry run: nothing was written. Run again without --dry-run to move them.\n")
	}
}
