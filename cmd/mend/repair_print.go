package main

import (
	"fmt"
	"slices"
	"strings"

	"mend"
	"mend/change"
	"mend/repair"
)

func (a *app) printProposal(p proposal) {
	if a.asJSON {
		return
	}
	defer a.bufferOutput()()
	a.printf("%s\n", a.sessionLine(p.head))
	if p.result.All {
		a.printf("    All of the error's kind is repaired, not only the place that it names.\n")
	}
	for _, d := range p.result.Fixed {
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

// printCommitted prints a committed entry and how to undo it.
func (a *app) printCommitted(e change.Entry) {
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
		a.printf("  %s another program wrote into a file that was just replaced; its bytes are in %s\n", warn("note:"), escape(path))
	}
}

// finishRepair prints the end of the answer, or sets the JSON answer.
func (a *app) finishRepair(ps []proposal, done []change.Entry, left error, r mend.RepairRequest, dryRun bool) {
	if a.asJSON {
		for name, v := range repairAnswer(ps, done) {
			a.setAnswer(name, v)
		}
		return
	}
	switch todo := nonEmptyPlans(ps); {
	case dryRun && len(todo) > 0:
		a.printf("This was a dry run: nothing was written. The same without --dry-run repairs.\n")
	case len(todo) == 0 && len(ps) == 0 && left == nil:
		a.printf("%s\n", good("Nothing is broken."))
	case len(todo) == 0 && len(ps) == 1 && left == nil && fixesLatent(ps[0].result.Remaining, r):
		a.printf("Nothing is broken. %s fixes what is latent.\n", bold("mend repair --latent "+ps[0].head.ID))
	}
	a.printRemaining(ps, r)
}

// maxNamed is the maximum number of records that printRemaining names.
const maxNamed = 3

// printRemaining prints what is still broken. After a provider error it also prints if nothing
// is, and how many records only the provider can judge.
func (a *app) printRemaining(ps []proposal, r mend.RepairRequest) {
	var left []string
	suspects, one := 0, ""
	for _, p := range ps {
		suspects, one = suspects+len(p.result.Suspects), p.head.ID
		for _, d := range p.result.Remaining {
			if d.Severity == repair.Broken {
				left = append(left, fmt.Sprintf("%s (%s)", d.Ref, d.Class))
			}
		}
	}
	if n := len(left) - maxNamed; n > 0 {
		left = append(left[:maxNamed], fmt.Sprintf("and %d more", n))
	}
	switch {
	case len(left) > 0:
		a.printf("%s %s.\n", warn("Still broken:"), escape(strings.Join(left, ", ")))
	case r.Error != nil && suspects > 0:
		a.printf("Nothing else is seen to be broken. Only the provider can judge %s more of the error's kind: if the error comes again, a repair treats them all; --all does so now.\n", count(suspects, "record"))
	case r.Error != nil && one != "":
		a.printf("%s\n", good("Nothing is seen to be broken any more."))
	}
}

// fixesLatent reports whether --latent would fix more than the request asked for.
func fixesLatent(ds []repair.Diagnosis, r mend.RepairRequest) bool {
	return !r.Latent && slices.ContainsFunc(ds, func(d repair.Diagnosis) bool { return d.Severity == repair.Latent && d.Fix != "" })
}
