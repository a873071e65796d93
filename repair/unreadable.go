package repair

import (
	"fmt"

	"mend/session"
)

// findUnreadable finds records of a message that the agent cannot use. They have
// no cure: what they should hold is not known. A fix of another fault may set
// one right all the same, such as a text part without a text.
func findUnreadable(x exam) []finding {
	var fs []finding
	if d, ok := defectOf(&x.m.Record, sent(x.m)); ok {
		d.Message = x.m.ID
		fs = append(fs, finding{Diagnosis: d})
	}
	for i := range x.m.Parts {
		if d, ok := defectOf(&x.m.Parts[i].Record, sent(x.m)); ok {
			d.Message = x.m.ID
			fs = append(fs, finding{Diagnosis: d})
		}
	}
	return fs
}

// ownRecord is what is wrong with the record of the session itself, and with
// what stands among its records and is none.
func (c *chart) ownRecord() []Diagnosis {
	var ds []Diagnosis
	if d, ok := defectOf(&c.s.Info, true); ok {
		ds = append(ds, d)
	}
	for _, s := range c.s.Stray {
		ref := session.Ref{Kind: session.KindSession, Session: c.s.ID}
		if s.Message != "" {
			ref = session.Ref{Kind: session.KindMessage, Session: c.s.ID, Message: s.Message}
		}
		d := Diagnosis{
			Class: UnreadableRecord, Severity: Note, Ref: ref, Message: s.Message,
			Why:    fmt.Sprintf("Something that is no record stands at %s: %s.", s.Path, s.Why),
			WhyNot: "It is left as it is: look at it, and move it out of the store if nothing needs it.",
		}
		if s.Hidden {
			d.Severity = Broken
			d.Why = fmt.Sprintf("What %s holds is not known: %s.", s.Path, s.Why)
			d.WhyNot = "Nothing in it was looked at: make it readable, and scan again."
		}
		ds = append(ds, d)
	}
	return ds
}

// defectOf is the diagnosis for a record with a defect. What does not go out to
// the model cannot be refused, but text that is no JSON stops the agent anywhere.
func defectOf(r *session.Record, sent bool) (Diagnosis, bool) {
	if r.Defect == nil {
		return Diagnosis{}, false
	}
	d := Diagnosis{Class: UnreadableRecord, Severity: Broken, Ref: r.Ref}
	switch r.Defect.Kind {
	case session.Unreadable:
		d.Why = fmt.Sprintf("The record of the %s cannot be read: %s.", r.Ref.Kind, r.Defect.Why)
		d.WhyNot = "What it holds is not known: make it readable, or put a copy from a backup in its place, and scan again."
	case session.Malformed:
		d.Why = fmt.Sprintf("The record of the %s is damaged (%s), and the agent stops at it.", r.Ref.Kind, r.Defect.Why)
		d.WhyNot = "Its bytes are left as they are: put a copy from a backup in its place, or move it out of the store, and scan again."
	case session.WrongType:
		d.Why = fmt.Sprintf("The record of the %s is not as the agent needs it: %s.", r.Ref.Kind, r.Defect.Why)
		d.WhyNot = "It is left as it is, since only its author knows what is meant: put a copy from a backup in its place, or fork the session before it."
		if !sent {
			d.Severity = Latent
		}
	default:
		d.Severity = Note
		d.Why = fmt.Sprintf("The record of the %s is stored under one id and tells another: %s.", r.Ref.Kind, r.Defect.Why)
		d.WhyNot = "The agent reads it all the same, so it is left as it is."
	}
	return d, true
}
