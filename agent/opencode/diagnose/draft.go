package diagnose

import (
	"fmt"
	"slices"
	"unsafe"

	"mend/agent/opencode/record"
	"mend/repair"
	"mend/session"
)

// A draft is a copy of a session that fixes edit. It has its own list of messages, and
// its own list of parts for each message that [draft.message] or [draft.part] returned.
// The bytes of records are shared: an edit replaces them.
type draft struct {
	c      *simulation // of the session before any fix
	s      *record.Session
	texts  repair.Texts
	places map[string]int // of messages before a fix moved any; see [placesOf]

	own      map[*record.Part]*ownList // the draft's own lists of parts, by their first element
	replaced []formerPart              // by the current fix
	marked   bool                      // a list has parts that are marked as removed

	lastFormer *record.Message // see [draft.formerMessage]

	moved   bool            // messages may be out of order
	dropped map[string]bool // ids of messages that [draft.arrange] removes
}

// An ownList describes a list of parts that belongs to the draft.
type ownList struct {
	from    []record.Part // the list that it was copied from; nil if it lacks parts of that
	ids     partIDs       // nil until it is needed
	removed map[int]bool  // the parts that [draft.removeMarked] removes
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

// restoreMessage undoes a replacement or a removal of the message at i.
func (d *draft) restoreMessage(i int, was record.Message) {
	d.s.Messages[i] = was
	delete(d.dropped, was.Ref.Message)
}

// arrange removes the messages and the parts that are marked as removed, and sorts the
// others.
func (d *draft) arrange() {
	d.removeAllMarked()
	if len(d.dropped) > 0 {
		d.s.Messages = slices.DeleteFunc(d.s.Messages, func(m record.Message) bool { return d.dropped[m.Ref.Message] })
	}
	if d.moved {
		d.s.Sort()
	}
	d.dropped, d.moved, d.places = nil, false, nil
	for _, list := range d.own {
		list.ids = nil
	}
}

// A formerPart is a part as it was before a fix replaced or removed it.
type formerPart struct {
	list    *record.Part // the first element of its list
	at      int
	part    *record.Part // it does not change
	removed bool
}

// beforeChanges returns the message without the changes in its list of parts.
func (d *draft) beforeChanges(m record.Message, changes []formerPart) record.Message {
	if !d.hasOwnList(m.Parts) {
		return m
	}
	list, mine := d.own[&m.Parts[0]], map[int]bool{}
	parts := slices.Clone(m.Parts)
	for _, f := range slices.Backward(changes) {
		if f.list == &m.Parts[0] {
			parts[f.at], mine[f.at] = *f.part, true
		}
	}
	was := parts[:0]
	for i, p := range parts {
		if mine[i] || !list.removed[i] {
			was = append(was, p)
		}
	}
	m.Parts = was
	return m
}

// current returns the part that replaced f, nil if it was removed.
func (d *draft) current(m *record.Message, f formerPart) *record.Part {
	if f.removed {
		return nil
	}
	if at := d.partIndex(m, f.part.Ref); at >= 0 {
		return &m.Parts[at]
	}
	return nil
}

// removeMarked removes the parts of the message that are marked as removed.
func (d *draft) removeMarked(m *record.Message) {
	if d.hasOwnList(m.Parts) && len(d.own[&m.Parts[0]].removed) > 0 {
		d.clone(m)
	}
}

func (d *draft) removeAllMarked() {
	if !d.marked {
		return
	}
	for i := range d.s.Messages {
		d.removeMarked(&d.s.Messages[i])
	}
	d.marked = false
}

// draft returns a copy of the simulation's session.
func (c *simulation) draft() *draft {
	s := *c.s
	s.Messages = slices.Clone(s.Messages)
	return &draft{c: c, s: &s, texts: c.texts}
}

// A fix is one way to fix a fault.
type fix struct {
	text, loses string // sentences for a person; loses is "" for nothing
	// whole says that the edit changes more than the message at fault.
	whole bool
	// alike says that faults of its kind elsewhere in the message are fixed in the
	// same way, whatever becomes of this one: they may be tried together. With whole it
	// says the same of faults of other messages: the edit only moves or removes the
	// message.
	alike bool
	// edit changes the draft. After an error the next fix is tried.
	edit func(*draft) error
}

// message returns the message with that ref, or of the part with that ref, for any
// edit.
func (d *draft) message(ref session.Ref) (*record.Message, error) {
	i := d.index(ref)
	if i < 0 {
		return nil, fmt.Errorf("%s: no such message", ref)
	}
	m := &d.s.Messages[i]
	d.clone(m)
	return m, nil
}

// clone copies the message's list of parts, without those that are marked as removed.
// Copies of the message that were made before keep the former list.
func (d *draft) clone(m *record.Message) {
	var removed map[int]bool
	if d.hasOwnList(m.Parts) {
		removed = d.own[&m.Parts[0]].removed
	}
	from := m.Parts
	m.Parts = slices.Grow(from[:0:0], len(from)-len(removed))
	for i := range from {
		if !removed[i] {
			m.Parts = append(m.Parts, from[i])
		}
	}
	if d.own == nil {
		d.own = map[*record.Part]*ownList{}
	}
	if len(m.Parts) == 0 {
		return
	}
	list := &ownList{}
	if len(m.Parts) == len(from) {
		list.from = from
	}
	d.own[&m.Parts[0]] = list
}

func (d *draft) hasOwnList(parts []record.Part) bool {
	if len(parts) == 0 {
		return false
	}
	_, ok := d.own[&parts[0]]
	return ok
}

// index returns the index of the message with that ref, or of the part with that ref;
// -1 if there is none.
func (d *draft) index(ref session.Ref) int {
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
func (d *draft) part(ref session.Ref) (*record.Message, *record.Part, error) {
	i := d.index(ref)
	if i < 0 {
		return nil, nil, fmt.Errorf("%s: no such message", ref)
	}
	m := &d.s.Messages[i]
	if d.hasOwnList(m.Parts) {
		d.c.renderer.Release(m) // it knows the list by its address
	} else {
		d.clone(m)
	}
	at := d.partIndex(m, ref)
	if at < 0 {
		return nil, nil, fmt.Errorf("%s: no such part", ref)
	}
	d.replaced = append(d.replaced, formerPart{list: &m.Parts[0], at: at, part: d.former(m.Parts, at)})
	return m, &m.Parts[at], nil
}

// former returns the present state of a part in one of the draft's own lists. It copies
// the part only if the list that it came from has another state.
func (d *draft) former(parts []record.Part, at int) *record.Part {
	if from := d.own[&parts[0]].from; at < len(from) && sameRecord(&from[at].Record, &parts[at].Record) {
		return &from[at]
	}
	was := parts[at]
	return &was
}

// sameRecord reports whether a was not edited since b was copied from it: an edit
// replaces data and columns.
func sameRecord(a, b *session.Record) bool {
	return a.Ref == b.Ref && a.Defect == b.Defect && a.Class == b.Class &&
		unsafe.SliceData(a.Data) == unsafe.SliceData(b.Data) && len(a.Data) == len(b.Data) && a.Cols.Equal(b.Cols)
}

// formerMessage returns the present state of the message at that index. It copies the
// message only if it was edited since the last call.
func (d *draft) formerMessage(at int) *record.Message {
	m := &d.s.Messages[at]
	same := func(o *record.Message) bool {
		return sameRecord(&o.Record, &m.Record) && unsafe.SliceData(o.Parts) == unsafe.SliceData(m.Parts) && len(o.Parts) == len(m.Parts)
	}
	switch {
	case at < len(d.c.s.Messages) && same(&d.c.s.Messages[at]):
		return &d.c.s.Messages[at]
	case d.lastFormer == nil || !same(d.lastFormer):
		was := *m
		d.lastFormer = &was
	}
	return d.lastFormer
}

// partIndex returns the index of a part in its message, -1 if it is not there.
func (d *draft) partIndex(m *record.Message, ref session.Ref) int {
	if len(m.Parts) == 0 {
		return -1
	}
	list := d.own[&m.Parts[0]]
	if list == nil || len(m.Parts) < longList && len(list.removed) == 0 {
		return searchPart(m.Parts, ref)
	}
	if list.ids == nil {
		list.ids = indexParts(m.Parts)
	}
	if at, ok := list.ids[ref.Part]; ok && !list.removed[at] && at < len(m.Parts) && m.Parts[at].Ref == ref {
		return at
	}
	for i := range m.Parts { // the list has changed since it was indexed
		if m.Parts[i].Ref == ref && !list.removed[i] {
			return i
		}
	}
	return -1
}

// An edit is a fix that was applied.
type edit struct {
	message     string          // of the finding
	at          int             // the index of that message, -1 for none
	before      *record.Message // that message before the edit; it does not change
	parts       []formerPart    // its parts that the edit replaced or removed
	whole       bool            // it may change other messages
	independent bool            // whole, but it changes only the position of its own message
}

// Apply implements [repair.Draft].
func (d *draft) Apply(f repair.Finding, x repair.Fix) (repair.Edit, error) {
	e := &edit{message: f.Ref.Message, at: d.index(f.Ref), whole: x.Whole, independent: x.Whole && x.Alike}
	if e.at >= 0 {
		e.before = d.formerMessage(e.at)
		d.c.renderer.Release(e.before)
	}
	d.replaced = nil
	err := x.Edit(d)
	if x.Whole {
		d.removeAllMarked()
	}
	e.parts = d.replaced
	if err == nil {
		err = d.allowed(e)
	}
	if err != nil {
		d.takeBack(e)
		return nil, err
	}
	return e, nil
}

// allowed returns a [*repair.RefusalError] if the edit must not be made.
func (d *draft) allowed(e *edit) error {
	if d.breaksLoop(e) {
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

// takeBack undoes the newest edit.
func (d *draft) takeBack(e *edit) {
	if e.independent {
		d.restoreMessage(e.at, *e.before)
		return
	}
	d.Undo(e)
}

// Undo implements [repair.Draft].
func (d *draft) Undo(made repair.Edit) {
	e := made.(*edit)
	if e.whole {
		*d = *d.c.draft()
		return
	}
	for _, f := range slices.Backward(e.parts) {
		if len(e.before.Parts) > 0 && f.list == &e.before.Parts[0] {
			e.before.Parts[f.at] = *f.part
			delete(d.own[f.list].removed, f.at)
		}
	}
	d.s.Messages[e.at] = *e.before
	d.c.renderer.Release(e.before)
}

// Case implements [repair.Draft]. It releases what was found out of the session as it was,
// and of the draft: that may be as large as the session.
func (d *draft) Case() repair.Case {
	d.arrange()
	d.c.cachedFacts, d.c.parts = nil, partIndex{}
	n := d.c.withSession(d.s)
	n.isDraft = true
	return n
}

// Draft implements [repair.Case].
func (c *simulation) Draft() repair.Draft { return c.draft() }
