package render

import (
	"mend/request"
	"mend/session"
)

// A content is what a stored message becomes in a request. It stands for every
// setting under which it would become the same.
type content struct {
	memo
	ready []ready
	fatal []Fatal // what ends the agent on the way
}

// A memo is what something was made for, as far as that counts: most messages are
// made without asking what the profile says, since there is no difference.
type memo struct {
	model      request.Model
	strip      bool
	asked, had trait
}

// memo is that of what the rendering has made.
func (r *rendering) memo() memo { return memo{r.Model, r.strip, r.asked, r.traits & r.asked} }

// holds reports whether the rendering would make the same.
func (m *memo) holds(r *rendering) bool {
	return m.model == r.Model && m.strip == r.strip && m.had == r.traits&m.asked
}

// has reports whether the profile has the trait, and notes that it was asked. It is
// asked only where it makes a difference.
func (r *rendering) has(t trait) bool {
	r.asked |= t
	return r.traits&t != 0
}

// anew is the rendering before anything was made.
func (r *rendering) anew() *rendering {
	own := *r
	own.asked, own.fatal, own.told = 0, nil, nil
	return &own
}

// contents are what the messages become. It notes what ends the agent.
func (r *rendering) contents(all []*message) []*content {
	list := make([]*content, len(all))
	for i, m := range all {
		list[i] = r.content(m)
		r.die(list[i].fatal...)
	}
	return list
}

// content is what the message becomes, made once.
func (r *rendering) content(m *message) *content {
	if m.prompt {
		return promptContent
	}
	for _, c := range m.contents {
		if c.holds(r) {
			return c
		}
	}
	own := r.anew()
	c := &content{ready: own.cleanUp(own.messages(m)), fatal: own.fatal}
	c.memo = own.memo()
	m.contents = append(m.contents, c)
	return c
}

// promptContent is what the prompt becomes that the user types next.
var promptContent = &content{ready: []ready{{role: session.RoleUser, blocks: []*request.Block{{Type: request.Text, Text: PromptText}}, text: true}}}
