package tree

import (
	"context"

	"mend/change"
)

// SessionRefs returns a function for the records of a session and their folders. It finds the nested folders of
// messages of all sessions first.
func (s *Store) SessionRefs(ctx context.Context) (func(change.Head) ([]change.Ref, error), error) {
	tr, err := s.newReader(ctx)
	if err != nil {
		return nil, err
	}
	defer tr.close()
	nested := map[string][]messagesFolder{} // by session
	for _, f := range tr.messageFolders(nil) {
		if f.ref.Project != "" {
			nested[f.ref.Session] = append(nested[f.ref.Session], f)
		}
	}
	return func(h change.Head) ([]change.Ref, error) {
		tr, err := s.newReader(ctx)
		if err != nil {
			return nil, err
		}
		defer tr.close()
		refs := append([]change.Ref{h.Ref}, h.Others...)
		own := messagesFolder{path: "message/" + h.ID, ref: change.Ref{Kind: change.KindMessage, Session: h.ID}}
		for _, f := range append([]messagesFolder{own}, nested[h.ID]...) {
			refs = append(refs, tr.messagesIn(f)...)
		}
		return refs, tr.err
	}, tr.err
}

// messagesIn returns the messages in a folder, with their parts and folders, and then the folder; nil if the folder has
// no messages.
func (tr *treeReader) messagesIn(f messagesFolder) (refs []change.Ref) {
	ref := f.ref
	for _, ref.Message = range tr.recordIDs(f.path) {
		refs = append(append(refs, ref), tr.partsIn(ref)...)
	}
	if len(refs) > 0 {
		refs = append(refs, change.Ref{Kind: change.KindFolder, Project: ref.Project, Session: ref.Session})
	}
	return refs
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
