package tree

import (
	"context"

	"mend/change"
)

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

// partsIn returns the parts of a message and their folder; nil if the message has none.
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
