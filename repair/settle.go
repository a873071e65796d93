package repair

import (
	"cmp"

	"mend/session"
)

// settle makes what the trials did final.
func (t *treatment) settle(trials []trial, after *chart) {
	to, cure := moved(t.s, after.s), curesOf(trials)
	for _, f := range t.now.findings {
		if t.gone(f, to, after) {
			t.cured = append(t.cured, cure(f, t.asFound(f)))
		}
	}
	for was, is := range to {
		t.c.origin[is] = t.c.first(was)
	}
	now := *after
	now.origin = t.c.origin
	t.s, t.c, t.now = now.s, &now, now.survey()
	clear(t.tried) // what did not hold before may hold now
}

// curesOf tells of a finding that is gone which of the trials cured it: its own, or
// else the last one in its message.
func curesOf(trials []trial) func(finding, Diagnosis) Diagnosis {
	own, beside := map[key]fix{}, map[string]fix{}
	for _, tr := range trials {
		own[tr.key()], beside[tr.ref.Message] = tr.fix, tr.fix
	}
	return func(f finding, d Diagnosis) Diagnosis {
		d.Cure, d.WhyNot = "It is gone with the cure of another fault.", ""
		near, ok := beside[f.ref.Message]
		if len(trials) == 1 && trials[0].fix.whole {
			near, ok = trials[0].fix, true
		}
		if ok {
			d.Cure = near.cure
		}
		if x, ok := own[f.key()]; ok {
			d.Cure, d.Loses = x.cure, x.loses
		}
		return d
	}
}

// moved tells under which refs the records of a session are stored after a fix
// that gave them other ids, of which the tails stayed ([session.Renumber]).
func moved(before, after *session.Session) map[session.Ref]session.Ref {
	if len(before.Messages) != len(after.Messages) {
		return nil
	}
	to := map[session.Ref]session.Ref{}
	places, tails := placesOf(after), map[string]int{}
	for i := range after.Messages {
		tails[session.Tail(after.Messages[i].Ref.Message)] = i
	}
	for i := range before.Messages {
		was := &before.Messages[i]
		if _, stays := places[was.Ref.Message]; stays {
			continue
		}
		at, ok := tails[session.Tail(was.Ref.Message)]
		if !ok {
			continue
		}
		is := &after.Messages[at]
		if len(was.Parts) != len(is.Parts) {
			continue
		}
		to[was.Ref] = is.Ref
		for j := range was.Parts {
			to[was.Parts[j].Ref] = is.Parts[j].Ref
		}
	}
	return to
}

// uncured is the diagnosis of a finding that stays, with the reason.
func (t *treatment) uncured(f finding) Diagnosis {
	d := t.asFound(f)
	noCure := ruleOf(f.code).noCure
	if noCure == unknownBytes && !t.c.unreadable(f.ref) {
		noCure = ""
	}
	d.WhyNot = cmp.Or(t.why[f.key()], t.refused, noCure, whyNone)
	return d
}

// unreadable reports whether the bytes of the record are not known.
func (c *chart) unreadable(ref session.Ref) bool {
	m, p := c.part(ref)
	switch {
	case p != nil:
		return p.Unreadable()
	case m != nil:
		return m.Unreadable()
	}
	return c.s.Info.Unreadable()
}

// asFound is the diagnosis of the finding as it was at first.
func (t *treatment) asFound(f finding) Diagnosis {
	if d, ok := t.first[f.key()]; ok {
		return d
	}
	return t.c.describe(f)
}

const whyNone = "No change that mend knows cures this without breaking something else."
