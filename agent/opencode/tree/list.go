package tree

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"mend/agent/opencode/record"
	"mend/change"
)

// List returns the sessions of the store without their messages: sessions with a record, and sessions that only have
// messages. Anything else in the place of a session is in the Stray of an additional last head without an ID.
//
// The error means that the tree as a whole cannot be read, or that ctx ended.
func (s *Store) List(ctx context.Context) ([]change.Head, error) {
	tr, err := s.newReader(ctx)
	if err != nil {
		return nil, err
	}
	defer tr.close()
	known := map[string]bool{}
	heads := tr.sessionsWithRecord(known)
	if len(heads) > len(known) {
		heads = newestRecords(heads)
	}
	if !tr.hasFailed() { // otherwise known lacks sessions
		heads = append(heads, tr.sessionsWithoutRecord(known)...)
		tr.addPlaces()
	}
	if tr.hasFailed() {
		return nil, fmt.Errorf("listing sessions: %w", tr.err)
	}
	slices.SortFunc(tr.stray, func(a, b change.Stray) int { return cmp.Compare(a.Path, b.Path) })
	if len(tr.stray) > 0 {
		heads = append(heads, change.Head{Stray: tr.stray})
	}
	return heads, nil
}

func (tr *treeReader) sessionsWithRecord(known map[string]bool) (heads []change.Head) {
	for _, project := range tr.ids("session") {
		at := "session/" + project
		// A file with a dot in its name is not in the place of a project.
		d := tr.openIn(tr.root, at, "", !strings.Contains(project, "."))
		if d == nil {
			continue
		}
		tr.eachRecord(d, func(id string) {
			if err := change.ValidateSessionID(id); err != nil {
				tr.addStray(change.StrayOther, at+"/"+id+suffix, "", err.Error())
				return
			}
			if r, ok := tr.readRecord(d, change.Ref{Kind: change.KindSession, Project: project, Session: id}); ok {
				heads = append(heads, record.NewSession(r).Head)
				known[id] = true
			}
		})
		d.Close()
	}
	return heads
}

// newestRecords keeps the newest record of each session. All records of a session have the same messages.
func newestRecords(heads []change.Head) (kept []change.Head) {
	records := map[string][]change.Head{}
	for _, h := range heads {
		records[h.ID] = append(records[h.ID], h)
	}
	for _, h := range heads {
		same := records[h.ID]
		if len(same) == 0 {
			continue
		}
		delete(records, h.ID)
		h = slices.MaxFunc(same, func(a, b change.Head) int { return cmp.Compare(a.Updated, b.Updated) })
		for _, o := range same {
			if o.Ref != h.Ref {
				h.Others = append(h.Others, o.Ref)
			}
		}
		kept = append(kept, h)
	}
	return kept
}

// sessionsWithoutRecord lists the sessions that only have messages.
func (tr *treeReader) sessionsWithoutRecord(known map[string]bool) (heads []change.Head) {
	for _, f := range tr.messageFolders(known) {
		id := f.ref.Session
		if known[id] || len(f.ids)+len(f.stray) == 0 {
			continue
		}
		known[id] = true
		if err := change.ValidateSessionID(id); err != nil {
			tr.addStray(change.StrayOther, f.path, "", err.Error())
			continue
		}
		heads = append(heads, change.Head{ID: id, Project: f.ref.Project}) // Load reports strays
	}
	return heads
}

// A messagesFolder is a folder that may contain the messages of a session.
type messagesFolder struct {
	path  string
	ref   change.Ref // ref of a message in it, without an id
	ids   []string   // ids of its messages
	stray []change.Stray
}

// messageFolders returns the folders below message, except for the sessions in skip. A folder without
// messages may contain such folders, too.
func (tr *treeReader) messageFolders(skip map[string]bool) []messagesFolder {
	all := tr.messageFoldersIn("message", change.Ref{Kind: change.KindMessage}, skip)
	for _, f := range all {
		unread := slices.ContainsFunc(f.stray, func(s change.Stray) bool { return s.Path == f.path })
		if len(f.ids) == 0 && !unread {
			all = append(all, tr.messageFoldersIn(f.path, change.Ref{Kind: change.KindMessage, Project: f.ref.Session}, skip)...)
		}
	}
	return all
}

func (tr *treeReader) messageFoldersIn(path string, ref change.Ref, skip map[string]bool) (all []messagesFolder) {
	for _, id := range tr.ids(path) {
		if skip[id] {
			continue
		}
		before := len(tr.stray)
		f := messagesFolder{path: path + "/" + id, ref: ref}
		f.ref.Session = id
		f.ids = tr.recordIDs(f.path)
		f.stray = slices.Clone(tr.stray[before:])
		tr.stray = tr.stray[:before]
		all = append(all, f)
	}
	return all
}
