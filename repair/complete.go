package repair

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"mend/jsonedit"
	"mend/session"
)

// A gap is a record that lacks something, and where it stands: its neighbours
// tell what fills it.
type gap struct {
	s *session.Session
	m *session.Message // the record, or the message that it is a part of
	p *session.Part    // nil where the record is the message's

	at int // the place of the part in the message

	known *known

	dropped *[]string // where a fit notes what of its value cannot stay, by paths in it
}

// drop notes that what is at a path in the value that is looked at cannot stay.
func (g gap) drop(path string) {
	if g.dropped != nil {
		*g.dropped = append(*g.dropped, path)
	}
}

// fitAt is the fit of the member or item of that name in the value looked at,
// with what it drops noted below the name; null is nothing that could be lost.
func (g gap) fitAt(name string, is fit, raw []byte) ([]byte, bool) {
	var below []string
	inner := g
	inner.dropped = &below
	to, ok := is(inner, raw)
	if !ok && notNull(raw) {
		g.drop(name)
	}
	for _, path := range below {
		if ok {
			g.drop(name + "." + path)
		}
	}
	return to, ok
}

// A slot is a member that a record has, or may have.
type slot struct {
	path string // of names, with dots between them
	fit  fit
	// fill is the value where none can be kept; nil where the member may be missing.
	fill func(gap) []byte
	// spare says that the agent reads the record without the member, which is left
	// out where fill returns no value.
	spare bool
}

// A fit tells of a value whether it can stand in a slot, and as what: itself if
// it is right, or another that means the same.
type fit func(g gap, raw []byte) ([]byte, bool)

// changes are the paths at which a record was completed.
type changes struct {
	filled  []string // nothing was there
	altered []string // the same was there in another form
	lost    []string // what was there could not stay
}

func (c changes) none() bool { return len(c.filled)+len(c.altered)+len(c.lost) == 0 }

var errNoValue = errors.New("nothing tells what it should hold")

// complete returns data with everything that the slots ask for, and every byte
// that is right as it was. A slot whose object is missing is passed over. The
// error says that a value is needed that nothing tells.
func (g gap) complete(data []byte, slots []slot) ([]byte, changes, error) {
	var c changes
	for _, sl := range slots {
		var err error
		if data, err = g.settle(data, sl, &c); err != nil {
			return nil, c, fmt.Errorf("completing %s: %s: %w", g.ref(), sl.path, err)
		}
	}
	return data, c, nil
}

// settle returns data with the slot as it must be, and notes what that took.
func (g gap) settle(data []byte, sl slot, c *changes) ([]byte, error) {
	path := strings.Split(sl.path, ".")
	raw, there := jsonedit.Get(data, path...)
	to, fits := raw, false
	var dropped []string
	if there {
		g.dropped = &dropped
		to, fits = sl.fit(g, raw)
	}
	switch {
	case fits && bytes.Equal(to, raw), !there && (sl.fill == nil || !hasRoom(data, path)):
		return data, nil
	case fits && len(dropped) > 0:
		for _, path := range dropped {
			c.lost = append(c.lost, sl.path+"."+path)
		}
		return jsonedit.Set(data, to, path...)
	case fits:
		c.note(sl, raw, true)
		return jsonedit.Set(data, to, path...)
	case sl.fill == nil:
		c.note(sl, raw, false)
		return jsonedit.Remove(data, path...)
	}
	to = sl.fill(g)
	switch {
	case to == nil && !sl.spare:
		return nil, errNoValue
	case to == nil && !there:
		return data, nil
	}
	c.note(sl, raw, false)
	if to == nil {
		return jsonedit.Remove(data, path...)
	}
	return jsonedit.Set(data, to, path...)
}

// hasRoom reports whether there is an object that can hold the last name of path.
func hasRoom(data []byte, path []string) bool {
	if len(path) == 1 {
		return true
	}
	above, ok := jsonedit.Get(data, path[:len(path)-1]...)
	return ok && above[0] == '{'
}

// note adds a change of a value, nil for none, that was kept in meaning or not.
func (c *changes) note(sl slot, was []byte, kept bool) {
	switch nothing := len(was) == 0 || was[0] == 'n'; {
	case kept || nothing && sl.fill == nil:
		c.altered = append(c.altered, sl.path)
	case nothing:
		c.filled = append(c.filled, sl.path)
	default:
		c.lost = append(c.lost, sl.path)
	}
}

func (g gap) ref() session.Ref {
	if g.p != nil {
		return g.p.Ref
	}
	return g.m.Ref
}

// completeFixes cure a record that lacks a field which the agent needs, or has
// it in a form which the agent does not take (render.FailureField, render.FailureScreen).
// Nothing is done for a part of a kind that is not known, nor for a message whose
// id is none.
func completeFixes(k *known, f fault) []fix {
	g, ok := k.gapAt(f.ref)
	switch {
	case !ok:
		return nil
	case f.ref.Kind == session.KindMessage && g.m.Malformed():
		return salvageMessageFixes(k, f)
	case f.ref.Kind == session.KindMessage:
		return g.completeMessage()
	case g.p.Malformed():
		return salvagePartFixes(k, f)
	case !strings.HasPrefix(g.p.ID, partPrefix):
		return renameFixes(k, f)
	}
	return g.completePart()
}

// describe is the fix's sentences for what was completed.
func (c changes) describe() (cure, loses string) {
	var did []string
	if len(c.filled) > 0 {
		did = append(did, "filled in: "+listed(c.filled))
	}
	if len(c.altered) > 0 {
		did = append(did, "put into the form that the agent takes: "+listed(c.altered))
	}
	if len(c.lost) > 0 {
		did = append(did, "replaced or removed: "+listed(c.lost))
		loses = "The values that cannot stand there: " + listed(c.lost) + "."
	}
	return "The record is completed; " + strings.Join(did, "; ") + ".", loses
}

// listed is the paths as a part of a sentence; of many the first ones.
func listed(paths []string) string {
	const most = 12
	if more := len(paths) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), more)
	}
	return strings.Join(paths, ", ")
}

// rewrite is the edit that puts another record in the place of a part's.
func rewrite(r session.Record) func(*draft) error {
	return func(d *draft) error {
		_, p, err := d.part(r.Ref)
		if err == nil {
			*p = session.NewPart(r)
		}
		return err
	}
}

// with is the record with other data, that can be read.
func with(r session.Record, data []byte) session.Record {
	r.Data, r.Class, r.Defect = data, 0, nil
	return r
}
