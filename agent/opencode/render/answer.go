package render

import (
	"slices"

	"mend/agent/opencode/js"
	"mend/request"
	"mend/session"
)

// An answer is an assistant's message on its way into the request.
type answer struct {
	*rendering
	from    session.Ref
	foreign bool // another model wrote it, and gets nothing of it as its own
	signed  bool // some of its thinking is signed
	steps   []step
	files   []outgoing // prompts with attachments
}

// A step is what the model said in one go, and the results of its calls.
type step struct {
	said, results []outgoingBlock
}

// assistant is what an answer becomes: for each step a turn of the model, and
// one with the results of its tools.
func (r *rendering) assistant(m *message) []outgoing {
	if m.failed() {
		return nil
	}
	a := &answer{rendering: r, from: m.ref, steps: []step{{}}}
	a.foreign = m.model() != r.Model && !r.has(foreignKept)
	a.signed = slices.ContainsFunc(m.parts, func(p part) bool {
		return p.kind == session.TypeReasoning && !p.body.Get("metadata").Get("anthropic").Get("signature").Nullish()
	})
	for _, p := range m.parts {
		a.add(p)
	}
	var out []outgoing
	for _, s := range a.steps {
		if len(s.said) > 0 {
			out = append(out, outgoing{session.RoleAssistant, m.ref, s.said})
		}
		if len(s.results) > 0 {
			out = append(out, outgoing{session.RoleUser, m.ref, s.results})
		}
	}
	if len(a.files) > 0 && r.has(attachedBefore) {
		return append(a.files, out...)
	}
	return append(out, a.files...)
}

// failed reports whether the message is left out for its error: for any but
// that of a user's abort, and also for that one where there is nothing to show.
func (m *message) failed() bool {
	if !m.told.error.Truthy() {
		return false
	}
	name, _ := m.told.error.Get("name").Text()
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
func (a *answer) add(p part) {
	switch p.kind {
	case session.TypeStepStart:
		a.steps = append(a.steps, step{})
	case session.TypeText:
		a.text(p)
	case session.TypeReasoning:
		a.reasoning(p)
	case session.TypeTool:
		a.tool(p)
	}
}

// say puts a block into the last step.
func (a *answer) say(p part, b request.Block, unsent bool) {
	b.Source = p.ref
	s := &a.steps[len(a.steps)-1]
	s.said = append(s.said, outgoingBlock{&b, unsent})
}

// text adds a text, ignored or not.
func (a *answer) text(p part) {
	text, ok := p.body.Get("text").Text()
	if !ok {
		a.die(field(p.ref, "text is missing or no string"))
		return
	}
	if text == "" && a.signed && a.has(spaceForEmpty) {
		text = " "
	}
	if a.metadata(p) {
		a.say(p, request.Block{Type: request.Text, Text: text}, false)
	}
}

// reasoning adds thinking. The model that wrote it gets it back with its
// signature; what has none is left out in the end.
func (a *answer) reasoning(p part) {
	text, ok := p.body.Get("text").Text()
	if !ok {
		a.die(field(p.ref, "text is missing or no string"))
		return
	}
	b := request.Block{Type: request.Thinking, Text: text}
	switch {
	case a.foreign && a.has(foreignText):
		if js.Trim(text) != "" {
			b.Type = request.Text
			a.say(p, b, false)
		}
		return
	case a.foreign:
		a.say(p, b, true)
		return
	}
	meta := p.body.Get("metadata")
	if meta.Kind() == 'n' {
		a.die(field(p.ref, "metadata is null"))
		return
	}
	if !a.metadata(p) {
		return
	}
	anthropic := meta.Get("anthropic")
	signature, signed := anthropic.Get("signature").Text()
	redacted, isRedacted := anthropic.Get("redactedData").Text()
	switch {
	case !signed && anthropic.Get("signature").Kind() != 0:
		a.die(field(p.ref, "metadata.anthropic.signature is no string"))
		return
	case !isRedacted && anthropic.Get("redactedData").Kind() != 0:
		a.die(field(p.ref, "metadata.anthropic.redactedData is no string"))
		return
	case signed:
		b.Signature = signature
	case isRedacted:
		b.Type, b.Signature = request.RedactedThinking, redacted
	}
	a.say(p, b, !signed && !isRedacted)
}

// metadata reports whether what a part says of itself to the provider has the
// form that it needs: an object of objects, or nothing. Another model's is not
// looked at.
func (a *answer) metadata(p part) bool {
	v := p.body.Get("metadata")
	if a.foreign || v.Nullish() {
		return true
	}
	ok := v.Kind() == '{'
	for _, e := range v.Members() {
		ok = ok && (e.Kind() == '{' || e.Name == "providerExecuted" && p.kind == session.TypeTool && a.has(providerTools))
	}
	if !ok {
		a.die(field(p.ref, "metadata is not an object of objects"))
	}
	return ok
}
