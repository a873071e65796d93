package diagnose

import (
	"errors"
	"fmt"
	"slices"

	"mend/agent/opencode/record"
	"mend/repair"
	"mend/session"
)

// This file fixes thinking after content of its step, or at its end. Each step is sent as
// a turn. In a turn of an open tool loop the provider requires thinking to be first; in
// any turn it accepts only calls after a call, and no thinking at the end
// (docs/providers.md, R1, R3, R10).

func classOfLast(c *simulation, f fault) repair.Class {
	m, p := c.part(f.Ref)
	if p != nil && !anyOf(stepOf(m, f.Ref), func(q *record.Part) bool { return hasContent(m, q) }) {
		return repair.EmptyContentMessage
	}
	return repair.ThinkingBlockOrder
}

func whyLast(c *simulation, f fault) string {
	if classOfLast(c, f) == repair.EmptyContentMessage {
		return "The message is only thinking. The provider rejects an assistant message that ends with thinking."
	}
	return "The step ends with thinking. The provider rejects an assistant message that ends with thinking."
}

// fixLast returns the fixes of thinking at the end of what is sent: a blank text after
// it becomes the placeholder, or other content of the step moves after it.
func fixLast(c *simulation, f fault) []fix {
	m, p := c.part(f.Ref)
	if p == nil {
		return nil
	}
	ref, step := f.Ref, stepOf(m, f.Ref)
	fixes := c.completions(func(r session.Ref) bool { return r.Message == ref.Message })
	for i := range step {
		switch q := &step[i]; {
		case q.IsBlankText() && q.ID > p.ID:
			fixes = append(fixes, blankBecomesPlaceholder(c, q.Ref))
		case q.IsBlankText():
			fixes = append(fixes, placeholderBehindThinking(c, q.Ref))
		}
	}
	if anyOf(step, func(q *record.Part) bool { return hasContent(m, q) }) {
		fixes = append(fixes, moves(c, ref)...)
	}
	id := p.ID
	return append(fixes, fix{
		text: fmt.Sprintf("A synthetic text %q is inserted after the thinking.", c.texts.placeholder),
		edit: func(d *draft) error {
			m, err := d.message(ref)
			if err != nil {
				return err
			}
			return d.injectAfter(m, id)
		},
	}, removeThinking(ref))
}

func moveFirst(ref session.Ref) fix {
	return fix{
		text: "The thinking moves to the front of its step (only its id changes).",
		edit: func(d *draft) error {
			m, err := d.message(ref)
			if err != nil {
				return err
			}
			return m.MoveThinkingFirst(ref)
		},
	}
}

func removeThinking(ref session.Ref) fix {
	return removal(ref, "The thinking is removed.", "This thinking block. Text and tool calls stay.")
}

// moveOrRemove returns the fixes of thinking in the wrong place: move it, or else
// remove it.
func moveOrRemove(c *simulation, ref session.Ref) []fix {
	return append(moves(c, ref), removeThinking(ref))
}

// moves returns the fixes that put thinking first in its step. If that would change an
// open tool loop ([draft.breaksLoop]), the second one also closes the loop. A prompt
// after the results does not close it.
func moves(c *simulation, ref session.Ref) []fix {
	move := moveFirst(ref)
	if (ref.Message != c.newest || !loopOpen(c.s)) && (!c.loopIDs()[ref.Message] || !c.reorders(move, ref)) {
		return []fix{move}
	}
	shut := closeLoop(c, ref)
	return []fix{move, {text: shut.text + " " + move.text, whole: shut.whole, edit: func(d *draft) error {
		return errors.Join(shut.edit(d), move.edit(d))
	}}}
}

// reorders reports whether the fix changes the thinking of the message that is sent.
func (c *simulation) reorders(f fix, ref session.Ref) bool {
	d := c.draft()
	i := d.index(ref)
	was := d.s.Messages[i]
	err := f.edit(d)
	d.removeAllMarked()
	return err == nil && !slices.Equal(signedThoughts(thoughts(&was)), signedThoughts(thoughts(&d.s.Messages[i])))
}

func whyLoopStart(c *simulation, f fault) string {
	if c.isSubtask(f.Ref) {
		return notRun + ". The call of the subtask has no thinking before it. The provider requires that while thinking is on."
	}
	return "The tool loop of the newest assistant message is open, and the message does not start with thinking. The provider requires that while thinking is on."
}

// fixLoopStart returns the fixes of an open tool loop that does not start with
// thinking: move the thinking of its step to the front, or close the loop.
func fixLoopStart(c *simulation, f fault) []fix {
	m, p := c.part(f.Ref)
	if p == nil {
		return nil
	}
	var fixes []fix
	if t := lastOf(stepOf(m, f.Ref), func(q *record.Part) bool { return q.IsThinking() && q.Signature != "" }); t != nil {
		move := moveFirst(t.Ref)
		move.text = fmt.Sprintf("The thinking %s moves to the front of the step (only its id changes).", t.ID)
		fixes = append(fixes, move)
	}
	return append(fixes, closeLoop(c, f.Ref))
}

// fixLoopThinking returns the fixes of an open tool loop with thinking while thinking
// is off.
func fixLoopThinking(c *simulation, f fault) []fix {
	return []fix{closeLoop(c, f.Ref), removeThinking(f.Ref)}
}

// closeLoop returns the fix that ends the open tool loop: a step with the placeholder
// after the newest call. The provider's rules on open loops then no longer apply.
func closeLoop(c *simulation, f session.Ref) fix {
	in := c.newest
	for i := range c.s.Messages {
		if m := &c.s.Messages[i]; isSent(m) && anyOf(m.Parts, func(p *record.Part) bool { return p.Type == record.TypeTool }) {
			in = m.Ref.Message
		}
	}
	return fix{
		whole: in != f.Message,
		text:  fmt.Sprintf("A synthetic text %q closes the tool loop. Everything else stays.", c.texts.placeholder),
		edit: func(d *draft) error {
			m, err := d.message(session.Ref{Message: in})
			if err != nil {
				return err
			}
			return d.injectStep(m)
		},
	}
}

// findThinkingOrder finds thinking after other content of its step. The provider
// accepts that only in a closed tool loop.
func findThinkingOrder(c *simulation) (fs []fault) {
	for i := range c.s.Messages {
		m := &c.s.Messages[i]
		if m.Role != session.RoleAssistant || !isSent(m) {
			continue
		}
		for step := range m.Steps() {
			fs = append(fs, laterThinking(step)...)
		}
	}
	return fs
}

// laterThinking returns the signed thinking after content in a step that does not begin
// with thinking. Unsigned thinking is not sent. Thinking between content, in a step
// that begins with thinking, is normal for some models.
func laterThinking(step []record.Part) (fs []fault) {
	content := false
	for i := range step {
		p := &step[i]
		switch {
		case p.IsThinking() && p.Signature != "" && content:
			fs = append(fs, fault{Ref: p.Ref})
		case p.IsThinking() && p.Signature != "":
			return nil
		}
		content = content || p.Sent()
	}
	return fs
}

func whyOrder(*simulation, fault) string {
	return "The thinking is not first in its step. In an open tool loop the provider requires it to be first."
}

func fixOrder(c *simulation, f fault) []fix { return moveOrRemove(c, f.Ref) }
