package tree

import (
	"fmt"
	"strings"

	"mend/agent/opencode/record"
	"mend/change"
)

// An inventory lists the messages and sessions of a tree by their names, to find what
// belongs to none.
type inventory struct {
	messageFolders []folder // folders that contain messages of a session
	partsRoots     map[string]*partsRoot
	sessions       map[string]bool // sessions with a record; nil in a layout without such records
	innerIDs       map[string]bool // ids inside the messages of the sessions in innerIDsRead
	innerIDsRead   map[string]bool
}

// A partsRoot is a folder that contains the part folders of messages.
type partsRoot struct {
	folder
	unowned map[string]bool // the ids that no message has
}

func (tr *treeReader) listPartsRoots() []*partsRoot {
	var all []*partsRoot
	p := tr.layout.partPattern()
	for _, f := range tr.matchFolders(p.names[:len(p.names)-2], change.Ref{}, nil) {
		pr := &partsRoot{f, map[string]bool{}}
		tr.eachID(f, func(id string) { pr.unowned[strings.Clone(id)] = true })
		all = append(all, pr)
	}
	return all
}

// newInventory lists all messages and sessions.
func (tr *treeReader) newInventory(shelves []*partsRoot) *inventory {
	inv := &inventory{partsRoots: map[string]*partsRoot{}, innerIDs: map[string]bool{}, innerIDsRead: map[string]bool{}}
	for _, pr := range shelves {
		inv.partsRoots[pr.path()] = pr
	}
	for _, p := range tr.layout.patterns {
		if p.kind == change.KindMessage {
			inv.add(tr, p)
		}
	}
	p, ok := tr.layout.pattern(change.KindSession, true)
	if !ok {
		return inv
	}
	inv.sessions = map[string]bool{}
	for _, f := range tr.matchFolders(p.names[:len(p.names)-1], change.Ref{}, nil) {
		tr.eachRecordIn(f, func(_, id string) { inv.sessions[id] = true })
	}
	return inv
}

// add lists the messages that a pattern matches. A folder that contains messages is a
// session's own, and not a folder of sessions.
func (inv *inventory) add(tr *treeReader, p pattern) {
	holds := map[string]bool{}
	for _, k := range inv.messageFolders {
		holds[k.path()] = true
	}
	folders := []folder{{}}
	for _, name := range p.names[:len(p.names)-1] {
		var next []folder
		for _, f := range folders {
			if !holds[f.path()] {
				next = append(next, tr.matchName(f, name, change.Ref{}, nil)...)
			}
		}
		folders = next
	}
	for _, f := range folders {
		on, some := inv.partsRoots[tr.partsRootPath(f.ref)], false
		tr.eachRecordIn(f, func(_, id string) {
			if some = true; on != nil {
				delete(on.unowned, id)
			}
		})
		if some {
			inv.messageFolders = append(inv.messageFolders, f)
		}
	}
}

// recordIDs returns the ids of the records in a folder.
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

// partsRootPath returns the path of the folder that contains the part folders of a
// session's messages.
func (tr *treeReader) partsRootPath(ref change.Ref) string {
	p := tr.layout.partPattern()
	return strings.Join(fill(p.names[:len(p.names)-2], ref), "/")
}

// checkComplete returns an error if the tree may contain sessions or messages that were
// not listed. A record whose name is not an id has no children.
func (tr *treeReader) checkComplete(inv *inventory) error {
	for _, s := range tr.stray {
		if s.Kind == change.StrayHidden || !strings.HasSuffix(s.Path, suffix) {
			return fmt.Errorf("%w: %s: %s", change.ErrHidden, s.Path, s.Why)
		}
	}
	if inv.sessions != nil && len(inv.sessions) == 0 && len(inv.messageFolders) > 0 {
		return fmt.Errorf("%w: no session has data of its own", change.ErrHidden)
	}
	return nil
}

// hasInnerID reports whether a message of the session is stored under another id and has
// this one inside, which is the one that the agent uses.
func (inv *inventory) hasInnerID(tr *treeReader, ref change.Ref) bool {
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
	ref.Kind = change.KindMessage
	for _, id := range tr.recordIDs(k) {
		ref.Message = id
		if r, ok := tr.readRecord(d, ref); ok {
			m := record.NewMessage(r)
			inv.innerIDs[m.ID] = true
		}
	}
}
