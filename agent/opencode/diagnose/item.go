package diagnose

import (
	"mend/agent/opencode/record"
	"mend/agent/opencode/schema"
	"mend/internal/jsonedit"
	"mend/repair"
)

// The ids that OpenAI gave to the items of its responses (docs/providers.md, O3, O4, O10,
// O11). Without them the same content is sent in full.

// itemPaths returns the places of such ids in the metadata of the part. A call that the
// provider ran itself is sent by its own id, because of a mark.
func itemPaths(p *record.Part) (paths [][]string) {
	for _, name := range jsonedit.Names(p.Data, "metadata") {
		if _, ok := jsonedit.Get(p.Data, "metadata", name, "itemId"); ok {
			paths = append(paths, []string{"metadata", name, "itemId"})
		}
	}
	if _, ok := jsonedit.Get(p.Data, "metadata", schema.ProviderExecuted); ok && p.IsTool() {
		paths = append(paths, []string{"metadata", schema.ProviderExecuted})
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

// fixBareReasoning removes what OpenAI stored with reasoning that older versions send
// because of it.
func fixBareReasoning(_ *simulation, f finding) []repair.Fix {
	return []repair.Fix{{
		Text: "What the provider stored with the reasoning is removed, so no version sends it. Its text stays.",
		Edit: draftEdit(func(d *draft) error {
			_, p, err := d.part(f.Ref)
			if err != nil {
				return err
			}
			return p.Unset("metadata")
		}),
	}}
}
