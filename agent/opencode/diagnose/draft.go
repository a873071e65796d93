package diagnose

import (
	"bytes"
	"fmt"
	"slices"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/repair"
)

// A draft is a copy of a session that fixes edit, copy on write. It has its own list of messages, and its own list of
// parts for each message that [draft.message] or [draft.part] returned. Edits replace the bytes of records, which are
// shared.
type draft struct {
	c     *simulation // the session before any fix
	s     *record.Session
	texts repair.Texts
	own   map[string]bool // messages that have their own list of parts
	index *index          // of s

	moved   bool            // messages may be out of order
	dropped map[string]bool // ids of messages that [draft.arrange] removes

	// For the current fix:
	wide bool     // it may change messages other than the one of its finding; such a fix is the first of its draft
	undo []func() // functions that revert its edits, newest last
}

func (c *simulation) Edit() repair.Editor { return c.draft() }

// draft returns a copy of the simulation's session.
func (c *simulation) draft() *draft {
	d := &draft{c: c, s: copyOf(c.s), texts: c.texts, own: map[string]bool{}}
	d.index = newIndex(d.s)
	return d
}

// copyOf returns a copy of the session with its own list of messages.
func copyOf(s *record.Session) *record.Session {
	c := *s
	c.Messages = slices.Clone(s.Messages)
	return &c
}

func (d *draft) Begin(x repair.Fix) {
	d.wide, d.undo = x.Whole && !x.Alike, nil
}

func (d *draft) Undo() {
	if d.wide {
		*d = *d.c.draft()
		return
	}
	for _, back := range slices.Backward(d.undo) {
		back()
	}
}

func (d *draft) Check() error {
	if d.wide {
		d.sweep()
		if why := d.hiddenChange(); why != "" {
			return &repair.RefusalError{Why: why}
		}
	}
	return nil
}

func (d *draft) State() repair.State {
	d.arrange()
	n := d.c.withSession(d.s)
	d.s, d.own = copyOf(d.s), map[string]bool{}
	d.index = newIndex(d.s)
	return n
}

// hiddenChange returns the unreadable content of a message that the fix changed, "" for none. [simulation.Refuses]
// has already checked the message of the finding.
func (d *draft) hiddenChange() string {
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

// replaceMessage replaces the record of the message at i and keeps its parts. [draft.arrange] puts the messages in
// order again.
func (d *draft) replaceMessage(i int, m record.Message) {
	d.touch(i)
	m.Parts = d.s.Messages[i].Parts
	d.s.Messages[i] = m
	d.moved = true
}

// removeMessage marks the message at i as removed. [draft.arrange] removes it.
func (d *draft) removeMessage(i int) {
	if d.dropped == nil {
		d.dropped = map[string]bool{}
	}
	id := d.s.Messages[i].Ref.Message
	d.dropped[id] = true
	d.undo = append(d.undo, func() { delete(d.dropped, id) })
}

// touch records that the fix changes the message at i, so that the change can be reverted.
func (d *draft) touch(i int) {
	m := &d.s.Messages[i]
	before, id := *m, m.Ref.Message
	owned := d.own[id]
	d.undo = append(d.undo, func() {
		*m, d.own[id] = before, owned
		delete(d.index.parts, id)
	})
}

// arrange removes the messages and parts that were marked as removed, and sorts the others.
func (d *draft) arrange() {
	d.sweep()
	if len(d.dropped) > 0 {
		d.s.Messages = slices.DeleteFunc(d.s.Messages, func(m record.Message) bool { return d.dropped[m.Ref.Message] })
	}
	if d.moved {
		d.s.Sort()
	}
	d.dropped, d.moved, d.index = nil, false, newIndex(d.s)
}

// sweep removes the parts that were marked as removed.
func (d *draft) sweep() {
	for i := range d.s.Messages {
		if m := &d.s.Messages[i]; d.own[m.Ref.Message] && slices.ContainsFunc(m.Parts, isGone) {
			d.copyParts(m)
		}
	}
}

// isGone reports whether the part was marked as removed: its fields are then zero.
func isGone(p record.Part) bool { return p.Ref.Kind == 0 }

// copyParts gives the message a new list of parts, without the removed ones.
func (d *draft) copyParts(m *record.Message) {
	m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), isGone)
	d.own[m.Ref.Message] = true
	delete(d.index.parts, m.Ref.Message)
}

// message returns the message with the ref, or the message of the part with the ref, for any edit.
func (d *draft) message(ref change.Ref) (*record.Message, error) {
	i := d.index.indexOf(ref)
	if i < 0 {
		return nil, fmt.Errorf("%s: no such message", ref)
	}
	d.touch(i)
	d.copyParts(&d.s.Messages[i])
	return &d.s.Messages[i], nil
}

// part returns a part and its message, for edits that replace the part. Use [draft.message] to add or remove parts.
func (d *draft) part(ref change.Ref) (*record.Message, *record.Part, error) {
	i := d.index.indexOf(ref)
	if i < 0 {
		return nil, nil, fmt.Errorf("%s: no such message", ref)
	}
	m := &d.s.Messages[i]
	if !d.own[m.Ref.Message] {
		d.copyParts(m)
	}
	at := d.index.part(m, ref)
	if at < 0 {
		return nil, nil, fmt.Errorf("%s: no such part", ref)
	}
	p := &m.Parts[at]
	before := *p
	d.undo = append(d.undo, func() { *p = before })
	return m, p, nil
}

// remove removes a part. Its slot stays until [draft.sweep], so that other parts keep their indexes.
func (d *draft) remove(ref change.Ref) error {
	_, p, err := d.part(ref)
	if err == nil {
		*p = record.Part{}
	}
	return err
}
