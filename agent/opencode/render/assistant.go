package render

import (
	"encoding/json"
	"slices"

	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/request"
)

// An assistantDraft renders an assistant message.
type assistantDraft struct {
	*builder
	source  *change.Ref
	foreign bool // another model wrote the message, so its thinking is not sent as thinking
	signed  bool // some thinking of the message is signed
	steps   []step
	prompts []draftMessage // for the attachments of tool results
}

// A step is one response of the model with the results of its tool calls.
type step struct {
	blocks, results []draftBlock
}

// assistantMessages returns the messages made of an assistant message: for each step an assistant
// message and a message with the tool results.
func (r *builder) assistantMessages(m *message) []draftMessage {
	if m.isDropped() {
		return nil
	}
	a := &assistantDraft{builder: r, source: &m.Ref, steps: []step{{}}}
	a.foreign = m.model() != r.Model
	a.signed = slices.ContainsFunc(m.parts, isSigned)
	for _, p := range m.parts {
		a.addPart(p)
	}
	var out []draftMessage
	for _, s := range a.steps {
		if len(s.blocks) > 0 {
			out = append(out, draftMessage{change.RoleAssistant, &m.Ref, s.blocks})
		}
		if len(s.results) > 0 {
			out = append(out, draftMessage{change.RoleUser, &m.Ref, s.results})
		}
	}
	return append(out, a.prompts...)
}

// isDropped reports whether the message is dropped because of its error. After an abort by the user it
// is kept if it has content.
func (m *message) isDropped() bool {
	if !m.Failed {
		return false
	}
	name := m.JSON.TextAt("error", "name")
	return name != "MessageAbortedError" || !slices.ContainsFunc(m.parts, func(p *record.Part) bool {
		return p.Type != record.TypeStepStart && p.Type != record.TypeReasoning
	})
}

func (m *message) model() request.Model {
	v := m.JSON
	return request.Model{ProviderID: v.Get("providerID").String(), ModelID: v.Get("modelID").String()}
}

// addPart adds a part to the last step, or begins or ends a step. It ignores parts of other types.
func (a *assistantDraft) addPart(p *record.Part) {
	switch p.Type {
	case record.TypeStepStart:
		a.steps = append(a.steps, step{})
	case record.TypeText:
		a.addText(p)
	case record.TypeReasoning:
		a.addReasoning(p)
	case record.TypeTool:
		a.addTool(p)
	case "step-finish":
		a.finishStep(p)
	}
}

// addBlock adds a block to the last step.
func (a *assistantDraft) addBlock(p *record.Part, b request.Block, unsent bool) {
	b.Source = &p.Ref
	s := &a.steps[len(a.steps)-1]
	s.blocks = append(s.blocks, draftBlock{Block: &b, unsent: unsent, marked: !a.foreign &&
		!p.JSON.Get("metadata").Nullish()})
}

// addText adds a text; OpenCode adds it even if it is marked as ignored.
func (a *assistantDraft) addText(p *record.Part) {
	if a.Profile.IsKilo() && p.JSON.Get("ignored").Truthy() {
		return
	}
	text, ok := textOf(p)
	if !ok {
		a.fail(fieldFailure(p.Ref, "text is missing or not a string"))
		return
	}
	if text == "" && a.signed && a.isSince(v115) {
		text = " "
	}
	if a.validMetadata(p) {
		b := request.Block{Type: request.Text, Text: text, HalfPair: a.sendsHalfPair(p.JSON.Get("text").Raw())}
		a.mark(p, &b)
		a.markAnthropicText(p, &b)
		a.addBlock(p, b, false)
	}
}

// markAnthropicText copies Anthropic's metadata of a text.
func (a *assistantDraft) markAnthropicText(p *record.Part, b *request.Block) {
	if a.api != Anthropic || a.foreign {
		return
	}
	meta := p.JSON.Get("metadata").Get("anthropic")
	kind := meta.TextAt("type")
	switch {
	case kind == "compaction" && b.Text != "" && a.isSince(v12):
		b.Type = request.Summary
	case !meta.Get("citations").Nullish() && a.isSince(v115):
		b.Citations = json.RawMessage(meta.Get("citations").Raw())
	}
}

// addReasoning adds thinking. Only the model that wrote it gets it back as thinking, and only with its signature.
func (a *assistantDraft) addReasoning(p *record.Part) {
	text, ok := textOf(p)
	if !ok {
		a.fail(fieldFailure(p.Ref, "text is missing or not a string"))
		return
	}
	b := request.Block{Type: request.Thinking, Text: text}
	switch {
	case a.foreign && a.isSince(v115):
		if js.Trim(text) != "" {
			b.Type = request.Text
			a.addBlock(p, b, false)
		}
		return
	case a.foreign && a.api == Anthropic:
		a.addBlock(p, b, true)
		return
	case a.foreign:
		a.addOtherReasoning(p, b)
		return
	}
	meta := p.JSON.Get("metadata")
	if meta.Kind() == 'n' {
		a.fail(fieldFailure(p.Ref, "metadata is null"))
		return
	}
	if !a.validMetadata(p) {
		return
	}
	if a.api != Anthropic {
		a.addOtherReasoning(p, b)
		return
	}
	anthropic := meta.Get("anthropic")
	signature, signed := anthropic.Get("signature").Text()
	redacted, isRedacted := anthropic.Get("redactedData").Text()
	unmarked := anthropic.Get("signature").Nullish() && anthropic.Get("redactedData").Nullish()
	switch {
	case a.isEmpty(draftBlock{Block: &b, unsent: unmarked}): // the agent drops the block before it reads its members
		a.addBlock(p, b, true)
		return
	case !signed && anthropic.Get("signature").Kind() != 0:
		a.fail(fieldFailure(p.Ref, "metadata.anthropic.signature is not a string"))
		return
	case !isRedacted && anthropic.Get("redactedData").Kind() != 0:
		a.fail(fieldFailure(p.Ref, "metadata.anthropic.redactedData is not a string"))
		return
	case signed:
		b.Signature = signature
	case isRedacted:
		b.Type, b.Signature = request.RedactedThinking, redacted
	}
	a.addBlock(p, b, !signed && !isRedacted)
}

// validMetadata reports whether the part's metadata is valid: an object of objects, or missing.
// Metadata of another model is not used.
func (a *assistantDraft) validMetadata(p *record.Part) bool {
	v := p.JSON.Get("metadata")
	if a.foreign || v.Nullish() {
		return true
	}
	copied := p.Type == record.TypeTool && a.isSince(v115) // the agent copies it into an object with providerExecuted
	ok := v.Kind() == '{' || copied && (v.Kind() != '"' || !v.Truthy())
	for name, e := range v.Children() {
		ok = ok && (e.Kind() == '{' || copied && string(name) == "providerExecuted")
	}
	if !ok {
		a.fail(fieldFailure(p.Ref, "metadata is not an object of objects"))
	}
	return ok
}
