package diagnose

import (
	"fmt"
	"slices"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/repair"
)

// A draft is a copy of a session that fixes edit. It has its own list of messages, and
// its own list of parts for each message that [draft.message] or [draft.part] returned.
// The bytes of records are shared: an edit replaces them.
type draft struct {
	c      *simulation // of the session before any fix
	s      *record.Session
	texts  repair.Texts
	places map[string]int       // of messages before a fix moved any; see [messageIndexes]
	lists  map[string]*partList // the draft's own lists of parts, by the ids of their messages

	replaced []formerPart    // by the current fix
	moved    bool            // messages may be out of order
	dropped  map[string]bool // ids of messages that [draft.arrange] removes
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

// A formerPart is a part as it was before a fix replaced or removed it.
type formerPart struct {
	list *partList
	at   int
	part record.Part
}

// draft returns a copy of the simulation's session.
func (c *simulation) draft() *draft {
	return &draft{c: c, s: copyOf(c.s), texts: c.texts, lists: map[string]*partList{}}
}

// copyOf returns a copy of the session with its own list of messages.
func copyOf(s *record.Session) *record.Session {
	c := *s
	c.Messages = slices.Clone(s.Messages)
	return &c
}

// replaceMessage replaces the record of the message at i and keeps its parts.
// [draft.arrange] puts the messages in order again.
func (d *draft) replaceMessage(i int, m record.Message) {
	m.Parts = d.s.Messages[i].Parts
	d.s.Messages[i] = m
	d.moved = true
}

// removeMessage marks the message at i as removed. [draft.arrange] removes it.
func (d *draft) removeMessage(i int) {
	if d.dropped == nil {
		d.dropped = map[string]bool{}
	}
	d.dropped[d.s.Messages[i].Ref.Message] = true
}

// arrange removes the messages and the parts that are marked as removed, and sorts the
// others.
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

// copyParts gives the message a new list of parts, without those that are marked as removed. Copies of the
// message that were made before keep the former list.
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

// message returns the message with that ref, or of the part with that ref, for any
// edit.
func (d *draft) message(ref change.Ref) (*record.Message, error) {
	i := d.index(ref)
	if i < 0 {
		return nil, fmt.Errorf("%s: no such message", ref)
	}
	m := &d.s.Messages[i]
	d.copyParts(m)
	return m, nil
}

// index returns the index of the message with that ref, or of the part with that ref;
// -1 if there is none.
func (d *draft) index(ref change.Ref) int {
	if d.places == nil {
		d.places = messageIndexes(d.s)
	}
	if i, ok := d.places[ref.Message]; ok && i < len(d.s.Messages) && d.s.Messages[i].Ref.Message == ref.Message {
		return i
	}
	return slices.IndexFunc(d.s.Messages, func(m record.Message) bool { return m.Ref.Message == ref.Message })
}

// part returns a part and its message, for edits that replace the part. Use
// [draft.message] to add or remove parts.
func (d *draft) part(ref change.Ref) (*record.Message, *record.Part, error) {
	i := d.index(ref)
	if i < 0 {
		return nil, nil, fmt.Errorf("%s: no such message", ref)
	}
	m := &d.s.Messages[i]
	if d.lists[m.Ref.Message] == nil {
		d.copyParts(m)
	}
	list := d.lists[m.Ref.Message]
	at := list.find(m.Parts, ref)
	if at < 0 {
		return nil, nil, fmt.Errorf("%s: no such part", ref)
	}
	d.replaced = append(d.replaced, formerPart{list, at, m.Parts[at]})
	return m, &m.Parts[at], nil
}

// An edit is a fix that is applied.
type edit struct {
	message  string         // of the finding
	at       int            // the index of that message, -1 for none
	before   record.Message // that message before the edit
	list     *partList      // of its parts, nil if that was not the draft's own
	thoughts []thought      // of a message in the open tool loop; see [draft.breaksLoop]
	wide     bool           // it may change other messages
}

// Apply implements [repair.Draft].
func (d *draft) Apply(f repair.Finding, x repair.Fix) error {
	at := d.index(f.Ref)
	e := &edit{message: f.Ref.Message, at: at, wide: at < 0 || x.Whole && !x.Alike}
	if e.at >= 0 {
		e.before = d.s.Messages[e.at]
		e.list = d.lists[e.before.Ref.Message]
		if !x.Whole && d.c.inLoop(e.message) {
			e.thoughts = d.thoughts(&e.before)
		}
	}
	d.replaced = nil
	err := x.Edit(d)
	if err == nil && e.wide {
		for i := range d.s.Messages {
			d.removeMarked(&d.s.Messages[i])
		}
	}
	if err == nil {
		err = d.allowed(e, x)
	}
	if err != nil {
		d.undo(e)
	}
	return err
}

// allowed returns a [*repair.RefusalError] if the edit must not be made.
func (d *draft) allowed(e *edit, x repair.Fix) error {
	if !x.Whole && d.breaksLoop(e) {
		return &repair.RefusalError{Why: whyLoop, Helps: true}
	}
	if why := d.touchesHidden(e); why != "" {
		return &repair.RefusalError{Why: why}
	}
	if r := d.changedLocked(e); r != nil {
		// The user can unlock it: no fix that loses more is tried.
		why := fmt.Sprintf("The %s %s cannot be changed: %s. Then repair again.", r.Ref.Kind, r.Ref, r.Locked)
		return &repair.RefusalError{Why: why, Helps: true, Final: true}
	}
	return nil
}

// undo undoes the edit, which is the newest. One that may change other messages is the first of its
// draft.
func (d *draft) undo(e *edit) {
	if e.wide || e.at < 0 {
		*d = *d.c.draft()
		return
	}
	for _, f := range slices.Backward(d.replaced) {
		if f.list == e.list {
			e.before.Parts[f.at] = f.part
			delete(f.list.removed, f.at)
		}
	}
	id := e.before.Ref.Message
	d.s.Messages[e.at], d.lists[id] = e.before, e.list
	delete(d.dropped, id)
}

// Case implements [repair.Draft]. What is edited in the draft later is in another copy of the session.
func (d *draft) Case() repair.Case {
	d.arrange()
	n := d.c.withSession(d.s)
	n.isDraft = true
	d.s, d.lists = copyOf(d.s), map[string]*partList{}
	return n
}

// Draft implements [repair.Case].
func (c *simulation) Draft() repair.Draft { return c.draft() }

// Begin implements [repair.Editor].
func (*draft) Begin(repair.Fix) {}

// Undo implements [repair.Editor].
func (*draft) Undo() {}

// Check implements [repair.Editor].
func (*draft) Check() error { return nil }

// State implements [repair.Editor].
func (*draft) State() repair.State { return nil }
