package fsstore

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"mend/session"
)

// A skeleton is what stands above the parts, by names alone. Of a large tree these
// are many, so each is kept once.
type skeleton struct {
	talks    []spot // the folders with the messages of a session that has any
	shelves  map[string]*shelf
	sessions map[string]bool // that have a record; nil in a layout without such
	inside   map[string]bool // the ids that the messages of a session say they have; filled as asked
	asked    map[string]bool // the sessions for which it is
}

// A shelf is a folder that has the folders of messages' parts in it. Of the ids that
// these are called by it has the checksums, in order: of a large tree the ids would be
// most of what a scan keeps.
type shelf struct {
	spot
	sums  []uint64
	owned []bool // a message is called by the id
}

// sumSeed makes it unlikely for any two ids to have the same checksum, whoever chose
// them.
var sumSeed = maphash.MakeSeed()

func (v *view) shelves() []*shelf {
	var all []*shelf
	p := v.layout.parts()
	for _, at := range v.expand(p.names[:len(p.names)-2], session.Ref{}, nil) {
		k := &shelf{spot: at}
		v.eachID(at, k.add)
		slices.Sort(k.sums)
		k.owned = make([]bool, len(k.sums))
		all = append(all, k)
	}
	return all
}

func sumOf(id string) uint64 { return maphash.String(sumSeed, id) }

func (k *shelf) add(id string) { k.sums = append(k.sums, sumOf(id)) }

// find is the place of an id, and whether it is there.
func (k *shelf) find(id string) (int, bool) { return slices.BinarySearch(k.sums, sumOf(id)) }

// own notes that there is a message of that id.
func (k *shelf) own(id string) {
	if i, ok := k.find(id); ok {
		k.owned[i] = true
	}
}

// left are the ids that no message is called by, in order. They are listed anew, and
// what has come since is not among them.
func (k *shelf) left(v *view) (ids []string) {
	if !slices.Contains(k.owned, false) {
		return nil
	}
	v.eachID(k.spot, func(id string) {
		if i, ok := k.find(id); ok && !k.owned[i] {
			ids = append(ids, id)
		}
	})
	slices.Sort(ids)
	return ids
}

// skeleton looks at all that stands above the parts on the shelves.
func (v *view) skeleton(shelves []*shelf) *skeleton {
	t := &skeleton{shelves: map[string]*shelf{}, inside: map[string]bool{}, asked: map[string]bool{}}
	for _, k := range shelves {
		t.shelves[k.path()] = k
	}
	for _, p := range v.layout.patterns {
		if p.kind == session.KindMessage {
			t.add(v, p)
		}
	}
	p, ok := v.layout.pattern(session.KindSession, true)
	if !ok {
		return t
	}
	t.sessions = map[string]bool{}
	for _, at := range v.expand(p.names[:len(p.names)-1], session.Ref{}, nil) {
		v.list(at, func(_, id string) { t.sessions[id] = true })
	}
	return t
}

// add lists the messages that a pattern leads to. A folder that holds messages is
// a session's own, and no folder of sessions.
func (t *skeleton) add(v *view, p pattern) {
	holds := map[string]bool{}
	for _, k := range t.talks {
		holds[k.path()] = true
	}
	spots := []spot{{}}
	for _, name := range p.names[:len(p.names)-1] {
		var next []spot
		for _, s := range spots {
			if !holds[s.path()] {
				next = append(next, v.step(s, name, session.Ref{}, nil)...)
			}
		}
		spots = next
	}
	for _, at := range spots {
		on, some := t.shelves[v.shelfPath(at.ref)], false
		v.list(at, func(_, id string) {
			if some = true; on != nil {
				on.own(id)
			}
		})
		if some {
			t.talks = append(t.talks, at)
		}
	}
}

// recordsIn are the ids of the records in a folder.
func (v *view) recordsIn(at spot) (ids []string) {
	v.list(at, func(_, id string) { ids = append(ids, id) })
	return ids
}

// list calls yield for each record in a folder.
func (v *view) list(at spot, yield func(name, id string)) {
	if v.failed() {
		return
	}
	if d := v.open(at.path(), ""); d != nil {
		v.records(d, "", yield)
		d.Close()
	}
}

// shelfPath is the path of the folder that the folders of the parts of a session's
// messages are in.
func (v *view) shelfPath(ref session.Ref) string {
	p := v.layout.parts()
	return strings.Join(fill(p.names[:len(p.names)-2], ref), "/")
}

// hides is an error if the tree may hold more sessions or messages than were
// seen. A record whose name is no id is nobody's parent.
func (v *view) hides(t *skeleton) error {
	for _, s := range v.stray {
		if s.Hidden || !strings.HasSuffix(s.Path, suffix) {
			return fmt.Errorf("%w: %s: %s", session.ErrHidden, s.Path, s.Why)
		}
	}
	if t.sessions != nil && len(t.sessions) == 0 && len(t.talks) > 0 {
		return fmt.Errorf("%w: no session has a record", session.ErrHidden)
	}
	return nil
}

// saysItIs reports whether a message of the session is stored under another id
// and says that it has this one: the agent goes by that.
func (t *skeleton) saysItIs(v *view, ref session.Ref) bool {
	if !t.asked[ref.Session] {
		t.asked[ref.Session] = true
		for _, k := range t.talks {
			if k.ref.Session == ref.Session {
				t.ask(v, k)
			}
		}
	}
	return t.inside[ref.Message]
}

func (t *skeleton) ask(v *view, k spot) {
	d := v.open(k.path(), "")
	if d == nil {
		return
	}
	defer d.Close()
	ref := k.ref
	ref.Kind = session.KindMessage
	for _, id := range v.recordsIn(k) {
		ref.Message = id
		if r, ok := v.read(d, ref); ok {
			m := session.NewMessage(r)
			t.inside[m.ID] = true
		}
	}
}
