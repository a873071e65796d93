package frame

import (
	"errors"
	"fmt"
	"slices"

	"mend/change"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/repair"
)

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
