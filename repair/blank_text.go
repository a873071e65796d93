package repair

import (
	"fmt"

	"mend/session"
)

// blankTexts finds text parts without a visible character. The agent of some
// versions drops a text of no bytes and sends every other one
// (spec/opencode-storage.md, "What breaks the real program").
func (x exam) blankTexts() []finding {
	var fs []finding
	for i := range x.m.Parts {
		if p := &x.m.Parts[i]; p.IsBlankText() && textOrNone(p) {
			fs = append(fs, x.blankText(p))
		}
	}
	return fs
}

// textOrNone reports whether the part's text is a text, or is missing: one of
// another type may mean something, so it is not taken for blank.
func textOrNone(p *session.Part) bool {
	raw, there := session.Field(p.Data, "text")
	return !there || raw[0] == '"'
}

func (x exam) blankText(p *session.Part) finding {
	others := x.any(x.m.Parts, x.speaks)
	step := x.stepOf(p.Ref)
	severity, why := Broken, "The text holds nothing but blanks, and the provider refuses that."
	if p.Text == "" {
		why = "The text is empty, and the provider refuses that, or what the agent then sends without it."
	}
	if p.Text == "" && others && (x.any(step, x.speaks) || lastOf(step, (*session.Part).IsThinking) == nil) {
		severity, why = Latent, "The text is empty; newer agents send it beside the rest of the message, and the provider refuses that."
	}
	f := x.finding(EmptyContentMessage, severity, p.Ref, why)
	f.fixes = x.blankFixes(p.Ref, others)
	return f
}

// blankFixes are the ways to be rid of a blank text. It goes where other content
// stands beside it. Else it becomes the placeholder, where it stands, or behind
// thinking that it stands before.
func (x exam) blankFixes(ref session.Ref, others bool) []fix {
	var fixes []fix
	if others {
		fixes = append(fixes, fix{
			cure: "The blank text is removed; the rest of the message stays.",
			edit: func(x exam) error { x.m.Remove(ref); return nil },
		})
	}
	return append(fixes, fix{
		cure: fmt.Sprintf("The text becomes %q, marked as synthetic.", x.texts.placeholder),
		edit: func(x exam) error {
			p, err := x.part(ref)
			if err != nil {
				return err
			}
			return p.ReplaceText(x.texts.placeholder)
		},
	}, fix{
		cure: fmt.Sprintf("The blank text is removed, and a synthetic text %q is put behind the thinking.", x.texts.placeholder),
		edit: func(x exam) error { return x.replaceBehindThinking(ref) },
	})
}

func (x exam) replaceBehindThinking(ref session.Ref) error {
	last := lastOf(x.stepOf(ref), (*session.Part).IsThinking)
	if last == nil {
		return fmt.Errorf("%s: no thinking in its step", ref)
	}
	id := last.ID + suffix
	x.m.Remove(ref)
	return x.inject(id)
}
