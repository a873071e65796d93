package fsstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"mend/session"
)

// Orphans lists the records that no session leads to: the messages of sessions
// that have no record of their own and the parts of these messages, the parts of
// messages that are not there, and behind them the folders of all these. Layouts
// without records of sessions only have orphans of the latter kind. The session
// of a part is the one that its path or the part itself names, else
// [session.Unknown].
//
// The error wraps [session.ErrHidden] where a folder cannot be read, is a link,
// or where no session has a record at all; or says that the tree as a whole
// cannot be read, or that ctx ended.
func (s *Store) Orphans(ctx context.Context) ([]session.Ref, error) {
	v, err := s.view(ctx)
	if err != nil {
		return nil, err
	}
	defer v.close()
	// From the bottom up: what the agent begins meanwhile it begins from the top.
	shelves := v.shelves()
	v.stray = nil // what hides parts hides nobody's parent
	t := v.skeleton(shelves)
	v.filesInTheWay()
	v.talksInTheWay(t)
	if err := v.hides(t); err != nil || v.failed() {
		return nil, fmt.Errorf("looking for orphans: %w", cmp.Or(v.err, err))
	}
	refs := t.withoutSession(v)
	for _, k := range shelves {
		for _, id := range k.left(v) {
			refs = append(refs, t.withoutMessage(v, k.spot, id)...)
		}
	}
	if v.failed() {
		return nil, fmt.Errorf("looking for orphans: %w", v.err)
	}
	return refs, nil
}

// withoutSession is the messages, with their parts and folders, of sessions that
// have no record.
func (t *skeleton) withoutSession(v *view) []session.Ref {
	var refs []session.Ref
	for _, k := range t.talks {
		if t.sessions == nil || t.sessions[k.ref.Session] {
			continue
		}
		ref := k.ref
		ref.Kind = session.KindMessage
		for _, id := range v.recordsIn(k) {
			ref.Message = id
			refs = append(refs, ref)
			part := ref
			refs = append(refs, v.partsIn(part)...)
		}
		ref.Message = ""
		refs = append(refs, session.Ref{Kind: session.KindFolder, Project: ref.Project, Session: ref.Session})
	}
	return refs
}

// withoutMessage is the parts in a folder of a shelf that no message is called
// like, and the folder.
func (t *skeleton) withoutMessage(v *view, shelf spot, message string) []session.Ref {
	at := shelf.child(message)
	at.ref.Message = message
	ref := at.ref
	if ref.Session == "" {
		ref.Session = v.toldSession(at)
	}
	if t.saysItIs(v, ref) {
		return nil
	}
	return v.partsIn(ref)
}

// partsIn is the parts of a message and the folder that they are in, nothing if
// there are none.
func (v *view) partsIn(ref session.Ref) []session.Ref {
	p := v.layout.parts()
	ref = v.partRef(ref)
	var refs []session.Ref
	v.list(spot{names: fill(p.names[:len(p.names)-1], ref)}, func(_, id string) {
		ref.Part = id
		refs = append(refs, ref)
	})
	if len(refs) > 0 {
		refs = append(refs, v.layout.folderRef(ref, len(p.names)-1))
	}
	return refs
}

// toldSession is the session that a part in the folder says it is of.
func (v *view) toldSession(at spot) string {
	d := v.open(at.path(), at.ref.Message)
	if d == nil {
		return session.Unknown
	}
	defer d.Close()
	told := ""
	v.records(d, at.ref.Message, func(_, id string) {
		if told != "" {
			return
		}
		r, _ := v.read(d, session.Ref{Kind: session.KindPart, Message: at.ref.Message, Part: id})
		var members map[string]json.RawMessage
		if json.Unmarshal(r.Data, &members) == nil {
			told = member[string](members, "sessionID")
		}
	})
	if session.ValidateID(told) != nil {
		return session.Unknown
	}
	return told
}

// abandonedParts notes the parts of prompts that the answers name and that are
// not there: the agent never reads them.
func (v *view) abandonedParts(s *session.Session) {
	asked := map[string]bool{}
	for i := range s.Messages {
		asked[s.Messages[i].ID], asked[s.Messages[i].Ref.Message] = true, true
	}
	for i := range s.Messages {
		m := &s.Messages[i]
		id := m.Parent
		if asked[id] || session.ValidateID(id) != nil {
			continue
		}
		asked[id] = true
		ref := m.Ref
		ref.Message = id
		for _, r := range v.partsIn(ref) {
			if r.Kind == session.KindPart {
				v.note(v.shelfPath(ref)+"/"+id+"/"+r.Part+suffix, id, "its message is not there")
			}
		}
		v.abandonedFiles(ref)
	}
}
