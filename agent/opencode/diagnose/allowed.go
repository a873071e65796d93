package diagnose

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/request"
)

const whyLoop = "The tool loop of the newest assistant message is still open, and the provider accepts no change to its thinking. Send one more prompt, then repair again."

// breaksLoop reports whether the edit changed thinking of the newest answer while its
// tool loop is open. The provider requires all of it unchanged, or none of it
// (docs/providers.md, R8); it may move only after the loop is closed.
func (d *draft) breaksLoop(e *edit) bool {
	c := d.c
	if !c.inLoop(e.message) {
		return false
	}
	now := &d.s.Messages[e.at]
	was, is := e.thoughts, d.thoughts(now)
	if slices.Equal(was, is) {
		return false
	}
	d.removeMarked(now)
	if e.message == c.newest && loopOpen(d.s) {
		return true
	}
	left := signedThoughts(is)
	if !c.loopIDs()[e.message] || len(left) == 0 || slices.Equal(signedThoughts(was), left) {
		return false
	}
	return len(c.withSession(d.s).loopIDs()) > 0
}

// inLoop reports whether the message may be in the open tool loop.
func (c *simulation) inLoop(message string) bool { return message == c.newest || c.loopIDs()[message] }

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

// thoughts returns the thoughts of the message. It does not copy the list of parts, because it is
// called for each fix.
func (d *draft) thoughts(m *record.Message) (all []thought) {
	l := d.lists[m.Ref.Message]
	for i := range m.Parts {
		if p := &m.Parts[i]; p.IsThinking() && (l == nil || !l.removed[i]) {
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
	if !e.wide { // [simulation.Fixes] has checked it
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
		same := func(a, b record.Part) bool { return a.Ref == b.Ref && bytes.Equal(a.Data, b.Data) }
		if now == nil || !slices.EqualFunc(now.Parts, m.Parts, same) || !bytes.Equal(now.Data, m.Data) {
			return why
		}
	}
	return ""
}

// locked returns the records that the store cannot replace.
func (c *simulation) locked() []*change.Record {
	if c.cachedLocked == nil {
		c.cachedLocked = []*change.Record{}
		for r := range c.s.Records {
			if r.Locked != "" {
				c.cachedLocked = append(c.cachedLocked, r)
			}
		}
	}
	return c.cachedLocked
}

// changedLocked returns a record that the edit changed or removed although the store
// cannot replace it, nil if there is none.
func (d *draft) changedLocked(e *edit) *change.Record {
	locked := d.c.locked()
	if len(locked) == 0 {
		return nil
	}
	after := map[change.Ref][]byte{}
	if e.wide {
		for r := range d.s.Records {
			after[r.Ref] = r.Data
		}
	} else if m := d.s.Messages[e.at]; !d.dropped[m.Ref.Message] {
		after[m.Ref] = m.Data
		for _, p := range d.partsOf(&m) {
			after[p.Ref] = p.Data
		}
	}
	for _, r := range locked {
		if data, ok := after[r.Ref]; (e.wide || r.Ref.Message == e.message) && (!ok || !bytes.Equal(r.Data, data)) {
			return r
		}
	}
	return nil
}

// whyHidden returns what of the message cannot be read, as a sentence: no change to the
// message is then safe. It is "" if everything can be read.
func (c *simulation) whyHidden(ref change.Ref) string {
	return c.hiddenMessages()[ref.Message]
}

// hiddenMessages returns the results of [simulation.whyHidden] that are not "", by the
// ids of the messages.
func (c *simulation) hiddenMessages() map[string]string {
	if c.blind != nil {
		return c.blind
	}
	c.blind = map[string]string{}
	beside := map[string]string{}
	for _, s := range c.s.Stray {
		if s.Kind != change.StrayIgnored && s.Kind != change.StrayFile {
			beside[s.Message] = cmp.Or(beside[s.Message], fmt.Sprintf("%s cannot be read as content of a message (%s), %s", s.Path, s.Why, adviceHidden))
		}
	}
	for i := range c.s.Messages {
		m := &c.s.Messages[i]
		if why := cmp.Or(whyHiddenIn(m), beside[m.Ref.Message]); why != "" && c.message(m.Ref) == m {
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
			return fmt.Sprintf("%s cannot be read (%s), %s", p.Ref, p.Defect.Why, adviceHidden)
		}
		if err := p.Ref.Validate(); err != nil {
			return fmt.Sprintf("mend changes nothing in this message, because it cannot use the id %s in it. Give the row another id with SQL while OpenCode is not running, then scan again.", p.Ref)
		}
	}
	return ""
}
