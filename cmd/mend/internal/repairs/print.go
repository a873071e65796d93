package repairs

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/repair"
)

// printProposal prints a session and its repair: a line each for the findings, the fixes and the losses. With verbose
// it prints each finding, and how many content blocks are sent before and after the repair, if known.
func printProposal(t *term.Terminal, p show.Proposal, verbose bool) {
	defer t.Buffer()()
	show.Header(t, p.Head)
	if p.Result.All {
		t.Say("Every finding of the error's kind is repaired, not only the one that the error names.")
	}
	left := p.Result.Remaining
	if verbose {
		for _, d := range p.Result.Fixed {
			show.Diagnosis(t, d)
		}
	}
	for _, f := range show.PlanFacts(p.Result) {
		if (f.Label == "sent") == verbose || f.Label == "lost" && p.Result.Plan.Cause.Bound != nil {
			printFact(t, f)
		}
	}
	switch {
	case verbose && len(left) > 0:
		t.Printf("  %s\n", term.Warn("Left after this repair:"))
		for _, d := range left {
			show.Diagnosis(t, d)
		}
	case len(p.Result.Plan.Ops) == 0 && p.Last == nil && len(left) == 0:
		t.Printf("  %s\n", term.Good("Nothing to repair"))
	case len(p.Result.Plan.Ops) == 0 && p.Last == nil && !show.HasBroken(left):
		t.Printf("  %s\n", term.Good("Nothing is broken"))
	}
	if p.Last != nil && !show.HasBroken(left) {
		t.Printf("  %s\n", term.Good(fmt.Sprintf("Nothing to repair: last repaired by %s, %s", p.Last.ID, term.Age(time.Since(p.Last.Time)))))
	}
	t.Printf("\n")
}

// printFact prints a fact on one line: items that do not fit are only counted. The first item is wrapped instead.
func printFact(t *term.Terminal, f show.Fact) {
	const indent = "         "
	text := fitItems(f.Shown(), t.Width-len(indent))
	if t.Width > 0 {
		text = term.WrapAt(text, len(indent), t.Width)
	}
	t.Printf("  %-5s  %s\n", f.Label, text)
}

// fitItems joins items to a line of at most width columns, or of any length if width is not positive. It counts the
// items that do not fit, but always has the first.
func fitItems(items []term.Text, width int) term.Text {
	for n := len(items); n > 0; n-- {
		line := term.Join(items[:n], " · ")
		if rest := len(items) - n; rest > 0 {
			line += term.Sprintf(" · %d more (-v)", rest)
		}
		if width <= 0 || n == 1 || term.Cut(line, width) == line {
			return line
		}
	}
	return ""
}

func (r *repairRun) setRepairs() {
	r.SetAnswers(show.RepairsAnswer{Repairs: show.NonNil(append(r.flags.before, show.ProposalsJSON(r.proposals, r.Done)...))})
}

// end prints the result of the repair, or sets the JSON answer, and returns the worst error.
func (r *repairRun) end(err error) error {
	err = fail.Worst(fail.Worst(err, r.Result()), remainingError(r.proposals, r.Request))
	if r.JSON {
		r.setRepairs()
		r.printContinue()
		return err
	}
	todo := nonEmptyPlans(r.proposals)
	sessions := map[string]bool{}
	for _, p := range todo {
		sessions[p.Head.ID] = true
	}
	if len(sessions) == 1 {
		r.printContinue()
	}
	switch {
	case len(r.proposals) == 0 && err == nil && !r.others && !r.declined:
		r.Printf("%s\n", term.Good("Nothing is broken."))
	case r.flags.DryRun && len(todo) > 0: // it was printed
	case len(todo) > 0 || r.Request.Error != nil:
		r.printVerdict()
	}
	if r.flags.DryRun && len(todo) == 0 && len(r.proposals) == 1 && r.proposals[0].Last != nil && err == nil {
		r.Say("Dry run: a second repair would change nothing.")
	}
	if len(sessions) > 1 && !r.flags.DryRun {
		r.printTotals(len(sessions))
		r.printContinue()
	}
	return err
}

// printContinue prints how to continue the repaired session; of several, the one that was used last.
func (r *repairRun) printContinue() {
	var done []show.Proposal
	for _, p := range nonEmptyPlans(r.repairedSessions()) {
		if len(stillBroken([]show.Proposal{p})) == 0 && len(r.Done) > 0 {
			done = append(done, p)
		}
	}
	if len(done) == 0 {
		return
	}
	newest := slices.MaxFunc(done, func(a, b show.Proposal) int { return cmp.Compare(a.Head.Updated, b.Head.Updated) })
	if newest.Reload != "" {
		r.SetAnswers(frame.ContinueAnswer{Reload: newest.Reload})
		r.Say("Next: %s, which loads the repaired session.", newest.Reload)
		return
	}
	it := "it"
	if len(done) > 1 {
		it = "the newest"
	}
	r.PrintContinueCommand(r.Ctx, newest.Store, newest.Head, it)
}

// printTotals prints how many sessions were repaired.
func (r *repairRun) printTotals(todo int) {
	text := term.Sprintf("Repaired %d of %s", len(r.Sessions), term.Count(todo, "session"))
	if len(r.Failed) > 0 {
		text += term.Sprintf(", %d failed", len(r.Failed))
	}
	text += "."
	if proof := show.ProvenSessionsText(r.repairedSessions()); proof != "" && r.Made > 0 {
		text += term.Sprintf(" Each repaired session %s.", proof)
	}
	if r.Made > 1 {
		text += term.Sprintf(" Undo all of it: %s", term.Command("mend undo "+mend.OperationOf(r.Done[0])))
	}
	r.Say("%s", text)
}

// printVerdict prints how many findings still break sessions, or if nothing was applied the versions that the sessions
// will work with, and how many records only the provider can judge.
func (r *repairRun) printVerdict() {
	ps := r.repairedSessions()
	suspects := 0
	for _, p := range ps {
		suspects += len(p.Result.Suspects)
	}
	left := stillBroken(ps)
	switch {
	case len(left) > 0:
		r.Say("%s %s. The first is of %s (%s).", term.Warn("Still broken:"), term.Count(len(left), "finding"), left[0].Ref, left[0].Class)
		return
	case len(r.Done) == 0:
		r.printProof(ps)
	}
	if r.Request.Error != nil && suspects > 0 {
		r.Say("The session has %d more records of this kind, and only the provider can tell which are wrong. If the error comes again, mend repairs all of them; --all does so now.", suspects)
	}
}

// printProof prints the versions of the agent with which the repaired sessions work. A session without a repair has
// no proof: the agent may still get the error that the user named.
func (r *repairRun) printProof(ps []show.Proposal) {
	ps = slices.DeleteFunc(slices.Clone(ps), func(p show.Proposal) bool {
		return len(p.Result.Plan.Ops) == 0 && p.Last == nil
	})
	if proof := show.ProvenSessionsText(ps); proof != "" && len(stillBroken(ps)) == 0 {
		r.Say("%s", term.Good("After the repair: "+proof+"."))
	}
}

// stillBroken returns the findings that still break sessions.
func stillBroken(ps []show.Proposal) (all []repair.Diagnosis) {
	for _, p := range ps {
		for _, d := range p.Result.Remaining {
			if d.Severity == repair.Broken {
				all = append(all, d)
			}
		}
	}
	return all
}

// nonEmptyPlans returns the proposals that change something.
func nonEmptyPlans(ps []show.Proposal) []show.Proposal {
	var todo []show.Proposal
	for _, p := range ps {
		if len(p.Result.Plan.Ops) > 0 {
			todo = append(todo, p)
		}
	}
	return todo
}
