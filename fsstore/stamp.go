package fsstore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"mend/session"
)

// Stamp looks at everything that [Store.Load] reads of a session, and reads none
// of it. Not looked at are the folders that an answer names and no message has.
// The stamp is the zero one where something is not as it should be, or where the
// system has no inodes. The error says that the tree as a whole cannot be read,
// or that ctx ended.
func (s *Store) Stamp(ctx context.Context, head session.Session) (session.Stamp, error) {
	if session.ValidateID(head.ID) != nil {
		return session.Stamp{}, nil
	}
	v, err := s.view(ctx)
	if err != nil {
		return session.Stamp{}, err
	}
	defer v.root.close()
	t := tally{sound: true}
	found := session.Session{ID: head.ID}
	found.Info.Ref.Project = v.tallyInfo(head, &t)
	if folder := v.messageFolder(&found, head); folder != nil {
		defer folder.d.close()
		v.tallyMessages(folder, head.ID, &t)
	}
	if v.failed() {
		return session.Stamp{}, fmt.Errorf("looking at session %s: %w", head.ID, v.err)
	}
	if !t.sound || len(v.stray) > 0 {
		return session.Stamp{}, nil
	}
	return session.Stamp{Sum: sha256.Sum256(t.seen), Newest: time.Unix(0, t.newest)}, nil
}

// A tally is what a stamp is made of.
type tally struct {
	seen   []byte // of every thing its name and what the system tells of it
	newest int64
	sound  bool
}

// add notes a thing.
func (t *tally) add(name string, it *thing) {
	t.sound = t.sound && it.there && it.ino != 0
	t.newest = max(t.newest, it.mtime, it.ctime)
	t.seen = append(append(t.seen, name...), 0)
	for _, n := range [...]uint64{it.dev, it.ino, uint64(it.size), uint64(it.mtime), uint64(it.ctime), uint64(it.mode)} {
		t.seen = binary.LittleEndian.AppendUint64(t.seen, n)
	}
}

// join notes what another tally has.
func (t *tally) join(o *tally) {
	t.sound = t.sound && o.sound
	t.newest = max(t.newest, o.newest)
	t.seen = append(binary.LittleEndian.AppendUint64(t.seen, uint64(len(o.seen))), o.seen...)
}

// tallyInfo looks at the session's own record, and returns the project that its
// path names.
func (v *view) tallyInfo(head session.Session, t *tally) (project string) {
	p, ok := v.layout.pattern(session.KindSession, true)
	if !ok {
		return ""
	}
	want := session.Ref{Kind: session.KindSession, Project: head.Info.Ref.Project, Session: head.ID}
	for _, at := range v.lookFor(p, want) {
		d, err := v.root.sub(at.path())
		if err != nil {
			continue // as Load does
		}
		it, err := d.stat(head.ID + suffix)
		d.close()
		if err != nil {
			t.sound = false
		}
		if it.there {
			t.add(at.path(), &it)
			return at.ref.Project
		}
	}
	return ""
}

// tallyMessages looks at the messages in a folder, and at their parts.
func (v *view) tallyMessages(at *openSpot, id string, t *tally) {
	names := v.tallyFolder(at.d, "", t)
	p, _ := v.layout.pattern(session.KindPart, at.ref.Project != "")
	own := make([]tally, len(names))
	views := make([]view, len(names))
	each(len(names), func(i int) {
		own[i].sound, views[i] = true, view{Store: v.Store, ctx: v.ctx, root: v.root}
		message, isRecord := strings.CutSuffix(names[i], suffix)
		if !isRecord || views[i].failed() {
			return
		}
		ref := session.Ref{Kind: session.KindPart, Session: id, Message: message}
		if slices.Contains(p.names, "{project}") {
			ref.Project = at.ref.Project
		}
		if d := views[i].open((spot{names: fill(p.names[:len(p.names)-1], ref)}).path(), message); d != nil {
			views[i].tallyFolder(d, message, &own[i])
			d.close()
		}
	})
	for i := range own {
		t.join(&own[i])
		v.stray = append(v.stray, views[i].stray...)
		if v.err == nil {
			v.err = views[i].err
		}
	}
}

// tallyFolder looks at what stands in a folder, and returns the names.
func (v *view) tallyFolder(d *dir, message string, t *tally) []string {
	names := v.names(d, message)
	for _, name := range names {
		it, err := d.stat(name)
		if err != nil {
			t.sound = false
			continue
		}
		t.add(name, &it)
	}
	return names
}
