package show

import (
	"cmp"
	"fmt"
	"slices"

	"mend/internal/term"
	"mend/repair"
)

// Diagnosis prints a finding with its code, its place and its fix.
func Diagnosis(t *term.Terminal, d repair.Diagnosis) {
	t.SayAt(4, fmt.Sprintf("%s %s  %s  %s", SeverityWord(d.Severity), d.Rule, term.Faint(string(d.Class)), term.Faint(d.Ref)))
	t.SayAt(6, term.Escape(d.Why))
	Fix(t, d, 6)
}

// Fix prints the fix of a finding and its loss, or why it has no fix.
func Fix(t *term.Terminal, d repair.Diagnosis, column int) {
	if d.Healed != "" {
		t.SayAt(column, term.Good("update:")+" "+term.Escape(d.Healed))
	}
	if d.Fix == "" {
		t.SayAt(column, term.Warn("no fix:")+" "+term.Escape(d.WhyNot))
		return
	}
	text := term.Good("fix:") + " " + term.Escape(d.Fix)
	if d.Loses != "" {
		text += " " + term.Warn("lost: "+term.Escape(d.Loses))
	}
	t.SayAt(column, text)
}

// Trimmed prints how much of each tool's output is trimmed, one line per tool.
func Trimmed(t *term.Terminal, outputs []repair.TrimmedOutput) {
	type total struct{ outputs, copies, tokens int }
	tools := map[string]total{}
	var names []string
	for _, o := range outputs {
		n, ok := tools[o.Tool]
		if !ok {
			names = append(names, o.Tool)
		}
		n.outputs++
		n.tokens += o.Tokens
		if o.Copy {
			n.copies++
		}
		tools[o.Tool] = n
	}
	slices.SortStableFunc(names, func(x, y string) int { return cmp.Compare(tools[y].tokens, tools[x].tokens) })
	for _, name := range names {
		n := tools[name]
		line := fmt.Sprintf("%s of %s, about %s tokens", term.Count(n.outputs, "output"), term.OneLine(name, 40), term.Thousands(n.tokens))
		if n.copies > 0 {
			line += fmt.Sprintf(", %d of them repeated later", n.copies)
		}
		t.SayAt(2, line)
	}
}

// Sizes prints the size of the next request before and after.
func Sizes(t *term.Terminal, before, after, window int) {
	limit := fmt.Sprintf("a context window that is not known; %s are assumed", term.Thousands(repair.DefaultWindow))
	if window > 0 {
		limit = "a context window of " + term.Thousands(window)
	}
	t.SayAt(2, fmt.Sprintf("Next request: about %s tokens, now about %s (%d%% of %s).", term.Thousands(before), term.Thousands(after), after*100/cmp.Or(window, repair.DefaultWindow), limit))
}
