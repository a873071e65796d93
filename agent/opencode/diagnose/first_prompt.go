package diagnose

import (
	"slices"
	"strings"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/repair"
)

// firstPromptFixes returns the fixes of a conversation that starts with an answer: those that
// complete records before it, one of which may be the prompt, one that moves answers to their place,
// and those for older versions, which read the messages in another order.
func firstPromptFixes(c *simulation, f finding) []repair.Fix {
	at := slices.IndexFunc(c.s.Messages, func(m record.Message) bool { return m.Ref.Message == f.Ref.Message })
	before := map[string]bool{}
	for i := range c.s.Messages[:at+1] {
		before[c.s.Messages[i].Ref.Message] = true
	}
	fixes := c.completions(func(r change.Ref) bool { return before[r.Message] })
	for i := range fixes {
		fixes[i].Whole = true // of another message than the one at fault
	}
	return slices.Concat(fixes, fixEarlyAnswers(c, at), orderFixes(c.s))
}

// fixEarlyAnswers returns the fix of answers up to the one at that index that are dated
// before their prompts, while the time inside the record, or that in its id, is later.
func fixEarlyAnswers(c *simulation, at int) []repair.Fix {
	if at < 0 {
		return nil
	}
	prompt := slices.IndexFunc(c.s.Messages[at:], func(m record.Message) bool { return m.Role == change.RoleUser })
	if prompt < 0 {
		return nil
	}
	after, wraps := c.s.Messages[at+prompt].Created, record.ClockWraps(c.s.LatestTime())
	times := map[change.Ref]int64{}
	for i := range c.s.Messages[:at+1] {
		m := &c.s.Messages[i]
		ms := render.CreatedInJSON(m)
		if ms <= after {
			ms, _ = record.IDTime(m.ID, wraps)
		}
		if ms > after && !c.now.IsZero() && ms < c.now.UnixMilli() {
			times[m.Ref] = ms
		}
	}
	if len(times) == 0 {
		return nil
	}
	return []repair.Fix{{
		Text: "Assistant messages that are dated before the first prompt get the time that is stored in them, or that of their id.", Loses: "The former time.", Whole: true,
		Edit: draftEdit(func(d *draft) error {
			for i := range d.s.Messages {
				m := &d.s.Messages[i]
				if ms, ok := times[m.Ref]; ok {
					if err := setCreated(m, ms); err != nil {
						return err
					}
				}
			}
			d.s.Sort()
			return nil
		}),
	}}
}

// lostPrompt returns an id for the prompt of the answer: the id that the answer names
// if it can be used, else one directly before the answer's own.
//
// The id that the answer names is not used if other answers name lost prompts, too: the
// session may be a fork, which names prompts of the session that it was copied from,
// and a tree keeps their parts in folders of these names. Nor is it used if parts of
// the prompt are left: they would become parts of the new prompt, and undo could not
// separate them.
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

// parentOf returns the id of the prompt that an answer names, "" if it names none.
func parentOf(m *record.Message) string {
	raw, _ := jsonedit.Get(m.Data, "parentID")
	return jsonedit.Unquote(raw)
}
