package diagnose

import (
	"mend/agent/opencode/record"
	"mend/internal/jsonedit"
	"mend/repair"
)

// Fixes that remove the providers' data from the metadata of parts.

// itemPaths returns the paths of the ids that OpenAI gave to the items of its responses, in the metadata of the part
// (docs/providers.md, O3, O4, O10, O11). Without an id the same content is sent in full.
func itemPaths(p *record.Part) (paths [][]string) {
	for _, name := range jsonedit.Names(p.Data, "metadata") {
		if _, ok := jsonedit.Get(p.Data, "metadata", name, "itemId"); ok {
			paths = append(paths, []string{"metadata", name, "itemId"})
		}
	}
	return paths
}

// unsetAll removes fields of the part.
func unsetAll(p *record.Part, paths [][]string) error {
	for _, path := range paths {
		if err := p.Unset(path...); err != nil {
			return err
		}
	}
	return nil
}

// fixBareReasoning removes OpenAI's metadata from reasoning, because older versions send reasoning that has metadata.
func fixBareReasoning(_ *simulation, f finding) []repair.Fix {
	return []repair.Fix{{
		Text: "What the provider stored with the reasoning is removed, so no version sends it. Its text stays.",
		Edit: draftEdit(func(d *draft) error { return d.unset(f.Ref, "metadata") }),
	}}
}

// hiddenFields are the fields, below the provider's name in a part's metadata, where the agent
// keeps the provider's signatures and reasoning that only the provider can read (docs/opencode.md
// F14).
var hiddenFields = []string{"reasoningEncryptedContent", "thoughtSignature", "reasoningOpaque", "reasoning_details"}

// bedrockFields are the same fields of Bedrock. Anthropic's signatures are below another name, and
// are removed with their text.
var bedrockFields = []string{"signature", "redactedData", "redactedContent"}

// hiddenPaths returns the paths of hidden reasoning in the metadata of the part.
func hiddenPaths(p *record.Part) (paths [][]string) {
	for _, name := range jsonedit.Names(p.Data, "metadata") {
		fields := hiddenFields
		if name == "bedrock" || name == "amazon-bedrock" {
			fields = bedrockFields
		}
		for _, field := range fields {
			if raw, ok := jsonedit.Get(p.Data, "metadata", name, field); ok && raw[0] != 'n' && string(raw) != "[]" {
				paths = append(paths, []string{"metadata", name, field})
			}
		}
	}
	return paths
}
