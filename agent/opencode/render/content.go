package render

import (
	"mend/request"
	"mend/session"
)

// A content is what a stored message becomes in a request. It stands for every
// setting under which it would become the same.
type renderedMessage struct {
	cacheKey
	messages []finalMessage
	failures []Failure // what ends the agent on the way
}

// A memo is what something was made for, as far as that counts: most messages are
// made without asking what the profile says, since there is no difference.
type cacheKey struct {
	model        request.Model
	stripFiles   bool
	used, values trait
}

// memo is that of what the rendering has made.
func (r *builder) cacheKey() cacheKey {
	return cacheKey{r.Model, r.stripFiles, r.used, r.traits & r.used}
}

// holds reports whether the rendering would make the same.
func (m *cacheKey) matches(r *builder) bool {
	return m.model == r.Model && m.stripFiles == r.stripFiles && m.values == r.traits&m.used
}

// has reports whether the profile has the trait, and notes that it was asked. It is
// asked only where it makes a difference.
func (r *builder) has(t trait) bool {
	r.used |= t
	return r.traits&t != 0
}

// anew is the rendering before anything was made.
func (r *builder) fork() *builder {
	own := *r
	own.used, own.failures, own.reported = 0, nil, nil
	return &own
}

// contents are what the messages become. It notes what ends the agent.
func (r *builder) renderMessages(all []*message) []*renderedMessage {
	list := make([]*renderedMessage, len(all))
	for i, m := range all {
		list[i] = r.renderMessage(m)
		r.fail(list[i].failures...)
	}
	return list
}

// content is what the message becomes, made once.
func (r *builder) renderMessage(m *message) *renderedMessage {
	if m.isPrompt {
		return promptContent
	}
	for _, c := range m.rendered {
		if c.matches(r) {
			return c
		}
	}
	own := r.fork()
	c := &renderedMessage{messages: own.cleanUp(own.draftMessages(m)), failures: own.failures}
	c.cacheKey = own.cacheKey()
	m.rendered = append(m.rendered, c)
	return c
}

// promptContent is what the prompt becomes that the user types next.
var promptContent = &renderedMessage{messages: []finalMessage{{role: session.RoleUser, blocks: []*request.Block{{Type: request.Text, Text: PromptText}}, endsWithText: true}}}
