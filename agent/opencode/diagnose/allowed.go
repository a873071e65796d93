package diagnose

import (
	"bytes"
	"fmt"
	"slices"

	"mend/agent/opencode/record"
	"mend/request"
	"mend/session"
)

const whyLoop = "The tool loop of the newest assistant message is still open, and the provider accepts no change to its thinking. Send one more prompt, then repair again."

// breaksLoop reports whether the edit changed thinking of the newest answer while its
// tool loop is open. The provider requires all of it unchanged, or none of it
// (docs/providers.md, R8); it may move only after the loop is closed.
func (d *draft) breaksLoop(e *edit) bool {
	c := d.c
	if e.whole || e.message != c.newest && !c.loopIDs()[e.message] {
		return false
	}
	now := &d.s.Messages[e.at]
	if len(e.parts) > 0 {
		if !slices.ContainsFunc(e.parts, func(f formerPart) bool {
			is := d.current(now, f)
			return f.part.IsThinking() || is != nil && is.IsThinking()
		}) {
			return false
		}
	}
	before := d.beforeChanges(*e.before, e.parts)
	d.removeMarked(now)
	was, is := thoughts(&before), thoughts(now)
	moved := e.message == c.newest && loopOpen(d.s) && !slices.Equal(was, is)
	loop := c.loopIDs()
	lost := loop[e.message] && !slices.Equal(signedThoughts(was), signedThoughts(is)) && len(signedThoughts(is)) > 0 && len(c.withSession(d.s).loopIDs()) > 0
	return moved || lost
}

// loopIDs returns the ids of the messages of the last answer in the open tool loop,
// none if the request has no open loop.
func (c *simulation) loopIDs() map[string]bool {
	if c.cachedLoop == nil {
		in := c.findLoop()
		c.cachedLoop = &in
	}
	return *c.cachedLoop
}

func (c *simulation) findLoop() map[string]bool {
	turns := c.render(c.settings[own]).Turns
	n := len(turns) - 1
	if n < 1 || !slices.ContainsFunc(turns[n].Blocks, func(b *request.Block) bool { return b.Type == request.ToolResult }) {
		return nil
	}
	in := map[string]bool{}
	for _, ref := range turns[n-1].Messages {
		in[ref.Message] = true
	}
	return in
}

// A thought identifies a part of thinking and its content.
type thought struct{ id, text, signature string }

// thoughts returns the thoughts of the message.
func thoughts(m *record.Message) (all []thought) {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.IsThinking() {
			all = append(all, thought{p.ID, p.Text, p.Signature})
		}
	}
	return all
}

// signedThoughts returns the thoughts that are sent, without their ids.
func signedThoughts(all []thought) (out []thought) {
	for _, t := range all {
		if t.signature != "" {
			out = append(out, thought{"", t.text, t.signature})
		}
	}
	return out
}

// touchesHidden returns why the edit must not be made if it changed a message of which
// something cannot be read, "" if it did not.
func (d *draft) touchesHidden(e *edit) string {
	if !e.whole || e.independent { // [simulation.Fixes] has checked it
		return ""
	}
	if len(d.c.hiddenMessages()) == 0 {
		return ""
	}
	after := d.c.withSession(d.s)
	for i := range d.c.s.Messages {
		m := &d.c.s.Messages[i]
		why := d.c.whyHidden(m.Ref)
		if why == "" {
			continue
		}
		now := after.message(m.Ref)
		if now == nil || len(now.Parts) != len(m.Parts) || !bytes.Equal(now.Data, m.Data) {
			return why
		}
	}
	return ""
}

// hasLocked reports whether there are records that the store cannot replace.
func (c *simulation) hasLocked() bool {
	if c.locked == nil {
		locked := false
		for r := range c.s.Records {
			locked = locked || r.Locked != ""
		}
		c.locked = &locked
	}
	return *c.locked
}

// changedLocked returns a record that the edit changed or removed although the store
// cannot replace it, nil if there is none.
func (d *draft) changedLocked(e *edit) *session.Record {
	s := d.s
	if !d.c.hasLocked() {
		return nil
	}
	changed := func(was, is *session.Record) bool {
		return was.Locked != "" && (is == nil || was.Ref != is.Ref || !bytes.Equal(was.Data, is.Data))
	}
	if e.whole && !e.independent {
		after := map[session.Ref]*session.Record{}
		for r := range s.Records {
			after[r.Ref] = r
		}
		for r := range d.c.s.Records {
			if changed(r, after[r.Ref]) {
				return r
			}
		}
		return nil
	}
	before, now := e.before, &s.Messages[e.at]
	if d.dropped[before.Ref.Message] {
		now = &record.Message{}
	}
	if changed(&before.Record, &now.Record) {
		return &before.Record
	}
	for i := range e.parts {
		f := &e.parts[i]
		var is *session.Record
		if p := d.current(now, *f); p != nil {
			is = &p.Record
		}
		if changed(&f.part.Record, is) {
			return &f.part.Record
		}
	}
	if len(before.Parts) == 0 || len(now.Parts) > 0 && &before.Parts[0] == &now.Parts[0] {
		return nil // parts that were changed in place are in e.parts
	}
	var places partIndex
	for i := range before.Parts {
		was := &before.Parts[i]
		var is *session.Record
		if at := places.find(now.Parts, was.Ref); at >= 0 {
			is = &now.Parts[at].Record
		}
		if changed(&was.Record, is) {
			return &was.Record
		}
	}
	return nil
}

// whyHidden returns what of the message cannot be read, as a sentence: no change to the
// message is then safe. It is "" if everything can be read.
func (c *simulation) whyHidden(ref session.Ref) string {
	return c.hiddenMessages()[ref.Message]
}

// hiddenMessages returns the results of [simulation.whyHidden] that are not "", by the
// ids of the messages.
func (c *simulation) hiddenMessages() map[string]string {
	if c.blind != nil {
		return c.blind
	}
	c.blind = map[string]string{}
	beside := map[string]bool{}
	for _, s := range c.s.Stray {
		beside[s.Message] = true
	}
	for i := range c.s.Messages {
		m := &c.s.Messages[i]
		why := whyHiddenIn(m)
		if why == "" && beside[m.Ref.Message] {
			why = c.whyHiddenBeside(m)
		}
		if why != "" && c.message(m.Ref) == m {
			c.blind[m.Ref.Message] = why
		}
	}
	return c.blind
}

const adviceHidden = "so mend changes nothing in this message. Make it readable, then scan again."

func whyHiddenIn(m *record.Message) string {
	if m.Unreadable() {
		return fmt.Sprintf("The message %s cannot be read (%s), %s", m.Ref, m.Defect.Why, adviceHidden)
	}
	if err := m.Ref.Validate(); err != nil {
		return fmt.Sprintf("The message's row has no usable id (%s), so mend changes nothing in it.", shown(m.Ref.String()))
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Unreadable() {
			return fmt.Sprintf("The part %s cannot be read (%s), %s", p.Ref, p.Defect.Why, adviceHidden)
		}
		if err := p.Ref.Validate(); err != nil {
			return fmt.Sprintf("mend changes nothing in this message, because it cannot use the id of the part %s. Give the row another id with SQL while OpenCode is not running, then scan again.", p.Ref)
		}
	}
	return ""
}

func (c *simulation) whyHiddenBeside(m *record.Message) string {
	for _, s := range c.s.Stray {
		if s.Message == m.Ref.Message && s.Kind != session.StrayIgnored && s.Kind != session.StrayFile {
			return fmt.Sprintf("%s cannot be read as a part (%s), %s", s.Path, s.Why, adviceHidden)
		}
	}
	return ""
}
