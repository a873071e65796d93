package main

import (
	"slices"

	"mend"
	"mend/change"
	"mend/repair"
)

func (a *app) printProposal(p proposal) {
	if a.asJSON {
		return
	}
	defer a.atOnce()()
	a.printf("%s\n", a.headLine(p.head))
	for _, d := range p.result.Cured {
		a.printDiagnosis(d)
	}
	a.printOps(p.result.Plan.Ops)
	if len(p.result.Remaining) > 0 {
		a.printf("    %s\n", warn("What remains:"))
	}
	for _, d := range p.result.Remaining {
		a.printDiagnosis(d)
	}
	if len(p.result.Plan.Ops) == 0 && len(p.result.Remaining) == 0 {
		a.printf("    %s\n", good("nothing to repair"))
	}
	a.printf("\n")
}

// printDone tells a committed entry: its id, and how to take it back.
func (a *app) printDone(e change.Entry) {
	what := "Repaired"
	switch e.Cause.Kind {
	case change.CauseUndo:
		what = "Restored"
	case change.CauseOrphans:
		what = "Put away the orphans of"
	default:
	}
	a.printf("%s %s as repair %s. To take it back: %s\n", good(what), e.Session, bold(e.ID), bold("mend undo "+e.ID))
	for _, path := range e.Kept {
		a.printf("  %s another program wrote into a file that was just replaced; its bytes are in %s\n", warn("note:"), printable(path))
	}
}

// endRepair ends the answer of repair: the JSON object, or a last line.
func (a *app) endRepair(ps []proposal, done []change.Entry, left error, r mend.RepairRequest, dryRun bool) {
	if a.asJSON {
		for name, v := range repairAnswer(ps, done) {
			a.answerWith(name, v)
		}
		return
	}
	switch todo := withPlan(ps); {
	case dryRun && len(todo) > 0:
		a.printf("This was a dry run: nothing was written. The same without --dry-run repairs.\n")
	case len(todo) == 0 && len(ps) == 0 && left == nil:
		a.printf("%s\n", good("Nothing is broken."))
	case len(todo) == 0 && len(ps) == 1 && left == nil && curesMore(ps[0].result.Remaining, r):
		a.printf("Nothing is broken. %s cures what is latent.\n", bold("mend repair --latent "+ps[0].head.ID))
	}
}

// curesMore reports whether a repair of what is latent would do something that the
// request did not ask for.
func curesMore(ds []repair.Diagnosis, r mend.RepairRequest) bool {
	return !r.Latent && slices.ContainsFunc(ds, func(d repair.Diagnosis) bool { return d.Severity == repair.Latent && d.Cure != "" })
}
