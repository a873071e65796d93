package fsstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"mend/internal/ownfile"
	"mend/internal/safedir"
	"mend/session"
)

// A view is one reading of the tree. What stands in the way is noted in stray,
// and only what would strike every other file as well, in err.
type view struct {
	*Store
	ctx   context.Context
	root  *safedir.Dir
	stray []session.Stray
	files []session.File
	err   error

	left  *atomic.Int64   // how many bytes more of the session may be kept; nil where no session is loaded
	buf   *safedir.Buffer // for all that is read; each view has its own, but for one inside another
	seen  *tally          // what the records' stamps add up to; nil if nobody asks
	blind bool            // records are looked at and not read
	shelf *safedir.Dir    // in which the folders of the messages' parts are, if it could be opened
}

func (s *Store) view(ctx context.Context) (*view, error) {
	root, err := s.open()
	if err != nil {
		return nil, err
	}
	return &view{Store: s, ctx: ctx, root: root, buf: s.buffer(true)}, nil
}

// close ends the view.
func (v *view) close() {
	v.root.Close()
	v.buffers.Put(v.buf)
}

// failed reports whether the reading has to end.
func (v *view) failed() bool {
	if v.err == nil {
		v.err = v.ctx.Err()
	}
	return v.err != nil
}

// A spot is a folder, by the names that lead to it and the ids among them.
type spot struct {
	names []string
	ref   session.Ref
}

func (s spot) path() string { return strings.Join(s.names, "/") }

func (s spot) child(name string) spot {
	s.names = append(slices.Clip(s.names), name)
	return s
}

// expand lists the folders that the names of a pattern lead to. An id that want
// has is taken from there; any other is each name that is an id and that skip
// does not have. The last name of a spot need not exist.
func (v *view) expand(names []string, want session.Ref, skip map[string]bool) []spot {
	spots := []spot{{}}
	for _, name := range names {
		var next []spot
		for _, s := range spots {
			next = append(next, v.step(s, name, want, skip)...)
		}
		spots = next
	}
	return spots
}

func (v *view) step(s spot, name string, want session.Ref, skip map[string]bool) []spot {
	if variable(name, &want) == nil {
		return []spot{s.child(name)}
	}
	found := []string{*variable(name, &want)}
	if found[0] == "" {
		found = v.ids(s, skip)
	}
	var next []spot
	for _, id := range found {
		c := s.child(id)
		*variable(name, &c.ref) = id
		next = append(next, c)
	}
	return next
}

// ids lists the names in a folder that may be folders called by an id, in order.
func (v *view) ids(s spot, skip map[string]bool) (ids []string) {
	v.eachID(s, func(id string) {
		if !skip[id] {
			ids = append(ids, id)
		}
	})
	slices.Sort(ids)
	return ids
}

// eachID calls yield for each of the names that ids lists, in no order. There may be
// very many, and none is kept.
func (v *view) eachID(s spot, yield func(id string)) {
	d := v.open(s.path(), "")
	if d == nil {
		return
	}
	defer d.Close()
	v.told(d, "", d.List(v.buf, func(names []string) {
		for _, name := range names {
			if v.layout.taken(s.names, name) {
				continue
			}
			if err := session.ValidateID(name); err == nil {
				yield(name)
			} else if t, serr := d.Stat(name); serr == nil && t.Exists && !t.IsFile() {
				v.note(d.Path+"/"+name, "", err.Error())
			}
		}
	}))
}

// open opens the folder at path. It returns nil where there is none: a plain
// file of that name is nobody's record, and anything else is noted, for the
// message whose parts it stands for.
func (v *view) open(path, message string) *safedir.Dir { return v.openIn(v.root, path, message) }

// openIn is open for a path below the folder at.
func (v *view) openIn(at *safedir.Dir, name, message string) *safedir.Dir {
	d, err := at.Sub(name)
	if err == nil {
		return d
	}
	var strange *safedir.NotFolderError
	if errors.As(err, &strange) {
		if !strange.Mode.IsRegular() {
			v.note(strange.Path, message, "it is "+ownfile.KindName(strange.Mode)+", not a folder")
		}
	} else if why, ok := safedir.ReadFailure(err); ok {
		v.hidden(path.Join(at.Path, name), message, "the folder cannot be opened: "+why)
	} else if !errors.Is(err, fs.ErrNotExist) {
		v.err = err
	}
	return nil
}

// names lists what stands in the folder, in order.
func (v *view) names(d *safedir.Dir, message string) []string {
	names, err := d.Names(v.buf)
	v.told(d, message, err)
	slices.Sort(names)
	return names
}

// told takes the error of listing a folder.
func (v *view) told(d *safedir.Dir, message string, err error) {
	if why, ok := safedir.ReadFailure(err); ok {
		v.hidden(d.Path, message, "the folder cannot be read: "+why)
	} else if err != nil {
		v.err = err
	}
}

func (v *view) note(path, message, why string) {
	v.stray = append(v.stray, session.Stray{Path: path, Message: message, Why: why})
}

// hidden notes a folder that keeps what it holds to itself.
func (v *view) hidden(path, message, why string) {
	v.note(path, message, why)
	v.stray[len(v.stray)-1].Hidden = true
}

// foundMore reports whether there was anything but records.
func (v *view) foundMore() bool { return len(v.stray)+len(v.files) > 0 }

// records calls yield for each record in the folder, in order.
// Names that do not end in .json are no records and are passed over; names that
// do and are no ids are noted.
func (v *view) records(d *safedir.Dir, message string, yield func(name, id string)) {
	for _, name := range v.names(d, message) {
		id, ok := strings.CutSuffix(name, suffix)
		if !ok {
			continue
		}
		if v.failed() {
			return
		}
		if v.layout.takesAll && name[0] == '.' {
			continue
		}
		if err := session.ValidateID(id); err != nil {
			v.note(d.Path+"/"+name, message, err.Error())
			continue
		}
		yield(name, id)
	}
}

// read reads one record. It reports false where there is none. A record that is
// there and may not, cannot or shall not be read has the defect Unreadable. One with
// several hard links is read, and cannot be replaced.
func (v *view) read(d *safedir.Dir, ref session.Ref) (session.Record, bool) {
	r := session.Record{Ref: ref}
	return r, v.readInto(&r, d, ref.ID()+suffix)
}

// readInto is read for a record that has a ref and nothing else.
func (v *view) readInto(r *session.Record, d *safedir.Dir, name string) bool {
	t, err := v.look(d, name)
	if why, ok := safedir.ReadFailure(err); ok {
		r.Defect = &session.Defect{Kind: session.Unreadable, Why: why}
		return true
	}
	if err != nil {
		v.err = err
		return false
	}
	if v.seesNoRecord(r.Ref, &t) {
		v.otherThing(besides{d, folderOf(r.Ref)}, d, name, &t, nil)
		return false
	}
	r.Mode = t.Mode.Perm()
	if why := t.ReadProblem(); t.Exists && why != "" {
		r.Defect = &session.Defect{Kind: session.Unreadable, Why: why}
		return true
	}
	if t.Exists && t.Links > 1 {
		at := "./" + d.Path + "/"
		r.Locked = fmt.Sprintf("%s; in the store's folder, cp -p %s %s && mv %[3]s %[2]s makes it a file of its own", t.ReplaceProblem(), at+name, at+"."+name)
	}
	r.Data = t.Data
	return t.Exists
}

// look is what stands under the name, in a blind view without its bytes.
func (v *view) look(d *safedir.Dir, name string) (t safedir.Entry, err error) {
	if v.blind {
		t, err = d.Stat(name)
	} else {
		t, err = v.lookWithin(d, name)
	}
	if v.seen != nil {
		v.seen.add(name, &t, err)
	}
	return t, err
}

// lookWithin is what is under the name, with its bytes, as long as the session fits into
// memory. The error may be a [*session.SizeError].
func (v *view) lookWithin(d *safedir.Dir, name string) (safedir.Entry, error) {
	left := v.opt.MaxSession
	if v.left != nil {
		left = max(v.left.Load(), 0)
	}
	t, err := d.Read(v.buf, name, min(left, v.opt.MaxRecord))
	if err != nil || v.left == nil {
		return t, err
	}
	if t.TooLarge && t.Size <= v.opt.MaxRecord {
		return safedir.Entry{}, &session.SizeError{Most: v.opt.MaxSession}
	}
	v.left.Add(-int64(len(t.Data)))
	return t, nil
}
