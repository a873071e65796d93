package diagnose

import (
	"slices"
	"strings"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/repair"
)

// firstPromptFixes returns the fixes of a conversation that starts with an answer: fixes that
// complete earlier records, one of which may be the prompt, and a fix for older versions, which read
// the messages in the order of their ids.
func firstPromptFixes(c *simulation, f finding) []repair.Fix {
	at := slices.IndexFunc(c.s.Messages, func(m record.Message) bool { return m.Ref.Message == f.Ref.Message })
	before := map[string]bool{}
	for i := range c.s.Messages[:at+1] {
		before[c.s.Messages[i].Ref.Message] = true
	}
	fixes := c.completions(func(r change.Ref) bool { return before[r.Message] })
	for i := range fixes {
		fixes[i].Whole = true // it changes a message other than the finding's
	}
	return append(fixes, fixOrder(c, f)...)
}

// lostPrompt returns an id for the prompt of the answer: the id that the answer names if it is
// usable, else one directly before the answer's own.
//
// The id that the answer names is not usable if other answers name lost prompts, too: the session may be a fork, which
// names prompts of the session that it was copied from, and a tree keeps the parts of these prompts in folders with
// their names. The id is not usable either if parts of the prompt are left: they would become parts of the new prompt,
// and undo could not separate them.
func lostPrompt(s *record.Session, answer *record.Message) (string, bool) {
	id := parentOf(answer)
	lost := func(id string) bool { return id != "" && s.Message(id) == nil }
	fork := slices.ContainsFunc(s.Messages, func(m record.Message) bool {
		other := parentOf(&m)
		return other != id && lost(other)
	})
	left := slices.ContainsFunc(s.Stray, func(x change.Stray) bool { return x.Message == id })
	if lost(id) && !fork && !left && strings.HasPrefix(id, "msg") && change.ValidateID(id) == nil && id < answer.ID {
		return id, true
	}
	id, ok := answer.IDBefore()
	return id, ok && s.Message(id) == nil
}

// parentOf returns the id of the prompt that an answer names, or "".
func parentOf(m *record.Message) string {
	raw, _ := jsonedit.Get(m.Data, "parentID")
	return jsonedit.Unquote(raw)
}
