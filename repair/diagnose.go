package repair

import (
	"cmp"
	"slices"
	"time"

	"mend/request"
	"mend/session"
)

// A Diagnosis is one fault of a session. Why, Cure, Loses and WhyNot are each a
// sentence or two for a person.
type Diagnosis struct {
	Rule     string // the code of the [Rule]
	Class    Class
	Severity Severity
	Ref      session.Ref // the record at fault: a part, or a message for a fault of the whole message
	Message  string      // the id of the message that it is about, "" for none
	Why      string
	Says     string // what the provider says of it, or what was found
	Cure     string // what a repair does about it; "" where it does nothing
	Loses    string // what the user loses by the cure; "" for nothing
	WhyNot   string // where Cure is "": the reason, and what the user can do

	of key // the fault
}

// Options is what a diagnosis needs to know besides the session.
type Options struct {
	// Now decides with Held whether the session is busy, and where the next prompt
	// comes among its messages, which a message dated in the future gets in the way of.
	// No fix depends on it but by which messages these are. The zero time places the
	// prompt behind everything that the session tells of.
	Now time.Time
	// WrongClock says that Now is not to be trusted but for what is busy: the prompt
	// is placed as with the zero time.
	WrongClock bool

	Held time.Time // the start of the oldest process that works with the store; zero: there is none
	// Foreign says that no version of OpenCode reads the store: what would be latent is
	// left out, since that is judged by other versions and their screen.
	Foreign  bool
	Version  string // of the agent that will read the store, such as "1.1.53"; "" for the newest known
	Thinking *bool  // whether the model is asked to think; nil for what [Thinks] says

	// Reads tells whether a model takes files of a kind; see [render.Settings]. A file that
	// the provider would refuse is latent where that is not known.
	Reads func(m request.Model, kind string) (reads, known bool)
	// Missing tells whether nothing is at a path; see [render.Settings].
	Missing func(path string) bool
}

// Typed returns when the next prompt is typed; the zero time if that is not known.
func (o Options) Typed() time.Time {
	if o.WrongClock {
		return time.Time{}
	}
	return o.Now
}

// Diagnose tells what is wrong with a session, in the order of its messages,
// each with the cure that holds: it was tried on a copy. The newest answer of a
// busy session is not looked at, since the agent still writes it.
func Diagnose(s *session.Session, o Options) []Diagnosis {
	if quickCheck(s, o.Typed()) {
		return nil
	}
	return newChart(s, o, false).diagnose()
}

// diagnose tries the cures of what is broken first, then on top of them those of
// the rest, which is the order in which a user would ask for them.
func (c *chart) diagnose() []Diagnosis {
	v := c.survey()
	if len(v.findings) == 0 {
		return nil
	}
	told := map[key]Diagnosis{}
	left := c
	for _, worst := range [...]Severity{Broken, Latent, Note} {
		t := left.treat(func(c *chart, f finding) bool { return f.severity <= worst && told[c.keyAtFirst(f)].of == (key{}) })
		left = t.c
		for _, d := range append(t.cured, t.failed...) {
			if _, ok := told[d.of]; !ok {
				told[d.of] = d
			}
		}
	}
	ds := make([]Diagnosis, 0, len(v.findings))
	for _, f := range v.findings {
		d, cure := c.describe(f), told[f.key()]
		d.Cure, d.Loses, d.WhyNot = cure.Cure, cure.Loses, cure.WhyNot
		ds = append(ds, d)
	}
	ds = once(ds)
	c.sort(ds)
	return ds
}

// once is the diagnoses without those of a class that the record has already: a
// fault may break several rules, and the first is the one that shows.
func once(ds []Diagnosis) []Diagnosis {
	seen := map[key]bool{}
	return slices.DeleteFunc(ds, func(d Diagnosis) bool {
		k := key{string(d.Class), d.of.which, d.Ref}
		again := seen[k]
		seen[k] = true
		return again
	})
}

// describe is the diagnosis of a finding, without its cure.
func (c *chart) describe(f finding) Diagnosis {
	r := ruleOf(f.code)
	d := Diagnosis{Rule: cmp.Or(f.shows, f.code), Class: c.classOf(f), Severity: f.severity, Ref: c.first(f.ref), Says: f.says, Why: r.why(c, f.fault), of: c.keyAtFirst(f)}
	if m := c.message(f.ref); m != nil {
		d.Message = m.ID
	}
	if d.Ref == (session.Ref{}) {
		d.Ref = session.Ref{Kind: session.KindSession, Session: c.s.ID}
	}
	return d
}

// sort puts diagnoses in the order of what they are about: the session, then
// message by message, those of one message as they were found.
func (c *chart) sort(ds []Diagnosis) {
	order := make(map[string]int, len(c.s.Messages))
	for i := range c.s.Messages {
		order[c.s.Messages[i].Ref.Message] = i + 1
	}
	slices.SortStableFunc(ds, func(a, b Diagnosis) int {
		return cmp.Or(cmp.Compare(order[a.Ref.Message], order[b.Ref.Message]), cmp.Compare(a.Severity, b.Severity))
	})
}
