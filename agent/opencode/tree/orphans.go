package tree

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"mend/agent/opencode/record"
	"mend/change"
)

// Orphans returns the records that belong to no session: the messages of sessions that
// have no record of their own and the parts of these messages, the parts of messages that
// do not exist, and after them the folders of all these. The session of a part is the one in
// the part itself, else [change.NoSession].
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
	parts := tr.ids("part")
	tr.stray = nil // a problem with parts hides no message
	folders := tr.messageFolders(nil)
	sessions := map[string]bool{} // those with a record
	for _, project := range tr.ids("session") {
		for _, id := range tr.recordIDs("session/" + project) {
			sessions[id] = true
		}
	}
	tr.addPlaces()
	var refs []change.Ref
	known, owners := map[string]bool{}, map[string]bool{} // the messages, and the sessions that have some
	for _, f := range folders {
		tr.stray = append(tr.stray, f.stray...)
		for _, id := range f.ids {
			known[id], owners[f.ref.Session] = true, true
		}
		if len(f.ids) > 0 && !sessions[f.ref.Session] {
			refs = append(refs, tr.messagesIn(f)...)
		}
	}
	for id := range sessions {
		if !owners[id] {
			tr.openPlace("message/" + id) // what a file there contained is not known
		}
	}
	if err := tr.checkComplete(len(sessions) == 0 && len(owners) > 0); err != nil || tr.failed() {
		return nil, fmt.Errorf("looking for orphans: %w", cmp.Or(tr.err, err))
	}
	inner := map[string]map[string]bool{} // the ids inside the messages of a session
	for _, id := range parts {
		if known[id] {
			continue
		}
		ref := change.Ref{Message: id, Session: tr.sessionInParts(id)}
		if inner[ref.Session] == nil {
			inner[ref.Session] = tr.innerIDs(folders, ref.Session)
		}
		if !inner[ref.Session][id] { // the agent uses the id that is inside a message
			refs = append(refs, tr.partsIn(ref)...)
		}
	}
	if tr.failed() {
		return nil, fmt.Errorf("looking for orphans: %w", tr.err)
	}
	return refs, nil
}

// checkComplete returns an error if the tree may contain sessions or messages that were
// not listed. A record whose name is not an id has no children.
func (tr *treeReader) checkComplete(noSession bool) error {
	for _, s := range tr.stray {
		if s.Kind == change.StrayHidden || !strings.HasSuffix(s.Path, suffix) {
			return fmt.Errorf("%w: %s: %s", change.ErrHidden, s.Path, s.Why)
		}
	}
	if noSession {
		return fmt.Errorf("%w: no session has data of its own", change.ErrHidden)
	}
	return nil
}

// messagesIn returns the messages in a folder, with their parts and folders, and then the folder.
func (tr *treeReader) messagesIn(f messagesFolder) (refs []change.Ref) {
	ref := f.ref
	for _, ref.Message = range f.ids {
		refs = append(append(refs, ref), tr.partsIn(ref)...)
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
	for _, f := range tr.messageFolders(nil) {
		if refs, ok := all[f.ref.Session]; ok && len(f.ids) > 0 {
			all[f.ref.Session] = append(refs, tr.messagesIn(f)...)
		}
	}
	return all, tr.err
}

// partsIn returns the parts of a message and their folder; nil if there are none.
func (tr *treeReader) partsIn(message change.Ref) (refs []change.Ref) {
	ref := partRef(message)
	for _, ref.Part = range tr.recordIDs("part/" + ref.Message) {
		refs = append(refs, ref)
	}
	if len(refs) > 0 {
		refs = append(refs, change.Ref{Kind: change.KindFolder, Session: ref.Session, Message: ref.Message})
	}
	return refs
}

// sessionInParts returns the session that the first part of a message names.
func (tr *treeReader) sessionInParts(message string) string {
	d := tr.open("part/" + message)
	if d == nil {
		return change.NoSession
	}
	defer d.Close()
	owner := ""
	tr.eachRecord(d, message, func(_, id string) {
		if owner == "" {
			r, _ := tr.readRecord(d, change.Ref{Kind: change.KindPart, Message: message, Part: id})
			p := record.NewPart(r)
			owner = p.JSON.TextAt("sessionID")
		}
	})
	if change.ValidateID(owner) != nil {
		return change.NoSession
	}
	return owner
}

// innerIDs returns the ids inside the messages of a session. A message may be stored under another id.
func (tr *treeReader) innerIDs(folders []messagesFolder, session string) map[string]bool {
	ids := map[string]bool{}
	for _, f := range folders {
		if f.ref.Session != session {
			continue
		}
		d := tr.open(f.path)
		if d == nil {
			continue
		}
		ref := f.ref
		for _, ref.Message = range f.ids {
			if r, ok := tr.readRecord(d, ref); ok {
				m := record.NewMessage(r)
				ids[m.ID] = true
			}
		}
		d.Close()
	}
	return ids
}

// addAbandonedParts reports the parts of prompts that assistant messages name and that do
// not exist: the agent never reads them.
func (tr *treeReader) addAbandonedParts(s *record.Session) {
	asked := map[string]bool{}
	for i := range s.Messages {
		asked[s.Messages[i].ID], asked[s.Messages[i].Ref.Message] = true, true
	}
	for i := range s.Messages {
		id := s.Messages[i].Parent
		if asked[id] || change.ValidateID(id) != nil {
			continue
		}
		asked[id] = true
		for _, part := range tr.recordIDs("part/" + id) {
			tr.addStray(change.StrayOther, "part/"+id+"/"+part+suffix, id, "its message does not exist")
		}
	}
}
