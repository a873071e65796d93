package tree

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"mend/session"
)

// A skeleton is what stands above the parts, by names alone. Of a large tree these
// are many, so each is kept once.
type inventory struct {
	messageFolders []folder // the folders with the messages of a session that has any
	partsRoots     map[string]*partsRoot
	sessions       map[string]bool // that have a record; nil in a layout without such
	innerIDs       map[string]bool // the ids that the messages of a session say they have; filled as asked
	innerIDsRead   map[string]bool // the sessions for which it is
}

// A shelf is a folder that has the folders of messages' parts in it. Of the ids that
// these are called by it has the checksums, in order: of a large tree the ids would be
// most of what a scan keeps.
type partsRoot struct {
	folder
	sums  []uint64
	owned []bool // a message is called by the id
}

// sumSeed makes it unlikely for any two ids to have the same checksum, whoever chose
// them.
var hashSeed = maphash.MakeSeed()

func (tr *treeReader) listPartsRoots() []*partsRoot {
	var all []*partsRoot
	p := tr.layout.partPattern()
	for _, f := range tr.matchFolders(p.names[:len(p.names)-2], session.Ref{}, nil) {
		pr := &partsRoot{folder: f}
		tr.eachID(f, pr.add)
		slices.Sort(pr.sums)
		pr.owned = make([]bool, len(pr.sums))
		all = append(all, pr)
	}
	return all
}

func hashID(id string) uint64 { return maphash.String(hashSeed, id) }

func (pr *partsRoot) add(id string) { pr.sums = append(pr.sums, hashID(id)) }

// find is the place of an id, and whether it is there.
func (pr *partsRoot) find(id string) (int, bool) { return slices.BinarySearch(pr.sums, hashID(id)) }

// setOwned notes that there is a message of that id.
func (pr *partsRoot) setOwned(id string) {
	if i, ok := pr.find(id); ok {
		pr.owned[i] = true
	}
}

// unowned are the ids that no message is called by, in order. They are listed anew, and
// what has come since is not among them.
func (pr *partsRoot) unowned(tr *treeReader) (ids []string) {
	if !slices.Contains(pr.owned, false) {
		return nil
	}
	tr.eachID(pr.folder, func(id string) {
		if i, ok := pr.find(id); ok && !pr.owned[i] {
			ids = append(ids, id)
		}
	})
	slices.Sort(ids)
	return ids
}

// newInventory looks at all that stands above the parts on the shelves.
func (tr *treeReader) newInventory(shelves []*partsRoot) *inventory {
	inv := &inventory{partsRoots: map[string]*partsRoot{}, innerIDs: map[string]bool{}, innerIDsRead: map[string]bool{}}
	for _, pr := range shelves {
		inv.partsRoots[pr.path()] = pr
	}
	for _, p := range tr.layout.patterns {
		if p.kind == session.KindMessage {
			inv.add(tr, p)
		}
	}
	p, ok := tr.layout.pattern(session.KindSession, true)
	if !ok {
		return inv
	}
	inv.sessions = map[string]bool{}
	for _, f := range tr.matchFolders(p.names[:len(p.names)-1], session.Ref{}, nil) {
		tr.eachRecordIn(f, func(_, id string) { inv.sessions[id] = true })
	}
	return inv
}

// add lists the messages that a pattern leads to. A folder that holds messages is
// a session's own, and no folder of sessions.
func (inv *inventory) add(tr *treeReader, p pattern) {
	holds := map[string]bool{}
	for _, k := range inv.messageFolders {
		holds[k.path()] = true
	}
	spots := []folder{{}}
	for _, name := range p.names[:len(p.names)-1] {
		var next []folder
		for _, f := range spots {
			if !holds[f.path()] {
				next = append(next, tr.matchName(f, name, session.Ref{}, nil)...)
			}
		}
		spots = next
	}
	for _, f := range spots {
		on, some := inv.partsRoots[tr.partsRootPath(f.ref)], false
		tr.eachRecordIn(f, func(_, id string) {
			if some = true; on != nil {
				on.setOwned(id)
			}
		})
		if some {
			inv.messageFolders = append(inv.messageFolders, f)
		}
	}
}

// recordIDs are the ids of the records in a folder.
func (tr *treeReader) recordIDs(f folder) (ids []string) {
	tr.eachRecordIn(f, func(_, id string) { ids = append(ids, id) })
	return ids
}

// eachRecordIn calls yield for each record in a folder.
func (tr *treeReader) eachRecordIn(f folder, yield func(name, id string)) {
	if tr.failed() {
		return
	}
	if d := tr.open(f.path(), ""); d != nil {
		tr.eachRecord(d, "", yield)
		d.Close()
	}
}

// partsRootPath is the path of the folder that the folders of the parts of a session's
// messages are in.
func (tr *treeReader) partsRootPath(ref session.Ref) string {
	p := tr.layout.partPattern()
	return strings.Join(fill(p.names[:len(p.names)-2], ref), "/")
}

// checkComplete is an error if the tree may hold more sessions or messages than were
// seen. A record whose name is no id is nobody's parent.
func (tr *treeReader) checkComplete(inv *inventory) error {
	for _, s := range tr.stray {
		if s.Hidden || !strings.HasSuffix(s.Path, suffix) {
			return fmt.Errorf("%w: %s: %s", session.ErrHidden, s.Path, s.Why)
		}
	}
	if inv.sessions != nil && len(inv.sessions) == 0 && len(inv.messageFolders) > 0 {
		return fmt.Errorf("%w: no session has a record", session.ErrHidden)
	}
	return nil
}

// hasInnerID reports whether a message of the session is stored under another id
// and says that it has this one: the agent goes by that.
func (inv *inventory) hasInnerID(tr *treeReader, ref session.Ref) bool {
	if !inv.innerIDsRead[ref.Session] {
		inv.innerIDsRead[ref.Session] = true
		for _, k := range inv.messageFolders {
			if k.ref.Session == ref.Session {
				inv.readInnerIDs(tr, k)
			}
		}
	}
	return inv.innerIDs[ref.Message]
}

func (inv *inventory) readInnerIDs(tr *treeReader, k folder) {
	d := tr.open(k.path(), "")
	if d == nil {
		return
	}
	defer d.Close()
	ref := k.ref
	ref.Kind = session.KindMessage
	for _, id := range tr.recordIDs(k) {
		ref.Message = id
		if r, ok := tr.readRecord(d, ref); ok {
			m := session.NewMessage(r)
			inv.innerIDs[m.ID] = true
		}
	}
}
