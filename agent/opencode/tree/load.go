package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/safedir"
)

// Load returns a session with its messages and parts, in the agent's order, and the stamp of its records when they
// were read. It uses the ID of head, and the project if several sessions have that ID. Records that it cannot decode
// have a Defect; files that are not records are in Stray.
//
// The error wraps errNoSession, or means that the tree as a whole cannot be read, or that ctx ended.
func (s *Store) Load(ctx context.Context, head change.Head) (*record.Session, change.Stamp, error) {
	return s.load(ctx, head, false)
}

// LoadRaw is Load without decoding the records, which are in the order of their names.
func (s *Store) LoadRaw(ctx context.Context, head change.Head) (*record.Session, change.Stamp, error) {
	return s.load(ctx, head, true)
}

func (s *Store) load(ctx context.Context, head change.Head, raw bool) (*record.Session, change.Stamp, error) {
	tr, err := s.newReader(ctx)
	if err != nil {
		return nil, change.Stamp{}, err
	}
	defer tr.close()
	tr.stamp, tr.budget, tr.loads, tr.raw = newStampHasher(), s.opt.MaxSession, true, raw
	loaded, err := tr.readSession(head, tr.readMessages)
	if err != nil {
		return nil, change.Stamp{}, err
	}
	loaded.Stray = tr.stray
	if !raw {
		loaded.Sort()
	}
	return &loaded, tr.sum(), nil
}

// Stamp computes the stamp of all records that [Store.Load] reads, without reading them. It ignores the part folders
// of missing messages. It returns the zero stamp if a record is invalid, or if the system has no inodes. Errors are as
// for Load.
func (s *Store) Stamp(ctx context.Context, head change.Head) (change.Stamp, error) {
	tr, err := s.newReader(ctx)
	if err != nil {
		return change.Stamp{}, err
	}
	defer tr.close()
	tr.stamp, tr.statOnly = newStampHasher(), true
	_, err = tr.readSession(head, func(_ *record.Session, f *openFolder) {
		tr.eachMessage(f, func(ref change.Ref, name string) {
			if tr.statRecord(f.dir, ref, name) {
				parts := partRef(ref)
				tr.eachPart(parts, func(d *safedir.Dir, name, _ string) { tr.statRecord(d, parts, name) })
			}
		})
	})
	if err != nil {
		return change.Stamp{}, err
	}
	return tr.sum(), nil
}

// readSession reads a session's own record, and calls messages with the folder of its messages if it exists. Errors
// are as for [Store.Load].
func (tr *treeReader) readSession(head change.Head, messages func(*record.Session, *openFolder)) (record.Session,
	error,
) {
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
	tr.addPlaces()
	if tr.hasFailed() {
		return record.Session{}, fmt.Errorf("loading session %s: %w", head.ID, tr.err)
	}
	if !ok && folder == nil && len(tr.stray) == 0 {
		return record.Session{}, fmt.Errorf("%w: %s", errNoSession, head.ID)
	}
	return bare, nil
}

// readInfo reads the session's own record, and reports whether it exists.
func (tr *treeReader) readInfo(head change.Head) (record.Session, bool) {
	bare := record.Session{Head: change.Head{ID: head.ID, Project: head.Project}}
	before := tr.stray
	projects := []string{head.Ref.Project}
	if projects[0] == "" {
		projects = tr.ids("session")
	}
	sure := len(tr.stray) == len(before) // otherwise the agent may read it through an entry such as a link
	tr.stray = before                    // List reports these: they are not the session's
	for _, project := range projects {
		path := "session/" + project
		d, err := tr.root.Sub(path)
		if err != nil {
			if sure {
				tr.openPlace(path)
			}
			sure = false
			continue
		}
		r, ok := tr.readRecord(d, change.Ref{Kind: change.KindSession, Project: project, Session: head.ID})
		d.Close()
		if ok {
			bare = record.NewSession(r)
			tr.readProject(&bare)
			bare.Newer = tr.otherProject(&bare)
			return bare, true
		}
	}
	bare.InfoMissing = sure && len(tr.stray) == 0
	return bare, false
}

// otherProject returns the project that the agent uses for the session's folder, if the session has no record there;
// else "". When the agent first uses a folder as a project, it moves sessions from the project global itself.
func (tr *treeReader) otherProject(s *record.Session) string {
	ref := s.Info.Ref
	project := tr.opt.ProjectOf(s.Directory)
	if project == "" || project == ref.Project {
		return ""
	}
	if ref.Project == record.GlobalProject && !tr.hasProject(project) {
		return ""
	}
	ref.Project = project
	at, _, err := layout{}.Path(ref)
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

func (tr *treeReader) hasProject(project string) bool {
	d, err := tr.root.Sub("project")
	if err != nil {
		return false
	}
	defer d.Close()
	e, err := d.Stat(project + suffix)
	return err == nil && e.Exists
}

// readProject reads the record of the session's project. It does not report a symbolic link or a file that is too
// large, because only the agent reads their content.
func (tr *treeReader) readProject(s *record.Session) {
	r := change.Record{Ref: change.Ref{Kind: change.KindProject, Project: s.Info.Ref.Project}}
	at, _, err := layout{}.Path(r.Ref)
	if err != nil {
		return
	}
	d, err := tr.root.Sub(path.Dir(at))
	if err != nil {
		return // the agent creates it
	}
	defer d.Close()
	name := path.Base(at)
	if !tr.fillRecord(&r, d, name) {
		return
	}
	if e, err := d.Stat(name); r.Unreadable() && err == nil &&
		(e.IsFile() && e.Mode.Perm()&0o400 != 0 || e.Mode&fs.ModeSymlink != 0) {
		return
	}
	s.ProjectRow = r
}

// readDiff reads the session's file changes if the reader does not decode records. Otherwise it only adds them to the
// stamp.
func (tr *treeReader) readDiff(s *record.Session) {
	r := change.Record{Ref: change.Ref{Kind: change.KindFile, Project: diffs, Session: s.ID}}
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
		_, _ = tr.stat(d, name) // the stamp includes an error
	case tr.fillRecord(&r, d, name):
		s.Diff = r
	}
}

// An openFolder is an open folder with a session's messages.
type openFolder struct {
	ref change.Ref // ref of its messages, without an id
	dir *safedir.Dir
}

// messageFolder opens the folder with the session's messages; nil if it does not exist.
func (tr *treeReader) messageFolder(s *record.Session, head change.Head) *openFolder {
	for ref := range tr.messageRefs(s.ID, cmp.Or(s.Info.Ref.Project, head.Project)) {
		before := len(tr.stray)
		if d := tr.openIn(tr.root, strings.Join(messageFolder(ref), "/"), "", true); d != nil {
			return &openFolder{ref, d}
		}
		if len(tr.stray) > before {
			return nil // it exists, but cannot be read
		}
	}
	return nil
}

// messageRefs yields a ref for each folder that may have the messages of a session: first the folder directly below the
// folder message, then the one inside the folder of the session's project, then those inside other folders.
func (tr *treeReader) messageRefs(session, project string) iter.Seq[change.Ref] {
	return func(yield func(change.Ref) bool) {
		ref := change.Ref{Kind: change.KindMessage, Session: session}
		if !yield(ref) {
			return
		}
		if ref.Project = project; project != "" && !yield(ref) {
			return
		}
		before := tr.stray
		all := tr.ids("message")
		tr.stray = before // List reports these: they are not the session's
		for _, ref.Project = range all {
			if !yield(ref) {
				return
			}
		}
	}
}

// readMessages reads the messages in the folder, each with its parts.
func (tr *treeReader) readMessages(s *record.Session, f *openFolder) {
	tr.eachMessage(f, func(ref change.Ref, name string) {
		r := change.Record{Ref: ref}
		if !tr.fillRecord(&r, f.dir, name) {
			return
		}
		m := record.Message{Record: r, ID: ref.Message}
		if !tr.raw {
			m = record.NewMessage(r)
		}
		m.Parts = tr.readParts(ref)
		s.Messages = append(s.Messages, m)
	})
}

// eachMessage calls visit for each message in the folder, with its ref and the name of its record.
func (tr *treeReader) eachMessage(f *openFolder, visit func(message change.Ref, name string)) {
	if tr.partsDir = tr.openIn(tr.root, "part", "", true); tr.partsDir != nil {
		defer tr.partsDir.Close()
	}
	ref := f.ref
	tr.eachRecordAndFile(f.dir, "", func(name, id string) {
		if ref.Message = id; !tr.hasFailed() {
			visit(ref, name)
		}
	})
}

// partRef returns a ref for the parts of a message, without an id.
func partRef(message change.Ref) change.Ref {
	return change.Ref{Kind: change.KindPart, Session: message.Session, Message: message.Message}
}

// messageOfPart returns the message of a part, "" for another record.
func messageOfPart(r change.Ref) string {
	if r.Kind == change.KindPart {
		return r.Message
	}
	return ""
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

func (tr *treeReader) readParts(message change.Ref) []record.Part {
	ref, parts := partRef(message), tr.parts[:0]
	tr.eachPart(ref, func(d *safedir.Dir, name, id string) {
		ref.Part = id
		r := change.Record{Ref: ref}
		switch {
		case !tr.fillRecord(&r, d, name):
		case tr.raw:
			parts = append(parts, record.Part{Record: r, ID: id})
		default:
			parts = append(parts, record.NewPart(r))
		}
	})
	tr.parts = parts
	return slices.Clone(parts) // without spare capacity
}

// eachPart calls yield for the record of each part of a message. ref is the ref of the parts, without an id.
func (tr *treeReader) eachPart(ref change.Ref, yield func(d *safedir.Dir, name, id string)) {
	if tr.partsDir == nil {
		return
	}
	if d := tr.openIn(tr.partsDir, ref.Message, ref.Message, true); d != nil {
		defer d.Close()
		tr.eachRecordAndFile(d, ref.Message, func(name, id string) { yield(d, name, id) })
	}
}
