package tree

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"mend/agent/opencode/record"
	"mend/change"
)

// Orphans returns the records that belong to no session: the messages of sessions that
// have no record of their own and the parts of these messages, the parts of messages that
// do not exist, and after them the folders of all these. Layouts without records of
// sessions have only orphans of the latter kind. The session of a part is the one in its
// path or in the part itself, else [change.NoSession].
//
// The error wraps [change.ErrHidden] where a folder cannot be read or is a link, or where
// no session has a record at all; or says that the tree as a whole cannot be read, or that
// ctx ended.
func (s *Store) Orphans(ctx context.Context) ([]change.Ref, error) {
	tr, err := s.newReader(ctx)
	if err != nil {
		return nil, err
	}
	defer tr.close()
	// Parts are listed before their messages, and messages before their sessions: the
	// agent creates them in the opposite order, so what it creates meanwhile is no orphan.
	shelves := tr.listPartsRoots()
	tr.stray = nil // a problem with parts hides no message
	inv := tr.newInventory(shelves)
	tr.addPlaces()
	tr.filesAtMessageFolders(inv)
	if err := tr.checkComplete(inv); err != nil || tr.failed() {
		return nil, fmt.Errorf("looking for orphans: %w", cmp.Or(tr.err, err))
	}
	refs := inv.messagesWithoutSession(tr)
	for _, pr := range shelves {
		for _, id := range slices.Sorted(maps.Keys(pr.unowned)) {
			refs = append(refs, inv.partsWithoutMessage(tr, pr.folder, id)...)
		}
	}
	if tr.failed() {
		return nil, fmt.Errorf("looking for orphans: %w", tr.err)
	}
	return refs, nil
}

// messagesWithoutSession returns the messages, with their parts and folders, of sessions
// that have no record.
func (inv *inventory) messagesWithoutSession(tr *treeReader) []change.Ref {
	var refs []change.Ref
	for _, k := range inv.messageFolders {
		if inv.sessions != nil && !inv.sessions[k.ref.Session] {
			refs = append(refs, inv.messagesIn(tr, k)...)
		}
	}
	return refs
}

// messagesIn returns the messages in a folder, with their parts and folders, and then the folder.
func (inv *inventory) messagesIn(tr *treeReader, k folder) (refs []change.Ref) {
	ref := k.ref
	ref.Kind = change.KindMessage
	for _, id := range tr.recordIDs(k) {
		ref.Message = id
		refs = append(refs, ref)
		refs = append(refs, tr.partsIn(ref)...)
	}
	return append(refs, change.Ref{Kind: change.KindFolder, Project: ref.Project, Session: ref.Session})
}

// SessionRefs returns the records of each of the sessions, and their folders.
func (s *Store) SessionRefs(ctx context.Context, heads []change.Head) (map[string][]change.Ref, error) {
	tr, err := s.newReader(ctx)
	if err != nil {
		return nil, err
	}
	defer tr.close()
	all := map[string][]change.Ref{}
	for _, h := range heads {
		all[h.ID] = append([]change.Ref{h.Ref}, h.Others...)
	}
	inv := tr.newInventory(tr.listPartsRoots())
	for _, k := range inv.messageFolders {
		if refs, ok := all[k.ref.Session]; ok {
			all[k.ref.Session] = append(refs, inv.messagesIn(tr, k)...)
		}
	}
	return all, tr.err
}

// partsWithoutMessage returns the parts of a message that does not exist, and their
// folder.
func (inv *inventory) partsWithoutMessage(tr *treeReader, root folder, message string) []change.Ref {
	f := root.child(message)
	f.ref.Message = message
	ref := f.ref
	if ref.Session == "" {
		ref.Session = tr.sessionInParts(f)
	}
	if inv.hasInnerID(tr, ref) {
		return nil
	}
	return tr.partsIn(ref)
}

// partsIn returns the parts of a message and their folder; nil if there are none.
func (tr *treeReader) partsIn(ref change.Ref) []change.Ref {
	p := tr.layout.partPattern()
	ref = tr.partRef(ref)
	var refs []change.Ref
	tr.eachRecordIn(folder{names: fill(p.names[:len(p.names)-1], ref)}, func(_, id string) {
		ref.Part = id
		refs = append(refs, ref)
	})
	if len(refs) > 0 {
		refs = append(refs, tr.layout.folderRef(ref, len(p.names)-1))
	}
	return refs
}

// sessionInParts returns the session that the first part in the folder names.
func (tr *treeReader) sessionInParts(f folder) string {
	d := tr.open(f.path(), f.ref.Message)
	if d == nil {
		return change.NoSession
	}
	defer d.Close()
	owner := ""
	tr.eachRecord(d, f.ref.Message, func(_, id string) {
		if owner != "" {
			return
		}
		r, _ := tr.readRecord(d, change.Ref{Kind: change.KindPart, Message: f.ref.Message, Part: id})
		p := record.NewPart(r)
		owner = p.JSON.TextAt("sessionID")
	})
	if change.ValidateID(owner) != nil {
		return change.NoSession
	}
	return owner
}

// addAbandonedParts reports the parts of prompts that assistant messages name and that do
// not exist: the agent never reads them.
func (tr *treeReader) addAbandonedParts(s *record.Session) {
	asked := map[string]bool{}
	for i := range s.Messages {
		asked[s.Messages[i].ID], asked[s.Messages[i].Ref.Message] = true, true
	}
	for i := range s.Messages {
		m := &s.Messages[i]
		id := m.Parent
		if asked[id] || change.ValidateID(id) != nil {
			continue
		}
		asked[id] = true
		ref := m.Ref
		ref.Message = id
		for _, r := range tr.partsIn(ref) {
			if r.Kind == change.KindPart {
				tr.addStray(change.StrayOther, tr.partsRootPath(ref)+"/"+id+"/"+r.Part+suffix, id, "its message does not exist")
			}
		}
	}
}
