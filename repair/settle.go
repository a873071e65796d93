package repair

import (
	"cmp"

	"mend/session"
)

// settle makes what the trials did final.
func (t *treatment) settle(trials []trial, s *session.Session, after *survey) {
	to := moved(t.s, s)
	for _, f := range t.now.findings {
		if !t.gone(f, to, s, after) {
			continue
		}
		d := t.asFound(f)
		d.Cure, d.WhyNot = "It is gone with the cure of another fault.", ""
		for _, tr := range trials {
			if tr.ref.Message == f.ref.Message || tr.fix.whole {
				d.Cure = tr.fix.cure
			}
			if tr.key() == f.key() {
				d.Cure, d.Loses = tr.fix.cure, tr.fix.loses
				break
			}
		}
		t.cured = append(t.cured, d)
	}
	for was, is := range to {
		t.c.origin[is] = t.c.first(was)
	}
	t.s, t.c, t.now = s, t.c.of(s), after
	t.c.surveyed = after
	clear(t.tried) // what did not hold before may hold now
}

// moved tells under which refs the records of a session are stored after a fix
// that gave them other ids and left them in their order.
func moved(before, after *session.Session) map[session.Ref]session.Ref {
	if len(before.Messages) != len(after.Messages) {
		return nil
	}
	to := map[session.Ref]session.Ref{}
	for i := range before.Messages {
		was, is := &before.Messages[i], &after.Messages[i]
		if was.Ref == is.Ref || len(was.Parts) != len(is.Parts) {
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
	d.WhyNot = cmp.Or(t.why[f.key()], ruleOf(f.code).noCure, whyNone)
	return d
}

// asFound is the diagnosis of the finding as it was at first.
func (t *treatment) asFound(f finding) Diagnosis {
	if d, ok := t.first[f.key()]; ok {
		return d
	}
	return t.c.describe(f)
}

const whyNone = "No change that mend knows cures this without breaking something else."
