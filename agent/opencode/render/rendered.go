package render

import (
	"mend/request"
	"mend/session"
)

// A renderedMessage is what a stored message becomes in a request, for all settings that
// match the key.
type renderedMessage struct {
	cacheKey
	messages []finalMessage
	failures []Failure // while rendering it
}

// A cacheKey identifies the settings that a cached result depends on.
type cacheKey struct {
	to         *destination
	stripFiles bool
	profile    Profile
}

// A destination is where a request goes. The keys of one request share it.
type destination struct {
	model  request.Model
	target Target
}

// cacheKey returns the key of what was built since the last fork.
func (r *builder) cacheKey() cacheKey {
	return cacheKey{r.to, r.stripFiles, r.Profile}
}

// matches reports whether the builder would build the same.
func (m *cacheKey) matches(r *builder) bool {
	return *m.to == *r.to && m.stripFiles == r.stripFiles && m.profile == r.Profile
}

// fork returns a builder with the same settings that has not built anything.
func (r *builder) fork() *builder {
	fork := *r
	fork.failures, fork.reported = nil, nil
	return &fork
}

// renderMessages renders the messages and records their failures.
func (r *builder) renderMessages(all []*message) []*renderedMessage {
	list := make([]*renderedMessage, len(all))
	for i, m := range all {
		list[i] = r.renderMessage(m)
		r.fail(list[i].failures...)
	}
	return list
}

// renderMessage renders a message, or returns the cached result.
func (r *builder) renderMessage(m *message) *renderedMessage {
	if m.isPrompt {
		return renderedPrompt
	}
	return r.cached(&m.rendered, func(b *builder) []draftMessage { return b.draftMessages(m) })
}

// cached returns what a draft becomes, or the result of a former call.
func (r *builder) cached(all *[]*renderedMessage, draft func(*builder) []draftMessage) *renderedMessage {
	for _, c := range *all {
		if c.matches(r) {
			return c
		}
	}
	fork := r.fork()
	c := &renderedMessage{messages: fork.cleanUp(draft(fork)), failures: fork.failures}
	c.cacheKey = fork.cacheKey()
	*all = append(*all, c)
	return c
}

// renderedPrompt is the new prompt in the request.
var renderedPrompt = &renderedMessage{messages: []finalMessage{{role: session.RoleUser, blocks: []*request.Block{{Type: request.Text, Text: PromptText}}, endsWithText: true}}}
