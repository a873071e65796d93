package diagnose

import (
	"errors"
	"fmt"
	"slices"

	"mend/agent/opencode/record"
	"mend/repair"
	"mend/session"
)

// Thinking behind content of its step, or at its end. Each step goes out as a
// turn of its own, and the provider wants thinking first in it while a tool loop
// is open, nothing but calls behind a call, and no thinking at the end
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

// fixLast is for thinking at the end of what is sent. A blank text behind it is
// what was meant to be said; other content of the step goes behind it.
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

// moveOrRemove returns the ways to be rid of thinking at a wrong place.
func moveOrRemove(c *simulation, ref session.Ref) []fix {
	return append(moves(c, ref), removeThinking(ref))
}

// moves returns the ways to put thinking first in its step. Where that is a change in
// an open tool loop ([treatment.forbidden]), the loop is closed with it; a prompt
// behind its results does not close it.
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

// reorders reports whether the thinking of the message goes out otherwise after
// the fix.
func (c *simulation) reorders(f fix, ref session.Ref) bool {
	d := c.draft()
	i := d.index(ref)
	was := d.s.Messages[i]
	err := f.edit(d)
	d.removeAllMarked()
	return err == nil && !slices.Equal(signedThoughts(thoughts(&was)), signedThoughts(thoughts(&d.s.Messages[i])))
}

// fixLoopStart is for an open tool loop that does not start with thinking: the
// thinking of its step goes first, or the loop is closed.
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

// fixLoopThinking is for an open tool loop with thinking, while thinking is off.
func fixLoopThinking(c *simulation, f fault) []fix {
	return []fix{closeLoop(c, f.Ref), removeThinking(f.Ref)}
}

// closeLoop ends the open tool loop with a step that says the placeholder, behind
// the newest call: what the provider demands of an open loop it demands no more.
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

// findThinkingOrder finds thinking that stands behind other content of its step
// and is accepted there by now.
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

// laterThinking returns the signed thinking of a step behind content that no other
// leads. What is not signed the agent leaves out. Thinking between, after other thinking that leads the step, is how some
// models work.
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
