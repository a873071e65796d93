package diagnose

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/jsonedit"
	"mend/session"
)

// fixFirstPrompt returns the fixes of a conversation that starts with an answer: first
// those that complete records before it, one of which may be the prompt, then one that
// moves answers to their place, then a placeholder.
func fixFirstPrompt(c *simulation, f fault) []fix {
	at := slices.IndexFunc(c.s.Messages, func(m record.Message) bool { return m.Ref.Message == f.Ref.Message })
	before := map[string]bool{}
	for i := range c.s.Messages[:at+1] {
		before[c.s.Messages[i].Ref.Message] = true
	}
	fixes := c.completions(func(r session.Ref) bool { return before[r.Message] })
	for i := range fixes {
		fixes[i].whole = true // of another message than the one at fault
	}
	return slices.Concat(fixes, fixEarlyAnswers(c, at), firstPromptFixes(c.s, f))
}

// fixEarlyAnswers returns the fix of answers up to the one at that index that are dated
// before their prompts, while the time inside the record, or that in its id, is later.
func fixEarlyAnswers(c *simulation, at int) []fix {
	if at < 0 {
		return nil
	}
	prompt := slices.IndexFunc(c.s.Messages[at:], func(m record.Message) bool { return m.Role == session.RoleUser })
	if prompt < 0 {
		return nil
	}
	after, wraps := c.s.Messages[at+prompt].Created, record.ClockWraps(c.s.LatestTime())
	times := map[session.Ref]int64{}
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
	return []fix{{
		text: "Assistant messages that are dated before the first prompt get the time in their record, or that in their id.", loses: "The former time.", whole: true,
		edit: func(d *draft) error {
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
		},
	}}
}

// firstPromptFixes returns fixes for three causes: older versions read the messages in
// another order, the prompt has nothing that is sent, or it is lost.
func firstPromptFixes(s *record.Session, f fault) []fix {
	i := slices.IndexFunc(s.Messages, func(m record.Message) bool { return m.Ref.Message == f.Ref.Message })
	if i < 0 {
		return nil
	}
	fixes := orderFixes(s)
	if at := promptBefore(s, i); at >= 0 {
		ref := s.Messages[at].Ref
		return append(fixes, fix{
			text:  fmt.Sprintf("The empty first prompt %s gets placeholder text, marked synthetic.", ref.Message),
			whole: true, // another message than the one at fault
			edit:  func(d *draft) error { return refill(d, ref) },
		})
	}
	return append(fixes, fix{
		text:  "A placeholder prompt, marked synthetic, is inserted before the first assistant message.",
		whole: true,
		edit:  func(d *draft) error { return insertPromptBefore(d, f.Ref) },
	})
}

// promptBefore returns the index of the last prompt before message i, -1 if there is
// none.
func promptBefore(s *record.Session, i int) int {
	for j := range slices.Backward(s.Messages[:i]) {
		if s.Messages[j].Role == session.RoleUser {
			return j
		}
	}
	return -1
}

// refill puts the placeholder into a prompt without content.
func refill(d *draft, ref session.Ref) error {
	m, err := d.message(ref)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(m.Parts, isTextWithContent) {
		return fmt.Errorf("%s: it has content", ref)
	}
	if replaced, err := m.ReplaceEmptyText(d.texts.placeholder); replaced || err != nil {
		return err
	}
	if !d.s.InjectText(m, m.FirstPartID(), d.texts.placeholder) {
		return fmt.Errorf("%s: it has a part %s", ref, m.FirstPartID())
	}
	return nil
}

// isTextWithContent reports whether the part of a prompt is sent to the model.
func isTextWithContent(p record.Part) bool {
	switch p.Type {
	case record.TypeText:
		return !p.Ignored && p.Text != ""
	case record.TypeFile:
		raw, _ := jsonedit.Get(p.Data, "mime")
		mime := jsonedit.Unquote(raw)
		return mime != "text/plain" && mime != "application/x-directory"
	case "compaction", "subtask":
		return true
	}
	return false
}

// insertPromptBefore inserts a synthetic prompt before an answer.
func insertPromptBefore(d *draft, ref session.Ref) error {
	answer, err := d.message(ref)
	if err != nil {
		return err
	}
	id, ok := lostPrompt(d.s, answer)
	if !ok {
		return fmt.Errorf("%s: no id for a prompt sorts before it", ref)
	}
	m, ok := d.s.NewPrompt(answer, id)
	if !ok {
		return errors.New("no message names a model")
	}
	d.s.InjectText(&m, m.FirstPartID(), d.texts.placeholder)
	d.s.InsertMessage(m)
	return nil
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
	left := slices.ContainsFunc(s.Stray, func(x session.Stray) bool { return x.Message == id })
	if lost(id) && !fork && !left && strings.HasPrefix(id, "msg") && session.ValidateID(id) == nil && id < answer.ID {
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
