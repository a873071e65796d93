package diagnose

import (
	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/internal/jsonedit"
	"mend/internal/request"
	"mend/repair"
)

// This file finds thinking that the model does not support, or whose signature the
// provider rejects. Nothing in the store shows either.

// hiddenFields are where the agent keeps reasoning that only the provider can read, and what
// the provider signed, below the provider's name in a part's metadata (docs/opencode.md F14).
var hiddenFields = []string{"reasoningEncryptedContent", "thoughtSignature", "reasoningOpaque", "reasoning_details"}

// bedrockFields are the same of Bedrock. What Anthropic signed is below another name, and
// goes with its text.
var bedrockFields = []string{"signature", "redactedData", "redactedContent"}

// hiddenPaths returns the places of hidden reasoning in the metadata of the part.
func hiddenPaths(p *record.Part) (paths [][]string) {
	for _, name := range jsonedit.Names(p.Data, "metadata") {
		fields := hiddenFields
		if name == "bedrock" || name == "amazon-bedrock" {
			fields = bedrockFields
		}
		for _, field := range fields {
			if raw, ok := jsonedit.Get(p.Data, "metadata", name, field); ok && notNull(raw) && string(raw) != "[]" {
				paths = append(paths, []string{"metadata", name, field})
			}
		}
	}
	return paths
}

// bedrockFixes removes what Bedrock signed, which is not in the thinking itself.
func bedrockFixes(c *simulation, f finding) []repair.Fix {
	if c.api() != render.Bedrock {
		return nil
	}
	return []repair.Fix{{
		Text: "The encrypted reasoning is removed. Its summary stays.", Loses: "The encrypted reasoning, which only the provider could read.",
		Edit: draftEdit(func(d *draft) error { return d.DropHidden(&request.Block{Source: &f.Ref}) }),
	}}
}
