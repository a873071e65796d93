package fsstore

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"sync/atomic"

	"mend/internal/safedir"
	"mend/session"
)

// Load returns a session with its messages and parts, all of them read anew, in
// the order in which the agent reads them. Of head the ID counts, and the project
// where several sessions have that ID. What cannot be understood is in the
// Defects of the records and in Stray.
//
// The error wraps [ErrNoSession], or says that the tree as a whole cannot be
// read, or that ctx ended.
func (s *Store) Load(ctx context.Context, head session.Session) (*session.Session, error) {
	loaded, _, err := s.LoadStamped(ctx, head)
	return loaded, err
}

// LoadStamped is Load, with the stamp that the records had when they were read.
func (s *Store) LoadStamped(ctx context.Context, head session.Session) (*session.Session, session.Stamp, error) {
	if head.ID == "" && len(head.Stray) > 0 {
		return &head, session.Stamp{}, nil
	}
	return s.load(ctx, head)
}

// Stamp looks at everything that [Store.Load] reads of a session, and reads none
// of it. Not looked at are the folders that an answer names and no message has.
// The stamp is the zero one where something is not as it should be, or where the
// system has no inodes. Errors as of Load.
func (s *Store) Stamp(ctx context.Context, head session.Session) (session.Stamp, error) {
	v, err := s.view(ctx)
	if err != nil {
		return session.Stamp{}, err
	}
	defer v.close()
	v.seen, v.blind = &tally{}, true
	_, err = v.session(head, func(_ *session.Session, at *openSpot) {
		v.eachMessage(at.message(head.ID), v.messagesIn(at, head.ID), func(w *view, ref session.Ref, name string, _ int) {
			if w.see(at.d, ref, name) {
				w.seeParts(ref)
			}
		})
	})
	if err != nil {
		return session.Stamp{}, err
	}
	return v.stamp(), nil
}

func (s *Store) load(ctx context.Context, head session.Session) (*session.Session, session.Stamp, error) {
	v, err := s.view(ctx)
	if err != nil {
		return nil, session.Stamp{}, err
	}
	defer v.close()
	v.seen, v.left = &tally{}, new(atomic.Int64)
	v.left.Store(s.opt.MaxSession)
	loaded, err := v.session(head, func(s *session.Session, at *openSpot) {
		v.messages(s, at)
		v.abandonedParts(s)
	})
	if err != nil {
		return nil, session.Stamp{}, err
	}
	loaded.Stray, loaded.Files = v.stray, v.files
	loaded.Sort()
	return &loaded, v.stamp(), nil
}

// session reads a session's own record, and calls messages with the folder of its
// messages if there is one. Errors as of [Store.Load].
func (v *view) session(head session.Session, messages func(*session.Session, *openSpot)) (session.Session, error) {
	if err := session.ValidateID(head.ID); err != nil {
		return head, fmt.Errorf("%w: %w", ErrNoSession, err)
	}
	bare, ok := v.info(head)
	folder := v.messageFolder(&bare, head)
	if folder != nil {
		defer folder.d.Close()
		messages(&bare, folder)
	}
	if v.failed() {
		return head, fmt.Errorf("loading session %s: %w", head.ID, v.err)
	}
	if !ok && folder == nil && !v.foundMore() {
		return head, fmt.Errorf("%w: %s", ErrNoSession, head.ID)
	}
	return bare, nil
}

// info reads the session's own record, and reports whether there is one.
func (v *view) info(head session.Session) (session.Session, bool) {
	bare := session.Session{ID: head.ID, Project: head.Project}
	p, ok := v.layout.pattern(session.KindSession, true)
	if !ok {
		return bare, false
	}
	want := session.Ref{Kind: session.KindSession, Project: head.Info.Ref.Project, Session: head.ID}
	for _, at := range v.lookFor(p, want) {
		d, err := v.root.Sub(at.path())
		if err != nil {
			continue // List tells of it: it is not this session's alone
		}
		want.Project = at.ref.Project
		r, ok := v.read(d, want)
		d.Close()
		if ok {
			bare = headOf(r)
			v.project(&bare)
			return bare, true
		}
	}
	return bare, false
}

// project reads the record of the project that the session's record is filed under.
// Of a symbolic link, and of a file that is too large, only the agent knows what is in
// it: neither is reported.
func (v *view) project(s *session.Session) {
	r := session.Record{Ref: session.Ref{Kind: session.KindProject, Project: s.Info.Ref.Project}}
	at, _, err := v.layout.path(r.Ref)
	if err != nil {
		return
	}
	d, err := v.root.Sub(path.Dir(at))
	if err != nil {
		return // the agent makes it, or List reports what is in its place
	}
	defer d.Close()
	name := path.Base(at)
	if !v.readInto(&r, d, name) {
		return
	}
	if t, err := d.Stat(name); r.Unreadable() && err == nil && (t.IsFile() && t.Mode.Perm()&0o400 != 0 || t.Mode&fs.ModeSymlink != 0) {
		return
	}
	s.ProjectRow = r
}

// lookFor lists the folders in which a record of one session may be. What is
// stray on the way there is not this session's: List tells of it.
func (v *view) lookFor(p pattern, want session.Ref) []spot {
	quiet := view{Store: v.Store, ctx: v.ctx, root: v.root, left: v.left, buf: v.buf}
	spots := quiet.expand(p.names[:len(p.names)-1], want, nil)
	if v.err == nil {
		v.err = quiet.err
	}
	return spots
}

// An openSpot is a spot whose folder is open.
type openSpot struct {
	spot
	d *safedir.Dir
}

// message is a ref for the messages of a session that are in the folder.
func (s *openSpot) message(id string) session.Ref {
	return session.Ref{Kind: session.KindMessage, Project: s.ref.Project, Session: id}
}

// messageFolder opens the folder with the session's messages, nil if there is
// none: the first that the patterns lead to, as the agent does, but the one of
// the session's own project before another.
func (v *view) messageFolder(s *session.Session, head session.Session) *openSpot {
	project := cmp.Or(s.Info.Ref.Project, head.Project)
	for _, p := range v.layout.patterns {
		if p.kind != session.KindMessage {
			continue
		}
		spots := v.lookFor(p, session.Ref{Session: s.ID, Project: project})
		if project != "" && slices.Contains(p.names, "{project}") {
			spots = append(spots, v.lookFor(p, session.Ref{Session: s.ID})...)
		}
		for _, at := range spots {
			told := len(v.stray)
			if d := v.open(at.path(), ""); d != nil {
				return &openSpot{at, d}
			}
			if len(v.stray) > told {
				return nil // it is there, and cannot be read
			}
			v.inPlaceOf(at.path(), session.Ref{Project: at.ref.Project, Session: s.ID})
		}
	}
	return nil
}

// messages reads the messages in the folder, each with its parts.
func (v *view) messages(s *session.Session, at *openSpot) {
	names := v.messagesIn(at, s.ID)
	found := make([]session.Message, len(names))
	v.eachMessage(at.message(s.ID), names, func(w *view, ref session.Ref, name string, i int) {
		r := session.Record{Ref: ref}
		if !w.readInto(&r, at.d, name) {
			return
		}
		m := session.NewMessage(r)
		for p := range w.parts(ref) {
			m.Parts = append(m.Parts, session.NewPart(*p))
		}
		found[i] = m
	})
	s.Messages = slices.DeleteFunc(found, func(m session.Message) bool { return m.Ref.Kind == 0 })
}

// messagesIn are the names of the messages' records in the folder of a session.
func (v *view) messagesIn(at *openSpot, id string) (names []string) {
	v.recordsAndMore(at.d, folderOf(at.message(id)), func(name, _ string) { names = append(names, name) })
	return names
}

// partRef is a ref for the parts of a message.
func (v *view) partRef(message session.Ref) session.Ref {
	message.Kind = session.KindPart
	if !slices.Contains(v.layout.parts().names, "{project}") {
		message.Project = ""
	}
	return message
}

// openShelf opens the folder that has the folders of the parts of a session's
// messages in it, nil where that fails: the reason is told of each of those.
func (v *view) openShelf(message session.Ref) *safedir.Dir {
	d, err := v.root.Sub(v.shelfPath(message))
	if err != nil {
		return nil
	}
	return d
}

// openParts opens the folder of a message's parts, as open does.
func (v *view) openParts(message session.Ref) *safedir.Dir {
	if v.shelf != nil {
		return v.openIn(v.shelf, message.Message, message.Message)
	}
	return v.open(v.shelfPath(message)+"/"+message.Message, message.Message)
}

// see looks at a record for its stamp, and reports whether there is one.
func (v *view) see(d *safedir.Dir, ref session.Ref, name string) bool {
	t, err := v.look(d, name)
	switch {
	case err == nil && v.seesNoRecord(ref, &t):
		v.otherThing(besides{d, folderOf(ref)}, d, name, &t, nil)
		return false
	case err == nil:
		return t.Exists
	}
	_, hidden := safedir.ReadFailure(err)
	if !hidden {
		v.err = err
	}
	return hidden
}

// seeParts looks at what parts reads.
func (v *view) seeParts(message session.Ref) {
	ref := v.partRef(message)
	d := v.openParts(ref)
	if d == nil {
		v.inPlaceOf(v.shelfPath(ref)+"/"+ref.Message, folderOf(ref))
		return
	}
	defer d.Close()
	v.recordsAndMore(d, folderOf(ref), func(name, _ string) { v.see(d, ref, name) })
}

// parts reads the parts of a message. A record is there until the next one is
// asked for, unless the view's buffer keeps them.
func (v *view) parts(message session.Ref) iter.Seq[*session.Record] {
	return func(yield func(*session.Record) bool) {
		ref := v.partRef(message)
		d := v.openParts(ref)
		if d == nil {
			v.inPlaceOf(v.shelfPath(ref)+"/"+ref.Message, folderOf(ref))
			return
		}
		defer d.Close()
		more := true
		var r session.Record
		v.recordsAndMore(d, folderOf(ref), func(name, id string) {
			if !more {
				return
			}
			ref.Part = id
			r = session.Record{Ref: ref}
			if v.readInto(&r, d, name) {
				more = yield(&r)
			}
		})
	}
}
