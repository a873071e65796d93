package diagnose

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/agent/opencode/schema"
	"mend/jsonedit"
	"mend/request"
	"mend/session"
)

// This file fixes calls with an id, an input or a tool name that the provider rejects.

func whyCallID(c *simulation, f fault) string {
	_, p := c.part(f.Ref)
	switch {
	case p == nil:
		return "The provider rejects the id of a tool call."
	case p.CallID == "":
		return "The tool call's id is empty; the provider rejects that."
	}
	return fmt.Sprintf("The tool call's id %q contains characters that the provider rejects.", p.CallID)
}

// fixCallID returns the fixes that give the call an id made of the part's. The call and
// its result are one record, so nothing else refers to the id.
func fixCallID(c *simulation, f fault) []fix {
	_, p := c.part(f.Ref)
	if p == nil {
		return nil
	}
	id := callIDOf(p.ID)
	var fixes []fix
	for _, id := range []string{id, id + suffix} { // another call may have the first one
		fixes = append(fixes, fix{
			text: fmt.Sprintf("The call gets the new id %s.", id),
			edit: func(d *draft) error {
				if p.CallID == id {
					return errors.New("it has that id already")
				}
				return d.set(f.Ref, jsonedit.Quote(id), "callID")
			},
		})
	}
	return fixes
}

// findMissingReasoning finds the first call of each step that is sent through chat completions
// without reasoning.
func findMissingReasoning(c *simulation) (fs []fault) {
	r := c.render(c.settings[own])
	if r.API != render.Chat {
		return nil
	}
	for _, t := range r.Turns {
		i := slices.IndexFunc(t.Blocks, func(b *request.Block) bool { return b.Type == request.ToolUse && b.Source != nil })
		if i >= 0 && !slices.ContainsFunc(t.Blocks, (*request.Block).IsThinking) {
			fs = append(fs, fault{Ref: *t.Blocks[i].Source})
		}
	}
	return fs
}

// fixMissingReasoning returns the fix of a call without reasoning: if it is empty, OpenCode
// does not send it, or not in each version.
func fixMissingReasoning(c *simulation, f fault) []fix {
	return []fix{{
		text: fmt.Sprintf("Reasoning %q is added before the call.", c.texts.placeholder),
		edit: func(d *draft) error {
			m, err := d.message(f.Ref)
			if err != nil {
				return err
			}
			i := d.partIndex(m, f.Ref)
			if i < 1 {
				return errors.New("the call is the first part")
			}
			id, err := idAfter(m, m.Parts[i-1].ID)
			if err == nil {
				m.Insert(d.s.NewReasoning(m, id, c.texts.placeholder))
			}
			return err
		},
	}}
}

// fixSharedID returns the fixes of an id that several calls of a step have. Calls of other
// messages may have it too, and single vendors refuse that: so the first one gives every such
// call an id of its own.
func fixSharedID(c *simulation, f fault) []fix {
	return append([]fix{{
		text:  "Each call whose id an earlier one has gets a new id.",
		whole: true,
		edit: func(d *draft) error {
			taken := map[string]bool{}
			c.eachPart(func(_ *record.Message, p *record.Part) { taken[p.CallID] = true })
			ids, seen := map[session.Ref]string{}, map[string]bool{}
			c.eachPart(func(_ *record.Message, p *record.Part) {
				if p.Type != record.TypeTool || p.Defect != nil || p.CallID == "" {
					return
				}
				if seen[p.CallID] {
					id := callIDOf(p.ID)
					if taken[id] {
						id += suffix
					}
					ids[p.Ref] = id
					taken[id] = true
				}
				seen[p.CallID] = true
			})
			for ref, id := range ids {
				if err := d.set(ref, jsonedit.Quote(id), "callID"); err != nil {
					return err
				}
			}
			return nil
		},
	}}, fixCallID(c, f)...)
}

// maxCallID is how many bytes of a part's id become part of the id of its call: the lowest
// limit of a provider is 64.
const maxCallID = 48

// callIDOf returns the id for the call of a part.
func callIDOf(part string) string {
	id := notInName().ReplaceAllLiteralString(strings.TrimPrefix(part, partPrefix), "_")
	return "call_" + id[max(0, len(id)-maxCallID):]
}

// fixInput returns the fix that converts the input to an object
// ([schema.ConvertInput]).
func fixInput(c *simulation, f fault) []fix {
	_, p := c.part(f.Ref)
	if p == nil {
		return nil
	}
	raw, ok := jsonedit.Get(p.Data, "state", "input")
	text, input := "The input becomes an empty object.", []byte("{}")
	if ok && notNull(raw) {
		input, _ = schema.ConvertInput(nil, raw)
		text = "The input is parsed from text into an object."
		if string(input) == `{"input":`+string(raw)+`}` {
			text = `The input is wrapped in an object, under "input".`
		}
	}
	return []fix{{text: text, edit: func(d *draft) error { return d.set(f.Ref, input, "state", "input") }}}
}

// notInName matches the characters that providers reject in names of tools
// (docs/opencode.md F11).
var notInName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-zA-Z0-9_-]`) })

func findToolNames(c *simulation) (fs []fault) {
	if c.api() != render.Anthropic {
		return nil // the rules of the provider say which names are refused
	}
	c.eachPart(func(_ *record.Message, p *record.Part) {
		if p.Type == record.TypeTool && !isToolName([]byte(p.Tool)) && p.Defect == nil {
			fs = append(fs, fault{Ref: p.Ref})
		}
	})
	return fs
}

// maxToolName is the maximum length of a tool's name in bytes.
const maxToolName = 128

func isToolName(s []byte) bool { return isName(s) && len(s) <= maxToolName }

func whyToolName(c *simulation, f fault) string {
	_, p := c.part(f.Ref)
	return fmt.Sprintf("The tool's name %q is invalid: providers accept at most 128 letters, digits, _ and -.", p.Tool)
}

func fixToolName(c *simulation, f fault) []fix {
	_, p := c.part(f.Ref)
	name := notInName().ReplaceAllLiteralString(p.Tool, "_")
	name = name[:min(len(name), maxToolName)]
	if name == "" {
		name = "invalid" // the agent's name for an unknown tool
	}
	ref := f.Ref
	return []fix{{
		text:  fmt.Sprintf("The tool is renamed to %s.", name),
		loses: "The name that the model used.",
		edit:  func(d *draft) error { return d.set(ref, jsonedit.Quote(name), "tool") },
	}}
}
