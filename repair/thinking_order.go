package repair

import (
	"fmt"

	"mend/session"
)

// findThinkingOrder finds thinking behind other content of its step. Each step
// goes out as a turn of its own, and the provider wants thinking first in it,
// nothing but calls behind a call, and no thinking at the end
// (provider-rules.md, R1, R3, R10). Thinking between, after other thinking that
// leads the step, is how some models work and is left alone.
func findThinkingOrder(x exam) []finding {
	if !x.isAnswer() {
		return nil
	}
	var fs []finding
	for step := range x.m.Steps() {
		o := orderOf(x, step)
		for i := range step {
			if !step[i].IsThinking() {
				continue
			}
			if severity, why := o.place(i); severity != 0 {
				fs = append(fs, x.misplaced(&step[i], severity, why))
			}
		}
	}
	return fs
}

// An order is where things stand in a step; -1 for what is not in it.
type order struct {
	first int    // the first content
	last  int    // the last part that may be content
	call  int    // the first tool call
	name  string // of that call
	leads bool   // signed thinking comes before all content
}

func orderOf(x exam, step []session.Part) order {
	o := order{first: -1, last: -1, call: -1}
	for i := range step {
		p := &step[i]
		if p.IsTool() && o.call < 0 {
			o.call, o.name = i, callName(p)
		}
		if p.IsThinking() && p.Signature != "" && o.first < 0 {
			o.leads = true
		}
		if x.speaks(p) && o.first < 0 {
			o.first = i
		}
		if x.maySpeak(p) {
			o.last = i
		}
	}
	return o
}

// place says what is wrong with thinking at part i of the step, and how bad that
// is; 0 if nothing is. Alone in its step it is not misplaced: the step is empty.
func (o order) place(i int) (Severity, string) {
	switch {
	case o.call >= 0 && i > o.call:
		return Broken, fmt.Sprintf("Thinking stands behind the %s in the same step, where the provider takes nothing but further calls.", o.name)
	case o.first >= 0 && i > o.last:
		return Broken, "Thinking is the last thing in its step, and the provider refuses an answer that ends with it."
	case o.first >= 0 && i > o.first && !o.leads:
		return Latent, "The step starts with other content and its thinking comes later: in an open tool loop the provider wants it first."
	}
	return 0, ""
}

// misplaced is the finding for thinking that stands wrongly. What is signed can
// be moved. Unsigned reasoning does not go out at all, so it does no harm; the
// thinking parts of older stores do go out as they are.
func (x exam) misplaced(p *session.Part, severity Severity, why string) finding {
	signed := p.Signature != ""
	if !signed && p.Type == session.TypeReasoning {
		severity, why = Note, "Thinking without a signature stands behind other content of its step; the agent leaves it out of the request."
	}
	f := x.finding(ThinkingBlockOrder, severity, p.Ref, why)
	if x.inLoop() {
		f.WhyNot = whyLoop
		return f
	}
	ref := p.Ref
	if signed {
		f.fixes = append(f.fixes, fix{
			cure: "The thinking moves to the front of its step; nothing of it changes but its id.",
			edit: func(x exam) error { return x.m.MoveThinkingFirst(ref) },
		})
	}
	f.fixes = append(f.fixes, fix{
		cure:  "The thinking is removed.",
		loses: "What the model thought at this point; what it said and did stays.",
		edit:  func(x exam) error { x.m.Remove(ref); return nil },
	})
	return f
}
