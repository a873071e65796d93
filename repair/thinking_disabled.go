package repair

import "fmt"

// findThinking finds answers with thinking, for a model that takes none. Nothing
// in the store says that a model does not, so this rule wants to be asked.
func findThinking(x exam) []finding {
	if !x.isAnswer() || !x.m.HasThinking() {
		return nil
	}
	n := 0
	for i := range x.m.Parts {
		if x.m.Parts[i].IsThinking() {
			n++
		}
	}
	why := fmt.Sprintf("The answer holds %d parts of thinking, and the model takes none.", n)
	if n == 1 {
		why = "The answer holds thinking, and the model takes none."
	}
	f := x.finding(ThinkingDisabledViolation, Latent, x.m.Ref, why)
	if x.inLoop() {
		f.WhyNot = whyLoop
		return []finding{f}
	}
	f.fixes = []fix{{
		cure:  "The thinking is removed; what the model said and did stays.",
		loses: "What the model thought in this answer, its signatures included.",
		edit:  exam.stripThinking,
	}}
	if !x.any(x.m.Parts, x.maySpeak) {
		f.fixes[0].cure = fmt.Sprintf("The thinking is removed; as nothing else is left, %q takes its place.", x.texts.placeholder)
	}
	return []finding{f}
}

// stripThinking takes the thinking out of the message. A message that is left
// without content gets the placeholder, where the last of the thinking was.
func (x exam) stripThinking() error {
	gone := x.m.StripThinking()
	if len(gone) == 0 || x.any(x.m.Parts, x.maySpeak) {
		return nil
	}
	if replaced, err := x.m.ReplaceEmptyText(x.texts.placeholder); replaced || err != nil {
		return err
	}
	return x.inject(gone[len(gone)-1].ID + suffix)
}
