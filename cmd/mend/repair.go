package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mend"
	"mend/change"
	"mend/repair"
	"mend/session"
)

// repairFlags are the flags of repair.
type repairFlags struct {
	dryRun, yes, latent, force bool
	orphans, all               bool
	classes                    []string
	apiError                   string
}

func (a *app) repairVerb() *cobra.Command {
	var f repairFlags
	cmd := &cobra.Command{
		Use:   "repair [SESSION]",
		Short: "Repair one session, or every broken one",
		Long: `Repair plans the smallest change that fixes a session, proves the plan on a copy,
writes it into the journal, and then changes the store in one step that is whole
or absent, whatever happens.

With a session it repairs that one. Without, it shows what it would do for every
broken session and asks once.

With --error it repairs what the error names, then all that is broken, and says what
remains. Of altered signatures and the like only the provider can tell which are
refused, and it names one at a time: with --all, or when such an error comes for the
second time, all thinking of that kind is removed at once.`,
		Example: `  mend repair                      show all broken sessions, ask, repair
  mend repair ses_abc --dry-run    show the change alone
  mend repair ses_abc --error @err.txt`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			for _, name := range []string{"class", "error"} { // an empty variable in a script must not mean "everything"
				if fl := cmd.Flags().Lookup(name); fl.Changed && strings.Trim(fl.Value.String(), "[]") == "" {
					return usagef("--%s is empty", name)
				}
			}
			if f.all && f.apiError == "" {
				return usagef("--all goes with --error")
			}
			if f.orphans {
				return a.repairOrphans(cmd, ids, f)
			}
			return a.repair(cmd, ids, f)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.dryRun, "dry-run", false, "show what would be done, and write nothing")
	fl.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	fl.BoolVar(&f.latent, "latent", false, "fix also what only another version or setting would refuse")
	fl.BoolVar(&f.force, "force", false, "repair although the agent is at work in the session")
	fl.BoolVar(&f.orphans, "orphans", false, "repair no session, but put away messages and parts to which none leads")
	fl.StringSliceVar(&f.classes, "class", nil, "fix this class alone: "+classList())
	a.thinkingFlag(fl)
	fl.BoolVar(&f.all, "all", false, "with --error: repair all of its kind, not only the place that it names")
	fl.StringVar(&f.apiError, "error", "", "the error of the model API: its text, @FILE, or - for the standard input")
	return cmd
}

func classList() string {
	var names []string
	for _, c := range repair.Repairable() {
		names = append(names, string(c))
	}
	return strings.Join(names, ", ")
}

// A proposal is a session with its plan.
type proposal struct {
	head   session.Head
	result repair.Result
}

func (a *app) repair(cmd *cobra.Command, ids []string, f repairFlags) error {
	req, err := a.repairRequest(cmd.Context(), ids, f)
	if err != nil {
		return err
	}
	c, err := a.open(cmd, !f.dryRun)
	if err != nil {
		return err
	}
	heads, err := selectSessions(cmd.Context(), c, ids)
	if err != nil {
		return err
	}
	a.printStore(c)
	proposals, err := a.propose(cmd.Context(), c, heads, req, len(ids) > 0)
	if cmd.Context().Err() != nil {
		return err
	}
	left := worst(err, remainingError(proposals, req))
	todo := nonEmptyPlans(proposals)
	if len(todo) > 0 && !f.dryRun && !f.yes {
		if err := a.confirmRepair(cmd.Context(), len(ids) > 0, todo); err != nil {
			return err
		}
	}
	if f.dryRun || len(todo) == 0 {
		a.finishRepair(proposals, nil, left, req, f.dryRun)
		return left
	}
	done, err := a.applyAll(cmd.Context(), c, todo)
	a.finishRepair(proposals, done, left, req, false)
	return worst(left, err)
}

// propose plans a repair of each session and prints it. It reports sessions for which planning
// fails, and returns their worst error with the other plans.
func (a *app) propose(ctx context.Context, c *mend.Client, heads []session.Head, req mend.RepairRequest, named bool) ([]proposal, error) {
	var ps []proposal
	var failed error
	bar := a.progress(len(heads), "planning")
	for _, h := range heads {
		r, err := c.ProposeRepair(ctx, h, req)
		bar.step()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, repair.ErrBusy) && !named && !needsRepair(ctx, c, h, req) {
			continue
		}
		if err != nil {
			if !named {
				bar.clear()
				a.printError(err)
				err = &reportedError{err, exitCode(err)}
			}
			failed = worst(failed, err)
			continue
		}
		if named || len(r.Plan.Ops) > 0 || hasBroken(r.Remaining) || hasUnfixed(r, req) {
			bar.clear()
			p := proposal{head: h, result: r}
			a.printProposal(p)
			ps = append(ps, p)
		}
	}
	bar.clear()
	return ps, failed
}

// needsRepair reports whether a busy session would be repaired if it were not.
func needsRepair(ctx context.Context, c *mend.Client, h session.Head, req mend.RepairRequest) bool {
	req.Force = true
	r, err := c.ProposeRepair(ctx, h, req)
	return err != nil || len(r.Plan.Ops) > 0
}

func nonEmptyPlans(ps []proposal) []proposal {
	var todo []proposal
	for _, p := range ps {
		if len(p.result.Plan.Ops) > 0 {
			todo = append(todo, p)
		}
	}
	return todo
}

// remainingError returns errProblems if a fault or a requested fix remains, or if nothing
// matches the provider's error.
func remainingError(ps []proposal, r mend.RepairRequest) error {
	for _, p := range ps {
		if hasBroken(p.result.Remaining) || hasUnfixed(p.result, r) || r.Error != nil && len(p.result.Plan.Ops) == 0 {
			return errProblems
		}
	}
	return nil
}

// hasUnfixed reports whether something that was requested by class or error has no fix.
func hasUnfixed(result repair.Result, r mend.RepairRequest) bool {
	return len(result.Unfixable) > 0 && (r.Error != nil || len(r.Classes) > 0)
}

func hasBroken(ds []repair.Diagnosis) bool {
	return slices.ContainsFunc(ds, func(d repair.Diagnosis) bool { return d.Severity == repair.Broken })
}

// applyAll applies the plans one after the other, and prints each repair id when its change is
// durable.
func (a *app) applyAll(ctx context.Context, c *mend.Client, todo []proposal) ([]change.Entry, error) {
	var done []change.Entry
	var failed error
	var shared []change.Op // ops on rows of projects, which sessions share
	for _, p := range todo {
		if ctx.Err() != nil {
			return done, worst(failed, ctx.Err())
		}
		plan := p.result.Plan
		plan.Ops = slices.DeleteFunc(slices.Clone(plan.Ops), func(o change.Op) bool {
			return slices.ContainsFunc(shared, func(s change.Op) bool { return s.Ref == o.Ref && s.Pre.Equal(o.Pre) && s.Post.Equal(o.Post) })
		})
		if len(plan.Ops) == 0 {
			continue
		}
		e, err := a.applyPlan(ctx, c, plan)
		if err = a.printConflicts(err); err != nil {
			if len(todo) > 1 {
				a.printError(err)
				err = &reportedError{err, exitCode(err)}
			}
			failed = worst(failed, err)
			continue
		}
		done = append(done, e)
		for _, o := range plan.Ops {
			if o.Ref.Kind == session.KindProject {
				shared = append(shared, o)
			}
		}
		if !a.asJSON {
			a.printCommitted(e)
		}
	}
	return done, failed
}
