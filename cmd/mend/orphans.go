package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/repair"
)

type orphanJSON struct {
	Session string   `json:"session"`
	Records []string `json:"records"`
}

// scanOrphans reports the number of orphans and, with all, each of them.
func scanOrphans(ctx context.Context, env *environment, c *mend.Store, all bool) error {
	found, err := c.Orphans(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil { // the sessions are fine
		env.Message(term.Warn("note:"), term.Escape(err.Error()))
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
	env.setAnswer("orphans", answer)
	if n == 0 {
		return nil
	}
	env.Say("%s %s to no session, and the agent never reads them. %s moves them into the journal.",
		term.Faint("note"), term.CountWords(n, "stored item belongs", "stored items belong"), term.Bold(env.cmdline("fix", "--orphans")))
	for _, o := range found {
		if all {
			printOrphans(env.Terminal, o.Session, o.Records(), "")
		}
	}
	return nil
}

// printOrphans lists orphans of one session.
func printOrphans(t *term.Terminal, id string, refs []change.Ref, mark string) {
	t.Printf("  %s\n", term.Escape(id))
	for _, r := range refs {
		t.Printf("    %s%s %s\n", mark, r.Kind, r)
	}
}

// repairOrphans moves orphans into the journal: all, or those of the session that the user names.
func repairOrphans(ctx context.Context, env *environment, names []string, f repairFlags) error {
	if f.latent || f.force || len(f.classes) > 0 || f.apiError != "" {
		return usagef("--orphans can only be combined with --dry-run and --yes")
	}
	env.opt.Journal.Join()
	c, err := openFirst(ctx, env, !f.dryRun)
	if err != nil {
		return err
	}
	printStore(env, c)
	todo, left, err := proposeOrphans(ctx, env, c, names)
	if err != nil {
		return err
	}
	if len(todo) > 0 {
		var ops []change.Op
		for _, p := range todo {
			ops = append(ops, p.result.Plan.Ops...)
		}
		question := fmt.Sprintf("Move the orphans of %s into the journal?", term.Count(len(todo), "session"))
		if err := confirmChange(ctx, env.Terminal, f.writeFlags, question, diffOf(ops)); err != nil {
			return err
		}
	}
	if f.dryRun || len(todo) == 0 {
		if len(todo) > 0 || left == nil {
			finishOrphans(env, todo)
		}
		return left
	}
	run := newRepairRun(newBatch(ctx, env, len(todo)), c, todo)
	for _, p := range todo {
		run.repair(p)
	}
	env.setAnswer("repairs", repairAnswer(todo, run.done)["repairs"])
	return fail.Worst(left, run.result())
}

// proposeOrphans plans to move orphans. The error left is about those for which there is no plan.
func proposeOrphans(ctx context.Context, env *environment, c *mend.Store, names []string) (todo []proposal, left, err error) {
	found, err := c.Orphans(ctx)
	if err != nil {
		return nil, nil, err
	}
	if len(names) > 0 {
		all, _, err := namedSessions(ctx, env, sources{})
		if err != nil {
			return nil, nil, err
		}
		for _, o := range found { // most of these sessions are gone
			if !slices.ContainsFunc(all, func(s namedSession) bool { return s.ID == o.Session }) {
				all = append(all, namedSession{change.Head{ID: o.Session}, c.ID(), c})
			}
		}
		s, err := nameSession(ctx, env, all, names[0])
		if err != nil {
			return nil, nil, err
		}
		found = slices.DeleteFunc(found, func(o mend.Orphaned) bool { return o.Session != s.ID })
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
		printOrphans(env.Terminal, o.Session, o.Records(), "- delete ")
		todo = append(todo, proposal{head: change.Head{ID: o.Session}, result: repair.Result{Plan: p}})
	}
	return todo, left, nil
}

// finishOrphans prints the end of an answer if nothing was written.
func finishOrphans(env *environment, todo []proposal) {
	env.setAnswer("repairs", repairAnswer(todo, nil)["repairs"])
	if len(todo) == 0 {
		env.Printf("%s\n", term.Good("Nothing is orphaned."))
	} else {
		env.Printf("\nDry run: nothing was written. Run again without --dry-run to move them.\n")
	}
}
