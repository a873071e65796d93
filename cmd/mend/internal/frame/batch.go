package frame

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"mend/change"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/repair"
)

// A Step is one plan of a job.
type Step struct {
	Store *mend.Store
	Plan  change.Plan
	Name  string                             // names the step in its error
	IDs   []string                           // of the repairs that are undone or applied again
	Err   error                              // why there is no plan
	Apply func(*Batch) (change.Entry, error) // nil: apply the plan unchanged
}

// A Job is everything that a verb writes: one question, one operation, one answer.
type Job struct {
	Question string
	Show     func()         // nil: the verb has shown it
	Failed   []Step         // steps without a plan, reported before the others are shown
	Steps    iter.Seq[Step] // iterated again for a diff, so that only one plan is in memory
	N        int            // the number of steps, including failed ones; with one, its error omits the name
	NoDiff   bool           // do not offer the diff
	Dry      string         // what a dry run prints after "nothing was written"
	Forks    bool           // the verb repairs the forks of the sessions, too

	Ended func(Step, change.Entry, error) // called after each step; may be nil
	Done  func(*Batch)                    // prints the result; may be nil
}

// OneStep returns the steps of a job with one plan.
func OneStep(c *mend.Store, p change.Plan) iter.Seq[Step] {
	return func(yield func(Step) bool) {
		yield(Step{Store: c, Plan: p, Name: show.QuotedTitle(p.Cause.Title, p.Session)})
	}
}

// PlannedSteps returns a step for each plan that the function plans passes to its argument, one at a time. An error of
// plans becomes a last step. rest is the name of a step without a session.
func PlannedSteps(c *mend.Store, rest string, plans func(func(change.Plan) error) error) iter.Seq[Step] {
	errStopped := errors.New("stopped")
	return func(yield func(Step) bool) {
		err := plans(func(p change.Plan) error {
			name := rest
			if p.Session != "" {
				name = show.QuotedTitle(p.Cause.Title, p.Session)
			}
			if !yield(Step{Store: c, Plan: p, Name: name}) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(Step{Store: c, Name: rest, Err: err})
		}
	}
}

// JoinSteps concatenates steps.
func JoinSteps(all []iter.Seq[Step]) iter.Seq[Step] {
	return func(yield func(Step) bool) {
		for _, steps := range all {
			for s := range steps {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// Run asks, carries out the steps as one operation, and sets the JSON answer. A failed step does not stop the others;
// Run returns the worst error. In a dry run, or if the user declines, nothing is written, and the answer has the
// plans.
func (env *Env) Run(ctx context.Context, f WriteFlags, j Job) error {
	return NewBatch(ctx, env, j.N).Run(f, j)
}

// Run is [Env.Run] with a new batch, or with one that has reported failed steps.
func (b *Batch) Run(f WriteFlags, j Job) error {
	env, ctx := b.Env, b.Ctx
	env.SetAnswers(show.RepairsAnswer{Repairs: []show.RepairJSON{}})
	for _, s := range j.Failed {
		b.Fail(s, s.Err)
	}
	if j.N > 0 && len(b.Failed) == j.N {
		return b.Result()
	}
	if end, err := b.confirm(f, j); end {
		return err
	}
	if !b.Joins {
		env.Opt.Journal.Join()
	}
	repairs := []show.RepairJSON{}
	missing := map[*mend.Store]error{} // why no further step of a store is made
	for s := range j.Steps {
		before, ops := len(b.Done), s.Plan.Ops
		if !env.JSON {
			ops = nil
		}
		var e change.Entry
		err := cmp.Or(missing[s.Store], s.Err)
		switch {
		case err != nil:
		case s.Apply != nil:
			s.Plan.Ops = nil // Apply has them, and may free their memory before it ends
			e, err = s.Apply(b)
		default:
			e, err = b.Apply(s.Store, s.Plan)
		}
		if j.Ended != nil {
			j.Ended(s, e, err)
		}
		if err != nil {
			b.Fail(s, err)
		}
		if err != nil && s.Plan.Session == change.NoSession && s.Plan.Cause.Kind == change.CauseMove {
			missing[s.Store] = fmt.Errorf("%s was not written: %w", s.Plan.Cause.Title, err)
		}
		switch {
		case env.JSON && len(b.Done) > before:
			repairs = append(append(repairs, show.EntryJSON(b.Done[before], ops)), show.EntriesJSON(b.Done[before+1:])...)
		case env.JSON && e.ID != "": // it is pending
			repairs = append(repairs, show.EntryJSON(e, ops))
		}
		if ctx.Err() != nil {
			break
		}
	}
	env.SetAnswers(show.RepairsAnswer{Repairs: repairs})
	if len(b.Done) > 0 && j.Done != nil {
		j.Done(b)
	}
	if !j.Forks {
		b.nameForks()
	}
	return b.Result()
}

// nameForks names the broken forks of changed sessions: a fork may no longer begin where the session was forked.
func (b *Batch) nameForks() {
	for _, c := range b.changed {
		forks, _ := c.Forks(b.Ctx) // the steps have reported the errors
		for _, h := range forks {
			if !b.Sessions[h.Base] {
				continue
			}
			f, _ := c.ScanOne(b.Ctx, h)
			if f.Severity() == repair.Broken {
				b.Say("%s was forked from a changed session, and must be repaired, too: %s", show.QuotedTitle(h.Title, h.ID),
					term.Command(b.CommandLine("fix", h.ID)))
			}
		}
	}
}

// confirm shows a job and asks about it. If end is true, the job ends without a write, with err.
func (b *Batch) confirm(f WriteFlags, j Job) (end bool, err error) {
	if j.Show != nil {
		j.Show()
	}
	if f.DryRun {
		b.setPlans(j)
		b.Say("%s", strings.TrimSpace("Dry run: nothing was written. "+j.Dry))
		return true, b.Result()
	}
	var diff func(*term.Terminal)
	if !j.NoDiff {
		diff = func(t *term.Terminal) { PrintDiff(t, j.Steps) }
	}
	if err = ConfirmChange(b.Ctx, b.Terminal, f, j.Question, diff); err != nil {
		b.setPlans(j)
		err = fail.Worst(err, b.Result())
	}
	return err != nil, err
}

// PrintDiff prints the diff of every change, except of steps without a plan: their errors are returned when they are
// applied.
func PrintDiff(t *term.Terminal, steps iter.Seq[Step]) {
	for s := range steps {
		if s.Err == nil {
			show.Ops(t, s.Plan.Ops)
		}
	}
}

// setPlans sets the JSON answer of a job that writes nothing: its plans.
func (b *Batch) setPlans(j Job) {
	if !b.JSON { // the verb has shown them
		return
	}
	plans := []show.RepairJSON{}
	for s := range j.Steps {
		if s.Err != nil {
			b.Fail(s, s.Err)
			continue
		}
		if len(s.Plan.Ops) > 0 || s.Apply == nil { // otherwise the step changes no record
			plans = append(plans, show.PlanJSON(s.Plan))
		}
	}
	b.SetAnswers(show.RepairsAnswer{Repairs: plans})
}

// A Batch makes several independent changes, and reports each. A failed change does not stop the others. After
// [mend.Journal.Join] the changes are one operation.
type Batch struct {
	*Env
	Ctx   context.Context
	One   bool // there is only one step: its error needs no name
	Joins bool // it belongs to the operation of an earlier batch

	Made     int             // the number of entries made
	Done     []change.Entry  // the first of these entries; with --json all
	Sessions map[string]bool // the ids of their sessions
	Failed   []FailedJSON
	Worst    error // the worst error of the steps

	changed []*mend.Store
}

// A FailedJSON is a step that failed, with the reason.
type FailedJSON struct {
	Session string      `json:"session"` // "" for a store
	Repairs []string    `json:"repairs"` // the repairs to undo or apply again
	Error   ErrorAnswer `json:"error"`
}

// NewBatch begins a batch of n steps.
func NewBatch(ctx context.Context, env *Env, n int) *Batch {
	return &Batch{Env: env, Ctx: ctx, One: n == 1, Sessions: map[string]bool{}, Failed: []FailedJSON{}}
}

// Apply applies a plan, unless the user has cancelled the command.
func (b *Batch) Apply(c *mend.Store, p change.Plan) (e change.Entry, err error) {
	if err := b.Ctx.Err(); err != nil {
		return e, err
	}
	if e, err = applyPlan(b.Ctx, b.Env, c, p); err == nil {
		if b.Made++; b.JSON || b.Made == 1 {
			b.Done = append(b.Done, e)
		}
		if b.Sessions[e.Session] = true; !slices.Contains(b.changed, c) {
			b.changed = append(b.changed, c)
		}
	}
	return e, err
}

// Fail records that a step failed, and prints the error. For a batch with one step it does not print it, because
// [Batch.Result] returns it.
func (b *Batch) Fail(s Step, err error) {
	if b.Ctx.Err() != nil || errors.Is(err, ErrProblems) { // reported elsewhere, once
		b.Worst = fail.Worst(b.Worst, err)
		return
	}
	b.Failed = append(b.Failed, FailedJSON{s.Plan.Session, show.NonNil(s.IDs), b.errorJSON(err)})
	if conflict := conflictIn(err); conflict != nil {
		show.Conflicts(b.Terminal, conflict.Conflicts)
	}
	if !b.One {
		err = fmt.Errorf("%s: %w", s.Name, err)
		if !b.JSON {
			b.PrintError(err)
			err = &ReportedError{err}
		}
	}
	b.Worst = fail.Worst(b.Worst, err)
}

// Result returns the worst error of the batch, and sets the failed steps in the JSON answer.
func (b *Batch) Result() error {
	if len(b.Failed) > 0 {
		b.SetAnswer("failed", b.Failed)
	}
	if b.Ctx.Err() != nil {
		return fail.Worst(b.Ctx.Err(), b.Worst)
	}
	return b.Worst
}

// ApplyOne asks about a plan for one session that was shown, and applies it, or reports a dry run. question has %s for
// the name of the session.
func ApplyOne(ctx context.Context, env *Env, c *mend.Store, f WriteFlags, p change.Plan, head change.Head, question string) error {
	p.Cause.Title = head.Title
	env.PrintBound(p.Cause.Bound)
	return env.Run(ctx, f, Job{
		Question: fmt.Sprintf(question, show.QuotedTitle(head.Title, head.ID)), Steps: OneStep(c, p), N: 1,
		Done: func(b *Batch) {
			show.PrintCommitted(env.Terminal, b.Done[0], head.Title, "")
			env.PrintContinueCommand(ctx, c, head, "it")
		},
	})
}

// ConfirmChange asks whether to make a change that was shown, except with --yes or --dry-run. diff prints the diff of
// the change, and may be nil. The error is [term.ErrDeclined] for no, or from [term.Terminal.Ask].
func ConfirmChange(ctx context.Context, t *term.Terminal, f WriteFlags, question string, diff func(*term.Terminal)) error {
	if f.Yes || f.DryRun {
		return nil
	}
	answers := []term.Answer{{"yes", "do it"}, {"no", "change nothing"}}
	if diff != nil {
		answers = append(answers, term.Answer{"diff", "show the diff of every change"})
	}
	for {
		switch key, err := t.Ask(ctx, question, answers); {
		case err != nil || key == "y":
			return err
		case key == "n":
			return term.ErrDeclined
		}
		t.Page(diff)
	}
}

// applyPlan applies a plan, and shows that mend is busy: a large database is checked first, which may take long.
func applyPlan(ctx context.Context, env *Env, c *mend.Store, p change.Plan) (change.Entry, error) {
	defer env.Busy("checking and writing ...")()
	var e change.Entry
	err := env.Made.Apply(func() (err error) {
		e, err = c.Apply(ctx, p)
		return err
	})
	if _, conflict := errors.AsType[*change.ConflictError](err); conflict && !slices.Contains([]change.CauseKind{change.CauseUndo, change.CauseRedo}, p.Cause.Kind) {
		err = fail.WithHint(err, "nothing was changed, because another program wrote to the session meanwhile. Run the command again")
	}
	for _, path := range e.Kept {
		env.SayAt(2, "%s another program wrote into a file that was just replaced; its bytes are in %s", term.Warn("note:"), path)
	}
	return e, err
}

// A RepairBatch applies planned repairs.
type RepairBatch struct {
	*Batch
	Request repair.Request

	shared []sharedOp // applied ops on rows of projects, which sessions share
}

// A sharedOp is an op on a row that several sessions of a store share.
type sharedOp struct {
	store *mend.Store
	change.Op
}

// Apply applies a plan, and prints its repair id when the change is durable.
func (r *RepairBatch) Apply(p show.Proposal) (e change.Entry, err error) {
	plan := p.Result.Plan
	plan.Ops = slices.DeleteFunc(slices.Clone(plan.Ops), func(o change.Op) bool {
		return slices.ContainsFunc(r.shared, func(s sharedOp) bool {
			return s.store == p.Store && s.Ref == o.Ref && s.Pre.Equal(o.Pre) && s.Post.Equal(o.Post)
		})
	})
	if len(plan.Ops) == 0 {
		return e, nil
	}
	e, err = r.Batch.Apply(p.Store, plan)
	if code, _ := fail.Classify(err); code == fail.Conflict && e.State != change.Conflicted {
		err = changedMeanwhile(err, r.CommandLine("fix", p.Head.ID))
		if r.One { // otherwise each is named
			err = fmt.Errorf("repairing %s: %w", show.QuotedTitle(p.Head.Title, p.Head.ID), err)
		}
	}
	if err != nil {
		return e, err
	}
	for _, o := range plan.Ops {
		if o.Ref.Kind == change.KindProject {
			r.shared = append(r.shared, sharedOp{p.Store, o})
		}
	}
	how := ""
	if proof := show.ProvenSessionsText([]show.Proposal{p}); r.One && proof != "" && !show.HasBroken(p.Result.Remaining) {
		how = ": " + proof
	}
	show.PrintCommitted(r.Terminal, e, p.Head.Title, how)
	return e, r.checkRepaired(p)
}

// checkRepaired examines a repaired session as scan does, because only a scan confirms success. It returns ErrProblems
// if the session is still broken.
func (r *RepairBatch) checkRepaired(p show.Proposal) error {
	if len(r.Request.Classes) > 0 || show.HasBroken(p.Result.Remaining) {
		return nil // it was shown
	}
	x, err := p.Store.Examine(r.Ctx, p.Head, repair.Request{})
	if err != nil { // the repair may have moved the session's record
		return nil
	}
	for _, d := range x.Diagnoses {
		if d.Severity == repair.Broken {
			r.Say("%s %s Repair it again: %s", term.Bad("It is still broken:"), d.Why, term.Command(r.CommandLine("fix", p.Head.ID)))
			return ErrProblems
		}
	}
	return nil
}

// changedMeanwhile returns the error for a session that changed during its repair. again is the command that plans
// the repair again.
func changedMeanwhile(err error, again string) error {
	what := "another program changed it meanwhile: "
	if _, ok := errors.AsType[*mend.StaleError](err); ok {
		what = ""
	}
	return fail.New(fail.Conflict, "nothing in it was changed. To plan the repair again, run "+again, "%s%w", what, err)
}
