package diagnose

import (
	"bytes"
	"fmt"
	"slices"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/repair"
)

// A draft is a copy of a session that fixes edit. It has its own list of messages, and its own list of parts for
// each message that [draft.message] or [draft.part] returned. The bytes of records are shared: an edit replaces
// them.
type draft struct {
	c      *simulation // of the session before any fix
	s      *record.Session
	texts  repair.Texts
	places map[string]int       // of messages before a fix moved any; see [messageIndexes]
	lists  map[string]*partList // of the messages that have their own list of parts

	moved   bool            // messages may be out of order
	dropped map[string]bool // ids of messages that [draft.arrange] removes

	// Of the current fix.
	wide    bool            // it may change other messages than that of its finding; it is the first of its draft
	touched map[string]bool // the messages that it changed
	undo    []func()        // what takes its edits back, the newest last
}

// A partList is what a draft knows of a list of parts of its own.
type partList struct {
	places  map[string]int // indexes by the ids in the refs; nil until they are needed
	removed map[int]bool   // the parts that [draft.removeMarked] removes
}

// find returns the index of a part in the list, -1 if it is not there.
func (l *partList) find(parts []record.Part, ref change.Ref) int {
	if l.places == nil {
		l.places = partIndexes(parts)
	}
	if at, ok := l.places[ref.Part]; ok && !l.removed[at] && at < len(parts) && parts[at].Ref == ref {
		return at
	}
	for i := range parts { // the list has changed since it was indexed
		if parts[i].Ref == ref && !l.removed[i] {
			return i
		}
	}
	return -1
}

// Edit implements [repair.State].
func (c *simulation) Edit() repair.Editor { return c.draft() }

// draft returns a copy of the simulation's session.
func (c *simulation) draft() *draft {
	return &draft{c: c, s: copyOf(c.s), texts: c.texts, lists: map[string]*partList{}, touched: map[string]bool{}}
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
		for i := range d.s.Messages {
			d.removeMarked(&d.s.Messages[i])
		}
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
	d.s, d.lists = copyOf(d.s), map[string]*partList{}
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
		i := d.index(change.Ref{Message: id})
		if d.wide || i < 0 || d.dropped[id] {
			continue
		}
		m := &d.s.Messages[i]
		after[m.Ref] = m.Data
		for _, p := range d.partsOf(m) {
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
	list := d.lists[id]
	d.touched[id] = true
	d.undo = append(d.undo, func() { *m, d.lists[id] = before, list })
}

// arrange removes the messages and the parts that are marked as removed, and sorts the others.
func (d *draft) arrange() {
	for i := range d.s.Messages {
		d.removeMarked(&d.s.Messages[i])
	}
	if len(d.dropped) > 0 {
		d.s.Messages = slices.DeleteFunc(d.s.Messages, func(m record.Message) bool { return d.dropped[m.Ref.Message] })
	}
	if d.moved {
		d.s.Sort()
	}
	d.dropped, d.moved, d.places = nil, false, nil
}

// removeMarked removes the parts of the message that are marked as removed.
func (d *draft) removeMarked(m *record.Message) {
	if l := d.lists[m.Ref.Message]; l != nil && len(l.removed) > 0 {
		d.copyParts(m)
	}
}

// copyParts gives the message a new list of parts, without those that are marked as removed.
func (d *draft) copyParts(m *record.Message) {
	m.Parts = d.partsOf(m)
	d.lists[m.Ref.Message] = &partList{}
}

// partsOf returns a copy of the message's list of parts, without those that are marked as removed.
func (d *draft) partsOf(m *record.Message) []record.Part {
	l := d.lists[m.Ref.Message]
	if l == nil || len(l.removed) == 0 {
		return slices.Clone(m.Parts)
	}
	parts := make([]record.Part, 0, len(m.Parts)-len(l.removed))
	for i := range m.Parts {
		if !l.removed[i] {
			parts = append(parts, m.Parts[i])
		}
	}
	return parts
}

// message returns the message with that ref, or of the part with that ref, for any edit.
func (d *draft) message(ref change.Ref) (*record.Message, error) {
	i := d.index(ref)
	if i < 0 {
		return nil, fmt.Errorf("%s: no such message", ref)
	}
	d.touch(i)
	d.copyParts(&d.s.Messages[i])
	return &d.s.Messages[i], nil
}

// index returns the index of the message with that ref, or of the part with that ref; -1 if there is none.
func (d *draft) index(ref change.Ref) int {
	if d.places == nil {
		d.places = messageIndexes(d.s)
	}
	if i, ok := d.places[ref.Message]; ok && i < len(d.s.Messages) && d.s.Messages[i].Ref.Message == ref.Message {
		return i
	}
	return slices.IndexFunc(d.s.Messages, func(m record.Message) bool { return m.Ref.Message == ref.Message })
}

// part returns a part and its message, for edits that replace the part. Use [draft.message] to add or remove parts.
func (d *draft) part(ref change.Ref) (*record.Message, *record.Part, error) {
	m, l, at, err := d.find(ref)
	if err != nil {
		return nil, nil, err
	}
	p := &m.Parts[at]
	before := *p
	d.undo = append(d.undo, func() {
		*p = before
		delete(l.removed, at)
	})
	return m, p, nil
}

// find returns where a part is, in a list of parts of the draft's own.
func (d *draft) find(ref change.Ref) (m *record.Message, l *partList, at int, err error) {
	i := d.index(ref)
	if i < 0 {
		return nil, nil, 0, fmt.Errorf("%s: no such message", ref)
	}
	m = &d.s.Messages[i]
	if d.lists[m.Ref.Message] == nil {
		d.copyParts(m)
	}
	l = d.lists[m.Ref.Message]
	if at = l.find(m.Parts, ref); at < 0 {
		return nil, nil, 0, fmt.Errorf("%s: no such part", ref)
	}
	d.touched[m.Ref.Message] = true
	return m, l, at, nil
}

// remove marks the part with that ref as removed, see [draft.removeMarked].
func (d *draft) remove(ref change.Ref) error {
	_, l, at, err := d.find(ref)
	if err != nil {
		return err
	}
	if l.removed == nil {
		l.removed = map[int]bool{}
	}
	l.removed[at] = true
	d.undo = append(d.undo, func() { delete(l.removed, at) })
	return nil
}
