package repair

import (
	"cmp"
	"slices"

	"mend/session"
)

// A finding is a diagnosis with the ways to cure it, the one that loses least
// first.
type finding struct {
	Diagnosis
	fixes []fix
}

// A fix is one way to cure a finding. Its edit changes the message of the exam,
// which is a copy; an error says that this way is closed.
type fix struct {
	cure, loses string
	edit        func(exam) error
}

// A key tells one fault of a session from the others.
type key struct {
	class Class
	ref   session.Ref
}

func (d *Diagnosis) key() key { return key{d.Class, d.Ref} }

const whyNone = "No change that mend knows cures this without breaking something else: go on in a new session, or fork this one before the message."

// treat cures what is wanted of message i, one finding after the other, and
// tells what is gone and what could not be cured, each as it was found at first.
func (c *chart) treat(i int, wanted func(Diagnosis) bool) (cured, failed []Diagnosis) {
	want := map[key]bool{}
	first := map[key]Diagnosis{}
	before := c.look(i, &c.s.Messages[i])
	for _, f := range before {
		first[f.key()], want[f.key()] = f.Diagnosis, wanted(f.Diagnosis)
	}
	for {
		at := slices.IndexFunc(before, func(f finding) bool { return want[f.key()] && !has(failed, f.key()) })
		if at < 0 {
			return cured, failed
		}
		f := before[at]
		fx, gone, after := c.try(i, before, f)
		if fx == nil {
			failed = append(failed, uncured(first[f.key()], f.WhyNot))
			continue
		}
		for _, k := range gone {
			cured = append(cured, curedBy(first[k], fx, k == f.key()))
		}
		before = after
	}
}

func has(ds []Diagnosis, k key) bool {
	return slices.ContainsFunc(ds, func(d Diagnosis) bool { return d.key() == k })
}

func uncured(d Diagnosis, why string) Diagnosis {
	d.WhyNot = cmp.Or(why, whyNone)
	return d
}

// curedBy is the diagnosis with the fix that cures it; what is lost is told
// where the fix was meant for it.
func curedBy(d Diagnosis, fx *fix, meant bool) Diagnosis {
	d.Cure, d.WhyNot = fx.cure, ""
	if meant {
		d.Loses = fx.loses
	}
	return d
}

// try applies the first fix of f that proves itself to message i, and returns it
// with what is gone by it and what is found afterwards; nil if none does.
func (c *chart) try(i int, before []finding, f finding) (_ *fix, gone []key, after []finding) {
	for k := range f.fixes {
		m := c.s.Messages[i]
		m.Parts = slices.Clone(m.Parts)
		if err := f.fixes[k].edit(exam{chart: c, at: i, m: &m}); err != nil {
			continue // this way is closed: the next
		}
		after = c.look(i, &m)
		if gone, ok := proved(before, after, f); ok {
			c.set(i, m)
			return &f.fixes[k], gone, after
		}
	}
	return nil, nil, nil
}

// proved compares what was found before and after a fix for f: f is gone, and
// nothing is new or worse. It returns all that is gone.
func proved(before, after []finding, f finding) (gone []key, ok bool) {
	left := map[key]Severity{}
	for _, a := range after {
		left[a.key()] = a.Severity
	}
	for _, b := range before {
		v, stays := left[b.key()]
		switch {
		case !stays:
			gone = append(gone, b.key())
		case v < b.Severity || b.key() == f.key():
			return nil, false
		}
		delete(left, b.key())
	}
	return gone, len(left) == 0
}
