package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/repair"
)

// printProposal prints a session and its repair: a line each for the findings, the fixes and the losses, or
// with verbose each finding, and the additional content that is sent, if known.
func printProposal(t *term.Terminal, p proposal, verbose bool) {
	defer t.Buffer()()
	printHeader(t, p.head)
	if p.result.All {
		t.Say("All faults of the error's kind are repaired, not only the place that it names.")
	}
	left := p.result.Remaining
	if verbose {
		for _, d := range p.result.Fixed {
			printDiagnosis(t, d)
		}
	}
	for _, f := range planFacts(p.result) {
		if !verbose || f.label == "sent" || f.label == "lost" && p.result.Plan.Cause.Bound != nil {
			printFact(t, f)
		}
	}
	switch {
	case verbose && len(left) > 0:
		t.Printf("  %s\n", term.Warn("Still there after this repair:"))
		for _, d := range left {
			printDiagnosis(t, d)
		}
	case len(p.result.Plan.Ops) == 0 && p.last == nil && len(left) == 0:
		t.Printf("  %s\n", term.Good("Nothing to repair"))
	case len(p.result.Plan.Ops) == 0 && p.last == nil && !hasBroken(left):
		t.Printf("  %s\n", term.Good("Nothing is broken"))
	}
	if p.last != nil && !hasBroken(left) {
		t.Printf("  %s\n", term.Good(fmt.Sprintf("Nothing to repair: last repaired by %s, %s", p.last.ID, term.Age(time.Since(p.last.Time)))))
	}
	t.Printf("\n")
}

// A fact is one aspect of a repair, with a label.
type fact struct {
	label string
	items []string
}

// planFacts returns the fixes and the remaining findings of a repair.
func planFacts(r repair.Result) (facts []fact) {
	if len(r.Fixed) > 0 {
		facts = []fact{
			{"wrong", summary(r.Fixed, faultOf)},
			{"fix", plannedFixes(r)},
			{"lost", summary(oncePerRecord(r.Fixed), func(d repair.Diagnosis) string {
				if d.SetAside {
					return ""
				}
				return term.Sentence(d.Loses)
			})},
		}
		if what := r.Plan.Cause.Bound.Loses(); what != "" {
			facts[2].items = append(facts[2].items, what)
		}
	}
	if len(r.LeftOut) > 0 {
		facts[2].items = append(r.LeftOut, facts[2].items...)
	}
	if r.Added > 0 {
		facts = append(facts, fact{"sent", []string{fmt.Sprintf("%d content blocks now, %d after the repair", r.SentBefore, r.SentAfter)}})
	}
	return append(facts, leftFacts(r.Remaining)...)
}

// plannedFixes returns the fixes of a plan, each sentence once, because one change may fix several findings.
func plannedFixes(r repair.Result) []string {
	return counted(r.Fixed, func(d repair.Diagnosis) string { return term.Sentence(d.Fix) }, "%[2]s (that cures %[1]d findings)")
}

// oncePerRecord removes diagnoses with the same loss and record as an earlier one.
func oncePerRecord(ds []repair.Diagnosis) []repair.Diagnosis {
	type loss struct {
		ref  change.Ref
		what string
	}
	seen := map[loss]bool{}
	return slices.DeleteFunc(slices.Clone(ds), func(d repair.Diagnosis) bool {
		l := loss{d.Ref, d.Loses}
		again := seen[l]
		seen[l] = true
		return again
	})
}

// printFact prints a line with a label. Items that do not fit are counted, except the first, which is
// wrapped.
func printFact(t *term.Terminal, f fact) {
	const indent = "         "
	text := fitItems(f.shown(), t.Width-len(indent))
	if t.Width > 0 {
		text = term.WrapAt(text, len(indent), t.Width)
	}
	t.Printf("  %-5s  %s\n", f.label, text)
}

// shown returns the items for display.
func (f fact) shown() []string {
	if len(f.items) == 0 {
		return []string{"nothing"}
	}
	return f.items
}

// leftFacts returns the remaining findings, a fact for each severity.
func leftFacts(left []repair.Diagnosis) (facts []fact) {
	for _, s := range []repair.Severity{repair.Broken, repair.Latent, repair.Lost, repair.Note} {
		ds := slices.DeleteFunc(slices.Clone(left), func(d repair.Diagnosis) bool { return d.Severity != s })
		if len(ds) == 0 {
			continue
		}
		items := summary(ds, func(d repair.Diagnosis) string {
			if d.Fix == "" {
				return faultOf(d) + ". No fix: " + term.Sentence(d.WhyNot)
			}
			return faultOf(d)
		})
		items[0] = severityWord(s) + ": " + items[0]
		if s == repair.Latent && slices.ContainsFunc(ds, func(d repair.Diagnosis) bool { return d.Fix != "" }) {
			items[0] += " (--at-risk fixes it, too)"
		}
		facts = append(facts, fact{"left", items})
	}
	return facts
}

// faultOf returns the text of a finding.
func faultOf(d repair.Diagnosis) string { return term.Sentence(d.Why) }

// summary returns the non-empty texts of the diagnoses, each once with its number.
func summary(ds []repair.Diagnosis, text func(repair.Diagnosis) string) []string {
	return counted(ds, text, "%[1]d × %[2]s")
}

// counted is summary with a format for repeated texts.
func counted(ds []repair.Diagnosis, text func(repair.Diagnosis) string, format string) []string {
	var texts []string
	numbers := map[string]int{}
	for _, d := range ds {
		t := text(d)
		if t == "" {
			continue
		}
		if numbers[t]++; numbers[t] == 1 {
			texts = append(texts, t)
		}
	}
	for i, t := range texts {
		if n := numbers[t]; n > 1 {
			texts[i] = fmt.Sprintf(format, n, t)
		}
	}
	return texts
}

// fitItems joins items to a line of at most width columns, or of any length if width is not positive. Items
// that do not fit are counted; the first always stays.
func fitItems(items []string, width int) string {
	for n := len(items); n > 0; n-- {
		line, more := strings.Join(items[:n], " · "), ""
		if rest := len(items) - n; rest > 0 {
			more = fmt.Sprintf(" · %d more (-v)", rest)
		}
		if width <= 0 || n == 1 {
			return line + more
		}
		if term.Cut(line+more, width) == line+more {
			return line + more
		}
	}
	return ""
}

// quotedTitle returns the name of a session in a sentence: its title, or else its id.
func quotedTitle(title, id string) string {
	if strings.TrimSpace(title) == "" {
		return term.Escape(id)
	}
	return `"` + term.OneLine(title, 60) + `"`
}

// printCommitted prints a committed entry and how to undo it. how adds a text, "" for none.
func printCommitted(t *term.Terminal, e change.Entry, title, how string) {
	what := "Repaired"
	switch e.Cause.Kind {
	case change.CauseTrim:
		what = "Trimmed"
	case change.CauseUncompact:
		what = "Removed a compaction of"
	case change.CauseRestore:
		what = "Restored"
	case change.CauseSalvage:
		what = "Salvaged"
	default:
	}
	t.Say("%s %s (%s)%s. Undo: %s", term.Good(what), quotedTitle(title, e.Session), term.Bold(e.ID), how, term.Command("mend undo "+e.ID))
}

// setRepairs sets the JSON answer.
func (r *repairRun) setRepairs() {
	r.setAnswers(repairsAnswer{repairAnswer(r.proposals, r.done)})
}

// end prints the end of the answer, or sets the JSON answer, and returns the error.
func (r *repairRun) end(err error) error {
	err = fail.Worst(fail.Worst(err, r.result()), remainingError(r.proposals, r.request))
	if r.JSON {
		r.setRepairs()
		r.printContinue()
		return err
	}
	todo := nonEmptyPlans(r.proposals)
	sessions := map[string]bool{}
	for _, p := range todo {
		sessions[p.head.ID] = true
	}
	if len(sessions) == 1 {
		r.printContinue()
	}
	switch {
	case len(r.proposals) == 0 && err == nil:
		r.Printf("%s\n", term.Good("Nothing is broken."))
	case r.flags.dryRun && len(todo) > 0: // it was printed
	case len(todo) > 0 || r.request.Error != nil:
		r.printVerdict()
	}
	if r.flags.dryRun && len(todo) == 0 && len(r.proposals) == 1 && r.proposals[0].last != nil && err == nil {
		r.Say("Dry run: a second repair would change nothing.")
	}
	if len(sessions) > 1 && !r.flags.dryRun {
		r.printTotals(len(sessions))
		r.printContinue()
	}
	return err
}

// printContinue prints how to continue the repaired session, for several the one used last.
func (r *repairRun) printContinue() {
	var done []proposal
	for _, p := range nonEmptyPlans(r.repaired()) {
		if len(remainingBroken([]proposal{p})) == 0 && len(r.done) > 0 {
			done = append(done, p)
		}
	}
	if len(done) == 0 {
		return
	}
	newest := slices.MaxFunc(done, func(a, b proposal) int { return cmp.Compare(a.head.Updated, b.head.Updated) })
	if newest.reload != "" {
		r.setAnswers(continueAnswer{Reload: newest.reload})
		r.Say("Next: %s, which loads the repaired session.", newest.reload)
		return
	}
	it := "it"
	if len(done) > 1 {
		it = "the newest"
	}
	r.printContinueCommand(newest.storeID.Agent, newest.head, it)
}

// printTotals prints how many sessions were repaired.
func (r *repairRun) printTotals(todo int) {
	var text strings.Builder
	done := map[string]bool{}
	for _, e := range r.done {
		done[e.Session] = true
	}
	fmt.Fprintf(&text, "Repaired %d of %s", len(done), term.Count(todo, "session"))
	for _, t := range [...]struct {
		n    int
		what string
	}{{r.skipped, "skipped"}, {len(r.failed), "failed"}} {
		if t.n > 0 {
			fmt.Fprintf(&text, ", %d %s", t.n, t.what)
		}
	}
	text.WriteString(".")
	if proof := proven(r.repaired()); proof != "" && len(done) > 0 {
		text.WriteString(" What was repaired " + proof + ".")
	}
	if len(r.done) > 1 {
		fmt.Fprintf(&text, " Undo all of it: %s", term.Command("mend undo "+mend.OperationOf(r.done[0])))
	}
	r.Say("%s", text.String())
}

// maxNamed is the maximum number of records that printVerdict names.
const maxNamed = 3

// printVerdict prints what is still broken, or the result of the simulation, and how many records only the
// provider can judge.
func (r *repairRun) printVerdict() {
	ps := r.repaired()
	var left []string
	suspects := 0
	for _, p := range ps {
		suspects += len(p.result.Suspects)
	}
	for _, d := range remainingBroken(ps) {
		left = append(left, fmt.Sprintf("%s (%s)", d.Ref, d.Class))
	}
	if n := len(left); n > 0 {
		if n > maxNamed {
			left = append(left[:maxNamed], fmt.Sprintf("and %d more", n-maxNamed))
		}
		r.Say("%s %s: %s.", term.Warn("Still broken:"), term.Count(n, "finding"), term.Escape(strings.Join(left, ", ")))
	} else if len(r.done) == 0 {
		r.printProof(ps)
	}
	if r.request.Error != nil && len(left) == 0 && suspects > 0 {
		r.Say("There are %d more of this kind, and only the provider can tell which are wrong. If the error comes again, mend repairs all of them; --all does so now.", suspects)
	}
}

// printProof prints the versions of the agent with which the repaired sessions work.
func (r *repairRun) printProof(ps []proposal) {
	proof := proven(ps)
	if proof == "" || len(remainingBroken(ps)) > 0 {
		return
	}
	them := "After the repair it "
	if len(nonEmptyPlans(ps)) > 1 {
		them, proof = "After the repairs they ", strings.ReplaceAll(proof, "works with", "work with")
	}
	r.Say("%s", term.Good(them+proof+"."))
}

// remainingBroken returns the findings that still break sessions.
func remainingBroken(ps []proposal) (all []repair.Diagnosis) {
	for _, p := range ps {
		for _, d := range p.result.Remaining {
			if d.Severity == repair.Broken {
				all = append(all, d)
			}
		}
	}
	return all
}

// proven is [provenText] for sessions of several agents.
func proven(ps []proposal) string {
	by := map[string][]proposal{}
	var names, texts []string
	for _, p := range ps {
		name := agentOf(p.storeID)
		if by[name] == nil {
			names = append(names, name)
		}
		by[name] = append(by[name], p)
	}
	for _, name := range names {
		if text := provenText(name, by[name]); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, ", and ")
}

// provenText returns the end of a sentence: the tested versions with which the repaired sessions work, the version in
// use if that is only predicted to work, and the settings that would break them. It returns "" if nothing was checked.
func provenText(agent string, ps []proposal) string {
	var versions, predicted, failed []string
	switched := false
	for _, p := range ps {
		used := p.result.Plan.AgentVersion
		isTested := slices.ContainsFunc(p.result.Proof, func(q repair.Proof) bool { return q.Version == used })
		if text := term.OneLine(used, 30); used != "" && !isTested && !slices.Contains(predicted, text) {
			predicted = append(predicted, text)
		}
		for _, q := range p.result.Proof {
			switched = switched || q.Thinking != p.result.Proof[0].Thinking
			if len(q.Rules) == 0 {
				if !slices.Contains(versions, q.Version) {
					versions = append(versions, q.Version)
				}
				continue
			}
			text := fmt.Sprintf("with %s and thinking %s (%s)", q.Version, onOrOff(q.Thinking), strings.Join(q.Rules, ", "))
			if !slices.Contains(failed, text) {
				failed = append(failed, text)
			}
		}
	}
	text := "works with " + agent + " " + term.Enumerate(versions)
	if len(predicted) > 0 {
		text += " (predicted for " + term.Enumerate(predicted) + ")"
	}
	switch {
	case len(versions) == 0 && len(failed) == 0:
		return ""
	case len(versions) == 0:
		return "would break " + strings.Join(failed, ", ")
	case len(failed) > 0:
		return text + ", but would break " + strings.Join(failed, ", ")
	case switched:
		return text + ", thinking on and off"
	default:
		return text
	}
}
