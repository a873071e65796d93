package diagnose

import (
	"bytes"
	"fmt"
	"slices"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/repair"
)

// A draft is a copy of a session that fixes edit: copy on write. It has its own list of messages, and its own list of
// parts for each message that [draft.message] or [draft.part] returned. The bytes of records are shared: an edit
// replaces them.
type draft struct {
	c     *simulation // of the session before any fix
	s     *record.Session
	texts repair.Texts
	own   map[string]bool // messages that have their own list of parts
	index *index          // of s

	moved   bool            // messages may be out of order
	dropped map[string]bool // ids of messages that [draft.arrange] removes

	// Of the current fix.
	wide    bool            // it may change other messages than the one of its finding; it is the first of its draft
	touched map[string]bool // the messages that it changed
	undo    []func()        // what takes its edits back, the newest last
}

// Edit implements [repair.State].
func (c *simulation) Edit() repair.Editor { return c.draft() }

// draft returns a copy of the simulation's session.
func (c *simulation) draft() *draft {
	d := &draft{c: c, s: copyOf(c.s), texts: c.texts, own: map[string]bool{}, touched: map[string]bool{}}
	d.index = newIndex(d.s)
	return d
}

// copyOf returns a copy of the session with its own list of messages.
func copyOf(s *record.Session) *record.Session {
	c := *s
	c.Messages = slices.Clone(s.Messages)
	return &c
}

// Begin implements [repair.Editor].
func (d *draft) Begin(x repair.Fix) {
	d.wide, d.touched, d.undo = x.Whole && !x.Alike, map[string]bool{}, nil
}

// Undo implements [repair.Editor].
func (d *draft) Undo() {
	if d.wide {
		*d = *d.c.draft()
		return
	}
	for _, back := range slices.Backward(d.undo) {
		back()
	}
}

// Check implements [repair.Editor].
func (d *draft) Check() error {
	if d.wide {
		d.sweep()
		if why := d.hiddenChange(); why != "" {
			return &repair.RefusalError{Why: why}
		}
	}
	if r := d.lockedChange(); r != nil {
		// The user can unlock it: no fix that loses more is tried.
		why := fmt.Sprintf("The %s %s cannot be changed: %s. Then repair again.", r.Ref.Kind, r.Ref, r.Locked)
		return &repair.RefusalError{Why: why, Helps: true, Final: true}
	}
	return nil
}

// State implements [repair.Editor].
func (d *draft) State() repair.State {
	d.arrange()
	n := d.c.withSession(d.s)
	d.s, d.own = copyOf(d.s), map[string]bool{}
	d.index = newIndex(d.s)
	return n
}

// hiddenChange returns what cannot be read of a message that the fix changed, "" for none. [simulation.Refuses]
// has checked that of the finding.
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

// lockedChange returns a record that the fix changed or removed although the store cannot replace it, nil if there
// is none.
func (d *draft) lockedChange() *change.Record {
	locked := d.c.locked()
	if len(locked) == 0 {
		return nil
	}
	after := map[change.Ref][]byte{}
	if d.wide {
		for r := range d.s.Records {
			after[r.Ref] = r.Data
		}
	}
	for id := range d.touched {
		i := d.index.at(change.Ref{Message: id})
		if d.wide || i < 0 || d.dropped[id] {
			continue
		}
		m := &d.s.Messages[i]
		after[m.Ref] = m.Data
		for _, p := range m.Parts {
			after[p.Ref] = p.Data
		}
	}
	for _, r := range locked {
		if data, ok := after[r.Ref]; (d.wide || d.touched[r.Ref.Message]) && (!ok || !bytes.Equal(r.Data, data)) {
			return r
		}
	}
	return nil
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
	d.touched[id], d.dropped[id] = true, true
	d.undo = append(d.undo, func() { delete(d.dropped, id) })
}

// touch notes that the fix changes the message at i, so that it can be taken back.
func (d *draft) touch(i int) {
	m := &d.s.Messages[i]
	before, id := *m, m.Ref.Message
	owned := d.own[id]
	d.touched[id] = true
	d.undo = append(d.undo, func() {
		*m, d.own[id] = before, owned
		delete(d.index.parts, id)
	})
}

// arrange removes the messages and the parts that are gone, and sorts the others.
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

// sweep removes the parts that are gone.
func (d *draft) sweep() {
	for i := range d.s.Messages {
		if m := &d.s.Messages[i]; d.own[m.Ref.Message] && slices.ContainsFunc(m.Parts, isGone) {
			d.copyParts(m)
		}
	}
}

// isGone reports whether the part was removed: nothing else of it is left.
func isGone(p record.Part) bool { return p.Ref.Kind == 0 }

// copyParts gives the message a new list of parts, without those that are gone.
func (d *draft) copyParts(m *record.Message) {
	m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), isGone)
	d.own[m.Ref.Message] = true
	delete(d.index.parts, m.Ref.Message)
}

// message returns the message with that ref, or of the part with that ref, for any edit.
func (d *draft) message(ref change.Ref) (*record.Message, error) {
	i := d.index.at(ref)
	if i < 0 {
		return nil, fmt.Errorf("%s: no such message", ref)
	}
	d.touch(i)
	d.copyParts(&d.s.Messages[i])
	return &d.s.Messages[i], nil
}

// part returns a part and its message, for edits that replace the part. Use [draft.message] to add or remove parts.
func (d *draft) part(ref change.Ref) (*record.Message, *record.Part, error) {
	i := d.index.at(ref)
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
	d.touched[m.Ref.Message] = true
	d.undo = append(d.undo, func() { *p = before })
	return m, p, nil
}

// remove removes a part. Its place stays until [draft.sweep], so that others keep theirs.
func (d *draft) remove(ref change.Ref) error {
	_, p, err := d.part(ref)
	if err == nil {
		*p = record.Part{}
	}
	return err
}
