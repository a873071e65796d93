package diagnose

import (
	"mend/agent/opencode/record"
	"mend/agent/opencode/schema"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/repair"
)

// fixProviderCalls removes the mark that a provider ran a call itself. Every other provider is
// sent such a call without its result.
func fixProviderCalls(c *simulation, _ finding) []repair.Fix {
	isMarked := func(p *record.Part) bool {
		_, marked := jsonedit.Get(p.Data, "metadata", schema.ProviderExecuted)
		return marked && p.IsTool()
	}
	var marked []change.Ref
	for i := range c.s.Messages {
		for j := range c.s.Messages[i].Parts {
			if p := &c.s.Messages[i].Parts[j]; isMarked(p) {
				marked = append(marked, p.Ref)
			}
		}
	}
	if len(marked) == 0 {
		return nil
	}
	return []repair.Fix{{
		Text:  "The mark that a provider ran a call itself is removed from its metadata.",
		Loses: "The mark that a provider ran the call itself. The call is now sent with its stored result.",
		Whole: true,
		Edit: draftEdit(func(d *draft) error {
			for _, ref := range marked {
				_, p, err := d.part(ref)
				if err != nil {
					return err
				}
				if err := p.Unset("metadata", schema.ProviderExecuted); err != nil {
					return err
				}
			}
			return nil
		}),
	}}
}
