package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"mend/agent/opencode/record"
	"mend/jsonedit"
	"mend/session"
)

// What only the rules of other providers than Anthropic need; most of their rules have the
// same fixes as those of Anthropic.

// vendorNames are the vendors as sentences call them.
var vendorNames = map[string]string{"moonshot": "Moonshot (Kimi)", "deepseek": "DeepSeek", "qwen": "Qwen (DashScope)"}

// whyVendor returns a why of a rule that only some vendors enforce.
func whyVendor(what string) func(*simulation, fault) string {
	return func(c *simulation, f fault) string {
		var names []string
		for _, p := range providers() {
			for _, v := range vendorsOf(p, f.Code) {
				names = append(names, vendorNames[v])
			}
		}
		return fmt.Sprintf("%s; %s refuses that.", what, strings.Join(names, ", and so does "))
	}
}

func whyIDLength(c *simulation, f fault) string {
	_, p := c.part(f.Ref)
	switch {
	case p == nil:
		return "The id of a tool call is invalid for the provider."
	case p.CallID == "":
		return "The tool call has an empty id; the provider rejects that."
	case len(p.CallID) > 64:
		return fmt.Sprintf("The id of the tool call has %d characters; the provider accepts 64.", len([]rune(p.CallID)))
	}
	return whyCallID(c, f)
}

func whyTooLong(c *simulation, f fault) string {
	if _, p := c.part(f.Ref); p != nil && !p.IsTool() {
		return "The text is longer than the 10485760 characters that the provider accepts."
	}
	return "The output of the tool is longer than the 10485760 characters that the provider accepts."
}

const whyLongText = "The text was not made by a tool, so mend does not remove it. To continue without it, fork the session before that message."

// fixTooLong has the agent send a line of text for the output, as it does for outputs that
// it cleared itself.
func fixTooLong(c *simulation, f fault) []fix {
	_, p := c.part(f.Ref)
	if p == nil || !p.IsTool() {
		return nil
	}
	return []fix{{
		text: "The output is marked as cleared: OpenCode sends a line of text for it. The output stays in the store.",
		edit: func(d *draft) error { return d.set(f.Ref, []byte("1"), "state", "time", "compacted") },
	}}
}

func whyBlankBlock(c *simulation, f fault) string {
	if _, p := c.part(f.Ref); p != nil && p.IsTool() {
		return "The output of the tool is blank; the provider rejects that."
	}
	return whyBlank(c, f)
}

// noOutput stands for the output of a tool that wrote nothing.
const noOutput = "(no output)"

// fixBlankBlock is for a blank text, or a result with one.
func fixBlankBlock(c *simulation, f fault) []fix {
	_, p := c.part(f.Ref)
	if p == nil || !p.IsTool() {
		return fixBlank(c, f)
	}
	field := "output"
	if p.Status == record.StatusError {
		field = "error"
		if raw, _ := jsonedit.Get(p.Data, "state", "metadata", "interrupted"); string(raw) == "true" {
			return []fix{{
				text: fmt.Sprintf("The output until the interruption becomes %q.", noOutput),
				edit: func(d *draft) error { return d.set(f.Ref, jsonedit.Quote(noOutput), "state", "metadata", "output") },
			}}
		}
	}
	return []fix{{
		text: fmt.Sprintf("The %s of the tool becomes %q.", field, noOutput),
		edit: func(d *draft) error { return d.set(f.Ref, jsonedit.Quote(noOutput), "state", field) },
	}}
}

func whyGeminiCall(c *simulation, f fault) string {
	if _, p := c.part(f.Ref); p != nil && p.Tool == "" {
		return "The tool call has no name; the provider rejects that."
	}
	return "The input of the tool call is not an object; the provider rejects that."
}

func fixGeminiCall(c *simulation, f fault) []fix {
	if _, p := c.part(f.Ref); p != nil && p.Tool == "" {
		return fixToolName(c, f)
	}
	return fixInput(c, f)
}

// fixLostPrompt puts a prompt before an answer that calls a tool: the placeholder into the
// prompt that is there and says nothing, or into a new one.
func fixLostPrompt(c *simulation, f fault) []fix {
	i := slices.IndexFunc(c.s.Messages, func(m record.Message) bool { return m.Ref.Message == f.Ref.Message })
	if i < 0 {
		return nil
	}
	var fixes []fix
	for j := range c.s.Messages[i].Parts { // one before the start of its step is a turn of its own
		if p := &c.s.Messages[i].Parts[j]; p.IsBlankText() {
			fixes = append(fixes, removal(p.Ref, "The blank text is removed. The rest of the message stays.", ""))
		}
	}
	if i > 0 && c.s.Messages[i-1].Role == session.RoleUser {
		ref := c.s.Messages[i-1].Ref
		fixes = append(fixes, fix{
			text:  fmt.Sprintf("The prompt %s, which has no content, gets the placeholder, marked as synthetic.", ref.Message),
			whole: true,
			edit:  func(d *draft) error { return refill(d, ref) },
		})
	}
	return append(fixes, fix{
		text:  "A prompt is inserted before the assistant message, in place of the missing one: the placeholder, marked as synthetic.",
		whole: true,
		edit:  func(d *draft) error { return insertPromptBefore(d, f.Ref) },
	})
}
