package render

import (
	"slices"

	"mend/agent/opencode/js"
	"mend/request"
	"mend/session"
)

// An answer is an assistant's message on its way into the request.
type assistantDraft struct {
	*builder
	source  session.Ref
	foreign bool // another model wrote it, and gets nothing of it as its own
	signed  bool // some of its thinking is signed
	steps   []step
	prompts []draftMessage // prompts with attachments
}

// A step is what the model said in one go, and the results of its calls.
type step struct {
	blocks, results []draftBlock
}

// assistant is what an answer becomes: for each step a turn of the model, and
// one with the results of its tools.
func (r *builder) assistantMessages(m *message) []draftMessage {
	if m.failed() {
		return nil
	}
	a := &assistantDraft{builder: r, source: m.ref, steps: []step{{}}}
	a.foreign = m.model() != r.Model && !r.has(foreignKept)
	a.signed = slices.ContainsFunc(m.parts, func(p part) bool {
		return p.kind == session.TypeReasoning && !p.body.Get("metadata").Get("anthropic").Get("signature").Nullish()
	})
	for _, p := range m.parts {
		a.addPart(p)
	}
	var out []draftMessage
	for _, s := range a.steps {
		if len(s.blocks) > 0 {
			out = append(out, draftMessage{session.RoleAssistant, m.ref, s.blocks})
		}
		if len(s.results) > 0 {
			out = append(out, draftMessage{session.RoleUser, m.ref, s.results})
		}
	}
	if len(a.prompts) > 0 && r.has(attachedBefore) {
		return append(a.prompts, out...)
	}
	return append(out, a.prompts...)
}

// failed reports whether the message is left out for its error: for any but
// that of a user's abort, and also for that one where there is nothing to show.
func (m *message) failed() bool {
	if !m.error.Truthy() {
		return false
	}
	name, _ := m.error.Get("name").Text()
	return name != "MessageAbortedError" || !slices.ContainsFunc(m.parts, func(p part) bool {
		return p.kind != session.TypeStepStart && p.kind != session.TypeReasoning
	})
}

// model is the one that wrote the message.
func (m *message) model() request.Model {
	return request.Model{ProviderID: m.body.Get("providerID").String(), ModelID: m.body.Get("modelID").String()}
}

// add puts one part into the answer's last step, or begins a new one. Kinds of
// parts that are not named here are left out.
func (a *assistantDraft) addPart(p part) {
	switch p.kind {
	case session.TypeStepStart:
		a.steps = append(a.steps, step{})
	case session.TypeText:
		a.addText(p)
	case session.TypeReasoning:
		a.addReasoning(p)
	case session.TypeTool:
		a.addTool(p)
	}
}

// say puts a block into the last step.
func (a *assistantDraft) addBlock(p part, b request.Block, unsent bool) {
	b.Source = p.ref
	s := &a.steps[len(a.steps)-1]
	s.blocks = append(s.blocks, draftBlock{&b, unsent})
}

// text adds a text, ignored or not.
func (a *assistantDraft) addText(p part) {
	text, ok := p.body.Get("text").Text()
	if !ok {
		a.fail(fieldFailure(p.ref, "text is missing or no string"))
		return
	}
	if text == "" && a.signed && a.has(spaceForEmpty) {
		text = " "
	}
	if a.validMetadata(p) {
		a.addBlock(p, request.Block{Type: request.Text, Text: text}, false)
	}
}

// reasoning adds thinking. The model that wrote it gets it back with its
// signature; what has none is left out in the end.
func (a *assistantDraft) addReasoning(p part) {
	text, ok := p.body.Get("text").Text()
	if !ok {
		a.fail(fieldFailure(p.ref, "text is missing or no string"))
		return
	}
	b := request.Block{Type: request.Thinking, Text: text}
	switch {
	case a.foreign && a.has(foreignText):
		if js.Trim(text) != "" {
			b.Type = request.Text
			a.addBlock(p, b, false)
		}
		return
	case a.foreign:
		a.addBlock(p, b, true)
		return
	}
	meta := p.body.Get("metadata")
	if meta.Kind() == 'n' {
		a.fail(fieldFailure(p.ref, "metadata is null"))
		return
	}
	if !a.validMetadata(p) {
		return
	}
	anthropic := meta.Get("anthropic")
	signature, signed := anthropic.Get("signature").Text()
	redacted, isRedacted := anthropic.Get("redactedData").Text()
	switch {
	case !signed && anthropic.Get("signature").Kind() != 0:
		a.fail(fieldFailure(p.ref, "metadata.anthropic.signature is no string"))
		return
	case !isRedacted && anthropic.Get("redactedData").Kind() != 0:
		a.fail(fieldFailure(p.ref, "metadata.anthropic.redactedData is no string"))
		return
	case signed:
		b.Signature = signature
	case isRedacted:
		b.Type, b.Signature = request.RedactedThinking, redacted
	}
	a.addBlock(p, b, !signed && !isRedacted)
}

// metadata reports whether what a part says of itself to the provider has the
// form that it needs: an object of objects, or nothing. Another model's is not
// looked at.
func (a *assistantDraft) validMetadata(p part) bool {
	v := p.body.Get("metadata")
	if a.foreign || v.Nullish() {
		return true
	}
	ok := v.Kind() == '{'
	for _, e := range v.Members() {
		ok = ok && (e.Kind() == '{' || e.Name == "providerExecuted" && p.kind == session.TypeTool && a.has(providerTools))
	}
	if !ok {
		a.fail(fieldFailure(p.ref, "metadata is not an object of objects"))
	}
	return ok
}
