package tree

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mend/agent/opencode/record"
	"mend/change"
)

// List returns the sessions of the store without their messages: those with a record, and
// those that only have messages. What is in the place of a session and is none is in the
// Stray of one more Session, the last one, whose ID is empty.
//
// The error says that the tree as a whole cannot be read, or that ctx ended.
func (s *Store) List(ctx context.Context) ([]change.Head, error) {
	tr, err := s.newReader(ctx)
	if err != nil {
		return nil, err
	}
	defer tr.close()
	known := map[string]bool{}
	heads := tr.withoutOthers(tr.sessionsWithRecord(known))
	heads = append(heads, tr.sessionsWithoutRecord(known)...)
	tr.addPlaces()
	tr.addFilesAmongProjects()
	if tr.failed() {
		return nil, fmt.Errorf("listing sessions: %w", tr.err)
	}
	slices.SortFunc(tr.stray, func(a, b change.Stray) int { return cmp.Compare(a.Path, b.Path) })
	if tr.stray = slices.Compact(tr.stray); len(tr.stray) > 0 { // two patterns may match one folder
		heads = append(heads, change.Head{Stray: tr.stray})
	}
	return heads, nil
}

// Folders lists the folders in which files change when a session begins, or one of heads changes.
func (s *Store) Folders(heads []change.Head) []string {
	all := map[string]bool{}
	for _, p := range s.layout.patterns {
		switch p.kind {
		case change.KindSession:
			s.addFolders(all, p, change.Head{})
		case change.KindMessage:
			for _, h := range append(heads, change.Head{}) {
				s.addFolders(all, p, h)
			}
		default:
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// addFolders adds the folders on the way to the records of a session, or to those of all projects.
func (s *Store) addFolders(all map[string]bool, p pattern, head change.Head) {
	paths := []string{s.ID().Root}
	for _, name := range append(p.names[:len(p.names)-1:len(p.names)-1], "") {
		for _, path := range paths {
			all[path] = true
		}
		ref := change.Ref{Project: head.Project, Session: head.ID}
		id := idField(name, &ref)
		if id != nil {
			name = *id
		}
		var next []string
		for _, path := range paths {
			switch {
			case name != "":
				next = append(next, filepath.Join(path, name))
			case id == &ref.Project && head.ID == "" && p.kind == change.KindSession:
				next = append(next, subfolders(path)...)
			}
		}
		paths = next
	}
}

// subfolders lists the folders in a folder. It passes over links.
func subfolders(path string) (all []string) {
	entries, _ := os.ReadDir(path)
	for _, e := range entries {
		if e.IsDir() {
			all = append(all, filepath.Join(path, e.Name()))
		}
	}
	return all
}

// sessionsWithRecord lists the sessions that have a record.
func (tr *treeReader) sessionsWithRecord(known map[string]bool) []change.Head {
	p, ok := tr.layout.pattern(change.KindSession, true)
	if !ok {
		return nil
	}
	var heads []change.Head
	for _, f := range tr.matchFolders(p.names[:len(p.names)-1], change.Ref{}, nil) {
		d := tr.open(f.path(), "")
		if d == nil {
			if name := f.names[len(f.names)-1]; !strings.Contains(name, ".") { // a name with a dot is not a project's
				tr.addPlace(f.path())
			}
			continue
		}
		tr.eachRecord(d, "", func(_, id string) {
			ref := change.Ref{Kind: change.KindSession, Project: f.ref.Project, Session: id}
			if err := change.ValidateSessionID(id); err != nil {
				tr.addStray(change.StrayOther, f.path()+"/"+id+suffix, "", err.Error())
				return
			}
			if r, ok := tr.readRecord(d, ref); ok {
				heads = append(heads, record.NewSession(r).Head)
				known[id] = true
			}
		})
		d.Close()
	}
	return heads
}

// withoutOthers keeps one record of each session, the one that the agent reads in the session's
// folder, or else the newest. All records of a session have the same messages, unless a layout
// stores these by project.
func (tr *treeReader) withoutOthers(heads []change.Head) []change.Head {
	if !tr.layout.opensAllFiles {
		return heads
	}
	records := map[string][]change.Head{}
	for _, h := range heads {
		records[h.ID] = append(records[h.ID], h)
	}
	if len(records) == len(heads) {
		return heads
	}
	var kept []change.Head
	for _, h := range heads {
		same := records[h.ID]
		delete(records, h.ID)
		if len(same) > 1 {
			h = tr.readInFolder(same)
		}
		for _, o := range same {
			if o.Ref != h.Ref {
				h.Others = append(h.Others, o.Ref)
			}
		}
		if len(same) > 0 {
			kept = append(kept, h)
		}
	}
	return kept
}

// readInFolder returns the record of a session that the agent reads in its folder, or else the
// newest.
func (tr *treeReader) readInFolder(same []change.Head) change.Head {
	of := map[string]change.Head{}
	for _, h := range same {
		of[h.Ref.Project] = h
	}
	for _, h := range same {
		if read, ok := of[tr.opt.ProjectOf(h.Directory)]; ok {
			return read
		}
	}
	return slices.MaxFunc(same, func(a, b change.Head) int { return cmp.Compare(a.Updated, b.Updated) })
}

// sessionsWithoutRecord lists the sessions that only have messages.
func (tr *treeReader) sessionsWithoutRecord(known map[string]bool) []change.Head {
	var heads []change.Head
	for _, p := range tr.layout.patterns {
		if p.kind != change.KindMessage {
			continue
		}
		// A session's own folder of messages is not a project with sessions in it.
		for _, f := range tr.matchFolders(p.names[:len(p.names)-1], change.Ref{}, known) {
			before := len(tr.stray)
			if !tr.hasRecords(f) && len(tr.stray) == before {
				continue
			}
			known[f.ref.Session] = true
			if err := change.ValidateSessionID(f.ref.Session); err != nil {
				tr.addStray(change.StrayOther, f.path(), "", err.Error())
				continue
			}
			heads = append(heads, change.Head{ID: f.ref.Session, Project: f.ref.Project})
			tr.stray = tr.stray[:before] // Load reports them
		}
	}
	return heads
}

func (tr *treeReader) hasRecords(f folder) bool {
	if tr.failed() {
		return false
	}
	d := tr.open(f.path(), "")
	if d == nil {
		return false
	}
	defer d.Close()
	found := false
	tr.eachRecord(d, "", func(string, string) { found = true })
	return found
}
