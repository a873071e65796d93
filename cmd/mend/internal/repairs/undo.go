package repairs

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
)

// Undo returns the verb undo.
func Undo(env *frame.Env) *cobra.Command {
	var f undoFlags
	cmd := &cobra.Command{
		Use:     "undo [ID]",
		Aliases: []string{"redo"}, // the former name of undo --redo
		Short:   "Undo the last change, or an earlier one",
		Long: `Undo restores the data that a change of mend replaced: the same bytes, names and modes as
before. The undo is itself an entry of the journal. With --redo, an undone change is applied
again.

ID is the id of a repair, or of an operation: all changes of one run of mend. The start of an
id is enough. Without an id, undo reverts the newest change of any kind, in any store, that is
in force and is not itself an undo; with --redo it applies again what was undone last.

If something has changed the same records since, undo leaves that session unchanged, and shows
the records before the repair, as the repair wrote them, and now. The other sessions of an
operation are still restored; run undo again for the rest.`,
		Example: `  mend undo                     what the last run of mend changed
  mend undo --redo              what was undone last, again
  mend undo bak                 the start of an id is enough
  mend undo op-bakobe           all repairs of an operation (mend log)
  mend undo --session ses_abc   all repairs of a session
  mend undo bak --only prt_1    only this change`,
		Args: frame.AtMostOne("repair"),
		RunE: func(cmd *cobra.Command, ids []string) error {
			f.redo = f.redo || cmd.CalledAs() == "redo"
			switch {
			case len(ids) == 1 && f.session != "":
				return frame.Usagef("undo needs a repair id, or --session SESSION")
			case len(ids) == 0 && f.only != nil:
				return frame.Usagef("--only needs a repair id")
			case f.redo && (f.session != "" || f.only != nil):
				return frame.Usagef("--redo applies again everything that an undo reverted: it cannot be combined with --session or --only")
			}
			return runUndo(cmd.Context(), env, ids, f)
		},
	}
	f.Add(cmd, "overwrite newer changes; the current bytes are saved to the journal first")
	f.AddPatch(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&f.redo, "redo", false, "apply again what was undone")
	fl.StringVar(&f.session, "session", "", "undo every repair of this `SESSION` in one step")
	fl.StringSliceVar(&f.only, "only", nil, "undo only the changes of these records of the repair")
	return cmd
}

type undoFlags struct {
	frame.WriteFlags
	redo    bool
	session string
	only    []string
}

func runUndo(ctx context.Context, env *frame.Env, ids []string, f undoFlags) error {
	release := env.Opt.Journal.Hold()
	defer release()
	v := undoRun{flags: f.WriteFlags, release: release, one: f.only != nil, Reversal: frame.Reversal{
		Env: env, Ctx: ctx, DryRun: f.DryRun, Names: ids,
		Request: mend.UndoRequest{Only: f.only, Force: f.Force, Redo: f.redo, Named: env.Opt.Store != ""},
	}}
	if f.session != "" {
		found, err := frame.FindSessions(ctx, env, []string{f.session})
		if err != nil {
			return err
		}
		v.Session, v.Agent = found[0].ID, found[0].StoreID.Agent
	}
	return v.run()
}

// An undoRun shows a reversal, asks, and makes it.
type undoRun struct {
	frame.Reversal
	flags   frame.WriteFlags
	release func() // of the journal, see [mend.Journal.Hold]
	one     bool   // there must be exactly one repair, because --only names its records
}

func (v *undoRun) run() error {
	n, err := v.Find()
	if err == nil && v.one && n != 1 {
		err = frame.Usagef("--only needs the id of one repair")
	}
	if err != nil {
		return err
	}
	if err = v.Open(); err != nil {
		if v.IsNewest() && errors.Is(err, mend.ErrNoStore) {
			err = fail.WithHint(err, `nothing was changed. "mend log" lists the older changes; "mend undo ID" reverts one of them`)
		}
		return err
	}
	if (n > 1 || v.Session != "" || v.IsNewest()) && !v.flags.DryRun { // Open may recover some
		if _, err = v.Find(); err != nil {
			return err
		}
		_ = v.Open() // the plans return the error
	}
	if len(v.Todo) > 1 {
		v.release() // planning several takes long
	}
	b := frame.NewBatch(v.Ctx, v.Env, len(v.Todo))
	v.Report = func(s *frame.SessionReversal) { b.Fail(v.step(s, change.Plan{}, s.Err), s.Err) }
	v.Plan()
	v.release()
	if err := v.Ctx.Err(); err != nil {
		return err
	}
	return v.revert(b)
}

// revert shows the changes of all sessions, asks once, and makes them.
func (v *undoRun) revert(b *frame.Batch) error {
	var sessions []*frame.SessionReversal
	var repairs, made []string // to be undone or applied again, and those that were
	sessionIDs := map[string]bool{}
	for i := range v.Todo {
		if s := &v.Todo[i]; s.Err == nil {
			sessions, repairs = append(sessions, s), append(repairs, s.Repairs...)
			sessionIDs[s.Session] = true
		}
	}
	name, leftOut := "", int64(0)
	if len(repairs) > 0 {
		name = frame.NameRepairs(len(repairs), len(sessionIDs), v.Entry(repairs[0]))
	}
	steps := func(yield func(frame.Step) bool) {
		for _, s := range sessions {
			p, err := v.MakePlan(s)
			one := v.step(s, p, err)
			one.Apply = func(b *frame.Batch) (change.Entry, error) {
				e, err := b.Apply(s.Store, p)
				if err == nil {
					n, err := s.Store.CountUnrestorable(v.Ctx, e)
					leftOut, b.Worst = leftOut+n, fail.Worst(b.Worst, err)
					made = append(made, s.Repairs...)
				}
				if v.flags.Force {
					err = frame.ForcedError(err)
				}
				return e, err
			}
			if !yield(one) {
				return
			}
		}
	}
	return b.Run(v.flags, frame.Job{
		Question: fmt.Sprintf("%s %s?", term.Capitalize(v.Verb()), name), N: len(v.Todo),
		Show: func() { v.show(repairs, sessions, steps) }, Steps: steps,
		Done: func(b *frame.Batch) {
			v.printReversal(b.Done[0], name, repairs, made)
			if leftOut > 0 {
				v.SetAnswer("leftOut", leftOut)
				v.Say("%s %s left out, because their sessions were deleted since.", term.Warn("note:"), term.CountWords(int(leftOut), "row is", "rows are"))
			}
		},
	})
}

// step returns the step of a session, with its plan, or the reason why it has no plan.
func (v *undoRun) step(s *frame.SessionReversal, p change.Plan, err error) frame.Step {
	p.Session = s.Session
	if err != nil {
		p.Cause.Title = v.Entry(s.IDs[0]).Cause.Title
	}
	return frame.Step{Store: s.Store, Plan: p, Name: "session " + show.QuotedTitle(p.Cause.Title, s.Session), IDs: s.IDs, Err: err}
}

// show shows what is reverted, unless the user has named it and agreed with --yes.
func (v *undoRun) show(repairs []string, sessions []*frame.SessionReversal, steps iter.Seq[frame.Step]) {
	if (!v.flags.Yes || v.IsNewest()) && !v.JSON {
		if len(repairs) == 1 {
			show.EntryHead(v.Terminal, v.Entry(repairs[0]), false)
		} else {
			_ = frame.PrintEntries(v.Env, v.Entries(repairs), nil, "")
		}
		v.Printf("\n")
	}
	for _, s := range sessions {
		v.PrintBound(s.Bound)
	}
	switch {
	case v.flags.Patch:
		v.Page(func(t *term.Terminal) { frame.PrintDiff(t, steps) })
	case v.flags.Yes:
	case len(repairs) == 1 && v.Entry(repairs[0]).Cause.Kind == change.CauseSalvage:
		v.Printf("%s\n", map[bool]string{true: "The damaged database comes back in place of the new one.", false: "The new database comes back in place of the damaged one."}[sessions[0].Kind == change.CauseUndo])
	default:
		what := term.Count(v.Changes, "change")
		if len(sessions) > 1 {
			what += fmt.Sprintf(" in %d sessions", len(sessions))
		}
		v.Printf("%s would %s %s.\n", term.Capitalize(v.Verb()), map[bool]string{true: "revert", false: "make"}[sessions[0].Kind == change.CauseUndo], what)
	}
}

// printReversal prints which repairs were undone or applied again, starting with the entry e, and how to revert that.
// name is the name of all repairs that were planned.
func (v *undoRun) printReversal(e change.Entry, name string, repairs, made []string) {
	id, undo, redo := e.ID, e.ID, repairs[len(repairs)-1]
	switch {
	case len(v.Todo) > 1:
		if len(made) < len(repairs) {
			name = fmt.Sprintf("%d of %s", len(made), term.Count(len(repairs), "repair"))
		}
		id, undo = mend.OperationOf(e), mend.OperationOf(v.Entry(made[0]))
		redo = undo
	case len(made) == 1: // applied again it is in force, under its own id
		undo = made[0]
	}
	done, next, command := "Undone:", "Apply again", "mend undo --redo "+redo
	if e.Cause.Partial {
		name = term.Count(len(e.Ops), "change") + " of " + name
		next, command = "Undo", "mend undo "+id
	}
	if e.Cause.Kind == change.CauseRedo {
		done, next, command = "Applied again:", "Undo", "mend undo "+undo
	}
	v.Say("%s %s (%s). %s: %s", term.Good(done), name, term.Bold(id), next, term.Command(command))
}
