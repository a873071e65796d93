package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync/atomic"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/safedir"
)

// Load returns a session with its messages and parts, in the order in which the agent
// reads them, and the stamp that its records had when they were read. It uses the ID of head,
// and the project if several sessions have that ID. Records that it cannot decode have a
// Defect; files that are not records are in Stray.
//
// The error wraps errNoSession, or says that the tree as a whole cannot be read, or that
// ctx ended.
func (s *Store) Load(ctx context.Context, head change.Head) (*record.Session, change.Stamp, error) {
	tr, err := s.newReader(ctx)
	if err != nil {
		return nil, change.Stamp{}, err
	}
	defer tr.close()
	tr.stamp, tr.budget = &stampHasher{}, new(atomic.Int64)
	tr.budget.Store(s.opt.MaxSession)
	loaded, err := tr.readSession(head, func(s *record.Session, f *openFolder) {
		tr.readMessages(s, f)
		tr.addAbandonedParts(s)
	})
	if err != nil {
		return nil, change.Stamp{}, err
	}
	loaded.Stray = tr.stray
	loaded.Sort()
	return &loaded, tr.sum(), nil
}

// Stamp computes the stamp of all records that [Store.Load] reads, without reading them.
// It ignores the part folders of messages that do not exist. It returns the zero stamp if
// something is not a valid record, or if the system has no inodes. The errors are those of Load.
func (s *Store) Stamp(ctx context.Context, head change.Head) (change.Stamp, error) {
	tr, err := s.newReader(ctx)
	if err != nil {
		return change.Stamp{}, err
	}
	defer tr.close()
	tr.stamp, tr.statOnly = &stampHasher{}, true
	_, err = tr.readSession(head, func(_ *record.Session, f *openFolder) {
		tr.eachMessage(f.messageRef(head.ID), tr.messageNames(f), func(w *treeReader, ref change.Ref, name string, _ int) {
			if w.statRecord(f.dir, ref, name) {
				w.statParts(ref)
			}
		})
	})
	if err != nil {
		return change.Stamp{}, err
	}
	return tr.sum(), nil
}

// readSession reads a session's own record, and calls messages with the folder of its
// messages if there is one. The errors are those
// of [Store.Load].
func (tr *treeReader) readSession(head change.Head, messages func(*record.Session, *openFolder)) (record.Session, error) {
	if err := change.ValidateID(head.ID); err != nil {
		return record.Session{}, fmt.Errorf("%w: %w", errNoSession, err)
	}
	bare, ok := tr.readInfo(head)
	tr.readDiff(&bare)
	folder := tr.messageFolder(&bare, head)
	if folder != nil {
		defer folder.dir.Close()
		messages(&bare, folder)
	}
	if !ok || folder == nil || tr.unopened {
		tr.addPlacesOnce()
	}
	if tr.failed() {
		return record.Session{}, fmt.Errorf("loading session %s: %w", head.ID, tr.err)
	}
	if !ok && folder == nil && !tr.foundNonRecords() {
		return record.Session{}, fmt.Errorf("%w: %s", errNoSession, head.ID)
	}
	return bare, nil
}

// readInfo reads the session's own record, and reports whether it exists.
func (tr *treeReader) readInfo(head change.Head) (record.Session, bool) {
	bare := record.Session{Head: change.Head{ID: head.ID, Project: head.Project}}
	p, ok := tr.layout.pattern(change.KindSession, true)
	if !ok {
		return bare, false
	}
	want := change.Ref{Kind: change.KindSession, Project: head.Ref.Project, Session: head.ID}
	folders, sure := tr.candidateFoldersSurely(p, want)
	unopened := ""
	for _, f := range folders {
		d, err := tr.root.Sub(f.path())
		if err != nil {
			sure = false
			unopened = cmp.Or(unopened, f.path())
			continue
		}
		want.Project = f.ref.Project
		r, ok := tr.readRecord(d, want)
		d.Close()
		if ok {
			bare = record.NewSession(r)
			bare.Others = head.Others
			tr.readProject(&bare)
			bare.Newer = tr.otherProject(&bare)
			return bare, true
		}
	}
	if unopened != "" { // the record may have been there
		tr.addPlace(unopened)
	}
	tr.unopened = tr.unopened || !sure
	// The agent may read what is in the place of a folder or of a record, such as a link.
	bare.InfoMissing = tr.layout.name == "opencode" && sure && !tr.foundNonRecords()
	return bare, false
}

// otherProject returns the project as which the agent uses the session's folder, if the
// session has no record there; else "". When the agent first uses a folder as a project, it moves
// sessions from the project global itself.
func (tr *treeReader) otherProject(s *record.Session) string {
	ref := s.Info.Ref
	project := tr.opt.ProjectOf(s.Directory)
	if !tr.layout.opensAllFiles || project == "" || project == ref.Project {
		return ""
	}
	if ref.Project == record.GlobalProject && !tr.hasProject(project) {
		return ""
	}
	ref.Project = project
	at, _, err := tr.layout.Path(ref)
	if err != nil {
		return ""
	}
	d, err := tr.root.Sub(path.Dir(at))
	if errors.Is(err, fs.ErrNotExist) {
		return project
	}
	if err != nil {
		return ""
	}
	defer d.Close()
	if e, err := d.Stat(path.Base(at)); err != nil || e.Exists {
		return ""
	}
	return project
}

// hasProject reports whether the project has a record.
func (tr *treeReader) hasProject(project string) bool {
	d, err := tr.root.Sub("project")
	if err != nil {
		return false
	}
	defer d.Close()
	e, err := d.Stat(project + suffix)
	return err == nil && e.Exists
}

// readProject reads the record of the session's project. The content of a symbolic link,
// and of a file that is too large, is known only to the agent: neither is reported.
func (tr *treeReader) readProject(s *record.Session) {
	r := change.Record{Ref: change.Ref{Kind: change.KindProject, Project: s.Info.Ref.Project}}
	at, _, err := tr.layout.Path(r.Ref)
	if err != nil {
		return
	}
	d, err := tr.root.Sub(path.Dir(at))
	if err != nil {
		tr.unopened = tr.unopened || !errors.Is(err, fs.ErrNotExist)
		return // the agent creates it
	}
	defer d.Close()
	name := path.Base(at)
	if !tr.readInto(&r, d, name) {
		return
	}
	if e, err := d.Stat(name); r.Unreadable() && err == nil && (e.IsFile() && e.Mode.Perm()&0o400 != 0 || e.Mode&fs.ModeSymlink != 0) {
		return
	}
	s.ProjectRow = r
}

// readDiff reads what the session has changed of files, if records are not decoded. Else it only looks at it.
func (tr *treeReader) readDiff(s *record.Session) {
	if !tr.layout.opensAllFiles {
		return
	}
	r := change.Record{Ref: diffRef(s.ID)}
	d, err := tr.root.Sub(diffs)
	if err != nil {
		if why, ok := safedir.ReadFailure(err); ok && tr.raw {
			r.Defect = &change.Defect{Kind: change.Unreadable, Why: why}
			s.Diff = r
		}
		return
	}
	defer d.Close()
	switch name := s.ID + suffix; {
	case !tr.raw:
		_, _ = tr.stat(d, name) // an error is in the stamp
	case tr.readInto(&r, d, name):
		s.Diff = r
	}
}

// candidateFolders returns the folders in which a record of one session may be. Stray
// files on the way there do not belong to this session: List reports them.
func (tr *treeReader) candidateFolders(p pattern, want change.Ref) []folder {
	folders, _ := tr.candidateFoldersSurely(p, want)
	return folders
}

// candidateFoldersSurely also reports whether there are no stray files on the way, which may
// be folders for the agent.
func (tr *treeReader) candidateFoldersSurely(p pattern, want change.Ref) ([]folder, bool) {
	quiet := treeReader{Store: tr.Store, ctx: tr.ctx, root: tr.root, budget: tr.budget, buf: tr.buf}
	folders := quiet.matchFolders(p.names[:len(p.names)-1], want, nil)
	if tr.err == nil {
		tr.err = quiet.err
	}
	return folders, len(quiet.stray) == 0
}

// An openFolder is a folder that is open.
type openFolder struct {
	folder
	dir *safedir.Dir
}

// messageRef returns a ref for the messages of a session in the folder, without an id.
func (f *openFolder) messageRef(id string) change.Ref {
	return change.Ref{Kind: change.KindMessage, Project: f.ref.Project, Session: id}
}

// messageFolder opens the folder with the session's messages; nil if there is none. Like
// the agent it takes the first that matches a pattern, but prefers the one of the
// session's own project.
func (tr *treeReader) messageFolder(s *record.Session, head change.Head) *openFolder {
	project := cmp.Or(s.Info.Ref.Project, head.Project)
	for _, p := range tr.layout.patterns {
		if p.kind != change.KindMessage {
			continue
		}
		folders := tr.candidateFolders(p, change.Ref{Session: s.ID, Project: project})
		if project != "" && slices.Contains(p.names, "{project}") {
			folders = append(folders, tr.candidateFolders(p, change.Ref{Session: s.ID})...)
		}
		for _, f := range folders {
			before := len(tr.stray)
			if d := tr.open(f.path(), ""); d != nil {
				return &openFolder{f, d}
			}
			if len(tr.stray) > before {
				return nil // it exists, and cannot be read
			}
			tr.addFileInPlace(f.path(), "")
		}
	}
	return nil
}

// readMessages reads the messages in the folder, each with its parts.
func (tr *treeReader) readMessages(s *record.Session, f *openFolder) {
	names := tr.messageNames(f)
	names = names[min(tr.skip, len(names)):]
	found := make([]record.Message, len(names))
	tr.eachMessage(f.messageRef(s.ID), names, func(w *treeReader, ref change.Ref, name string, i int) {
		r := change.Record{Ref: ref}
		if !w.readInto(&r, f.dir, name) {
			return
		}
		m := record.Message{Record: r, ID: ref.Message}
		if !w.raw {
			m = record.NewMessage(r)
		}
		m.Parts = w.readParts(ref)
		found[i] = m
	})
	s.Messages = slices.DeleteFunc(found, func(m record.Message) bool { return m.Ref.Kind == 0 })
}

// messageNames returns the names of the messages' records in the folder of a session.
func (tr *treeReader) messageNames(f *openFolder) (names []string) {
	tr.eachRecordAndFile(f.dir, "", func(name, _ string) { names = append(names, name) })
	return names
}

// partRef returns a ref for the parts of a message, without an id.
func (tr *treeReader) partRef(message change.Ref) change.Ref {
	message.Kind = change.KindPart
	if !slices.Contains(tr.layout.partPattern().names, "{project}") {
		message.Project = ""
	}
	return message
}

// openPartsRoot opens the folder that contains the part folders of a session's messages;
// nil if that fails.
func (tr *treeReader) openPartsRoot(message change.Ref) *safedir.Dir {
	d, err := tr.root.Sub(tr.partsRootPath(message))
	if err != nil {
		tr.unopened = tr.unopened || !errors.Is(err, fs.ErrNotExist)
		return nil
	}
	return d
}

// messageOfPart returns the message of a part, "" for another record.
func messageOfPart(r change.Ref) string {
	if r.Kind == change.KindPart {
		return r.Message
	}
	return ""
}

// openParts opens the folder of a message's parts, see open.
func (tr *treeReader) openParts(message change.Ref) *safedir.Dir {
	if tr.partsDir != nil {
		return tr.openIn(tr.partsDir, message.Message, message.Message)
	}
	return tr.open(tr.partsRootPath(message)+"/"+message.Message, message.Message)
}

// statRecord adds a record to the stamp, and reports whether it exists.
func (tr *treeReader) statRecord(d *safedir.Dir, ref change.Ref, name string) bool {
	e, err := tr.readEntry(d, name)
	switch {
	case err == nil && tr.ignoredByAgent(ref, &e):
		tr.addOther(d, name, messageOfPart(ref))
		return false
	case err == nil:
		return e.Exists
	}
	_, hidden := safedir.ReadFailure(err)
	if !hidden {
		tr.err = err
	}
	return hidden
}

// statParts adds the parts of a message to the stamp.
func (tr *treeReader) statParts(message change.Ref) {
	ref := tr.partRef(message)
	tr.eachPart(ref, func(d *safedir.Dir, name, _ string) { tr.statRecord(d, ref, name) })
}

// readParts reads the parts of a message.
func (tr *treeReader) readParts(message change.Ref) []record.Part {
	ref, parts := tr.partRef(message), tr.parts[:0]
	tr.eachPart(ref, func(d *safedir.Dir, name, id string) {
		ref.Part = id
		r := change.Record{Ref: ref}
		switch {
		case !tr.readInto(&r, d, name):
		case tr.raw:
			parts = append(parts, record.Part{Record: r, ID: id})
		default:
			parts = append(parts, record.NewPart(r))
		}
	})
	tr.parts = parts
	return slices.Clone(parts) // without spare capacity
}

// eachPart calls yield for the record of each part of a message. ref is theirs, without an id.
func (tr *treeReader) eachPart(ref change.Ref, yield func(d *safedir.Dir, name, id string)) {
	d := tr.openParts(ref)
	if d == nil {
		tr.addFileInPlace(tr.partsRootPath(ref)+"/"+ref.Message, ref.Message)
		return
	}
	defer d.Close()
	tr.eachRecordAndFile(d, ref.Message, func(name, id string) { yield(d, name, id) })
}
