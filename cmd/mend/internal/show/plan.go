package show

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/repair"
)

// A Proposal is a session with its plan.
type Proposal struct {
	Store   *mend.Store
	StoreID change.StoreID
	Head    change.Head
	Result  repair.Result
	Last    *change.Entry // if there is nothing to do: the newest change of the session in force, nil for none
	Reload  string        // how to reload the session in the agent that has it open; "" if it is not open
}

// HasBroken reports whether a finding breaks the session.
func HasBroken(ds []repair.Diagnosis) bool {
	return slices.ContainsFunc(ds, func(d repair.Diagnosis) bool { return d.Severity == repair.Broken })
}

// A Fact is a labelled line about a repair.
type Fact struct {
	Label    string // wrong, fix, lost, sent or left
	items    []string
	severity repair.Severity // of the findings in left; 0 for other facts
}

// PlanFacts returns what a repair fixes, how, what is lost, and which findings are left.
func PlanFacts(r repair.Result) (facts []Fact) {
	if len(r.Fixed) > 0 {
		facts = []Fact{
			{Label: "wrong", items: summary(r.Fixed, faultOf)},
			{Label: "fix", items: plannedFixes(r)},
			{Label: "lost", items: summary(oncePerRecord(r.Fixed), func(d repair.Diagnosis) string {
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
		facts = append(facts, Fact{Label: "sent", items: []string{fmt.Sprintf("%d content blocks now, %d after the repair", r.SentBefore, r.SentAfter)}})
	}
	return append(facts, leftFacts(r.Remaining)...)
}

// plannedFixes returns the fixes of a plan, each sentence once with the number of findings that the change fixes.
func plannedFixes(r repair.Result) []string {
	return countTexts(r.Fixed, func(d repair.Diagnosis) string { return term.Sentence(d.Fix) }, "%[2]s (that removes %[1]d findings)")
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

// Shown returns the items for display, the first after the severity.
func (f Fact) Shown() (items []term.Text) {
	for _, item := range f.items {
		items = append(items, term.Escape(item))
	}
	switch {
	case len(items) == 0:
		return []term.Text{"nothing"}
	case f.severity != 0:
		items[0] = term.Sprintf("%s: %s", SeverityWord(f.severity), items[0])
	}
	return items
}

// leftFacts returns the remaining findings, in a fact for each severity.
func leftFacts(left []repair.Diagnosis) (facts []Fact) {
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
		if s == repair.Latent && slices.ContainsFunc(ds, func(d repair.Diagnosis) bool { return d.Fix != "" }) {
			items[0] += " (--at-risk fixes it, too)"
		}
		facts = append(facts, Fact{"left", items, s})
	}
	return facts
}

// faultOf returns the text of a finding.
func faultOf(d repair.Diagnosis) string { return term.Sentence(d.Why) }

// summary returns the non-empty texts of the diagnoses, each once with its count.
func summary(ds []repair.Diagnosis, text func(repair.Diagnosis) string) []string {
	return countTexts(ds, text, "%[1]d × %[2]s")
}

// countTexts is summary with another format for a repeated text, which has the number and the text as arguments.
func countTexts(ds []repair.Diagnosis, text func(repair.Diagnosis) string, format string) []string {
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

// ProvenSessionsText is [ProvenText] for sessions of one or several agents.
func ProvenSessionsText(ps []Proposal) string {
	by := map[string][]Proposal{}
	var names, texts []string
	for _, p := range ps {
		name := agents.Title(p.StoreID)
		names, by[name] = addOnce(names, name), append(by[name], p)
	}
	for _, name := range names {
		if text := ProvenText(name, by[name]); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, ", and ")
}

// ProvenText returns the end of a sentence about the repaired sessions: the tested versions of the agent that they work
// with, the version in use if that was not tested, and the settings that would break them. It returns "" if nothing was
// checked.
func ProvenText(agent string, ps []Proposal) string {
	var versions, predicted, failed []string
	switched := false
	for _, p := range ps {
		used := p.Result.Plan.AgentVersion
		isTested := slices.ContainsFunc(p.Result.Proof, func(q repair.Proof) bool { return q.Version == used })
		if used != "" && !isTested {
			predicted = addOnce(predicted, term.OneLine(used, 30))
		}
		for _, q := range p.Result.Proof {
			switched = switched || q.Thinking != p.Result.Proof[0].Thinking
			if len(q.Rules) == 0 {
				versions = addOnce(versions, q.Version)
			} else {
				failed = addOnce(failed, fmt.Sprintf("with %s and thinking %s (%s)", q.Version, OnOrOff(q.Thinking), strings.Join(q.Rules, ", ")))
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

// addOnce appends a text to a list that does not have it.
func addOnce(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// Diagnosis prints a finding with its code, its record, its fix and the loss, or why it has no fix.
func Diagnosis(t *term.Terminal, d repair.Diagnosis) {
	t.SayAt(4, "%s %s  %s  %s", SeverityWord(d.Severity), d.Rule, term.Faint(string(d.Class)), term.Faint(d.Ref))
	t.SayAt(6, "%s", d.Why)
	if d.Healed != "" {
		t.SayAt(6, "%s %s", term.Good("update:"), d.Healed)
	}
	if d.Fix == "" {
		t.SayAt(6, "%s %s", term.Warn("no fix:"), d.WhyNot)
		return
	}
	text := term.Sprintf("%s %s", term.Good("fix:"), d.Fix)
	if d.Loses != "" {
		text += " " + term.Warn("lost: "+d.Loses)
	}
	t.SayAt(6, "%s", text)
}

// PrintTrimmed prints how much of each tool's output is trimmed, one line per tool.
func PrintTrimmed(t *term.Terminal, outputs []repair.TrimmedOutput) {
	numbers, tokens := map[string]int{}, map[string]int{}
	for _, o := range outputs {
		numbers[o.Tool]++
		tokens[o.Tool] += o.Tokens
	}
	for _, tool := range slices.SortedFunc(maps.Keys(tokens), func(x, y string) int { return cmp.Or(tokens[y]-tokens[x], cmp.Compare(x, y)) }) {
		t.SayAt(2, "%s of %s, about %s tokens", term.Count(numbers[tool], "output"), term.OneLine(tool, 40), term.Thousands(tokens[tool]))
	}
}

// Sizes prints the size of the next request before and after.
func Sizes(t *term.Terminal, before, after, window int) {
	limit := fmt.Sprintf("an assumed context window of %s", term.Thousands(repair.DefaultWindow))
	if window > 0 {
		limit = "a context window of " + term.Thousands(window)
	}
	t.SayAt(2, "Next request: about %s tokens, now about %s (%d%% of %s).", term.Thousands(before), term.Thousands(after), after*100/cmp.Or(window, repair.DefaultWindow), limit)
}
