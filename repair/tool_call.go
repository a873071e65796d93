package repair

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"mend/session"
)

// Calls whose id, input or tool name the provider does not take.

func whyCallID(c *chart, f fault) string {
	_, p := c.part(f.ref)
	switch {
	case p == nil:
		return "The id of a tool call is not one that the provider takes."
	case p.CallID == "":
		return "The call has an empty id, and the provider takes none like that."
	}
	return fmt.Sprintf("The id %q of the call has characters that the provider does not take.", p.CallID)
}

// fixCallID gives the call an id of its own, made of the part's. The call and
// its result are one record, so nothing else refers to it.
func fixCallID(c *chart, f fault) []fix {
	m, p := c.part(f.ref)
	if p == nil {
		return nil
	}
	id := "call_" + notInName.ReplaceAllLiteralString(strings.TrimPrefix(p.ID, "prt_"), "_")
	ref := f.ref
	return []fix{{
		cure: fmt.Sprintf("The call gets the id %s.", id),
		edit: func(d *draft) error {
			if p.CallID == id {
				return errors.New("it has that id already")
			}
			return d.set(ref, session.Quote(id), callField(m, p))
		},
	}}
}

// callField is the field with the id of the call.
func callField(_ *session.Message, p *session.Part) string {
	if p.Type == session.TypeToolUse {
		if _, ok := session.Field(p.Data, "callID"); !ok {
			return "id"
		}
	}
	return "callID"
}

// fixInput puts what is no object into one.
func fixInput(c *chart, f fault) []fix {
	_, p := c.part(f.ref)
	if p == nil {
		return nil
	}
	raw, ok := session.Field(p.Data, "state", "input")
	raw = bytes.Clone(raw)
	ref := f.ref
	fx := fix{
		cure: `The input becomes an object, with what it was as "input".`,
		edit: func(d *draft) error {
			return d.set(ref, append(append([]byte(`{"input":`), raw...), '}'), "state", "input")
		},
	}
	if !ok || raw[0] == 'n' {
		fx.cure = "The input becomes an empty object."
		fx.edit = func(d *draft) error { return d.set(ref, []byte("{}"), "state", "input") }
	}
	return []fix{fx}
}

// The names of tools that providers take (spec/peers-and-failures.md F11).
var (
	goodName  = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	notInName = regexp.MustCompile(`[^a-zA-Z0-9_-]`)
)

func findToolNames(c *chart) (fs []fault) {
	c.eachPart(func(_ *session.Message, p *session.Part) {
		if p.Type == session.TypeTool && !goodName.MatchString(p.Tool) && p.Defect == nil {
			fs = append(fs, fault{ref: p.Ref})
		}
	})
	return fs
}

func whyToolName(c *chart, f fault) string {
	_, p := c.part(f.ref)
	return fmt.Sprintf("The tool is called %q, and providers take only letters, digits, _ and - in a name, 128 at most.", p.Tool)
}

func fixToolName(c *chart, f fault) []fix {
	_, p := c.part(f.ref)
	name := notInName.ReplaceAllLiteralString(p.Tool, "_")
	name = name[:min(len(name), 128)]
	if name == "" {
		name = "invalid" // what the agent calls a tool that it does not know
	}
	ref := f.ref
	return []fix{{
		cure:  fmt.Sprintf("The tool is called %s.", name),
		loses: "The name as the model wrote it.",
		edit:  func(d *draft) error { return d.set(ref, session.Quote(name), "tool") },
	}}
}
