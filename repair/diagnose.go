package repair

import (
	"cmp"
	"slices"
	"time"

	"mend/change"
	"mend/internal/request"
)

// A Diagnosis is one fault of a session. Why, Fix, Loses and WhyNot are each a
// sentence or two for a person.
type Diagnosis struct {
	Rule     string // the code of the agent's or the provider's rule
	Class    Class
	Tier     Tier // of the class
	Severity Severity
	Ref      change.Ref // the record at fault: a part, or a message for a fault of the whole message
	Message  string     // the id of the message that it is about, "" for none
	Why      string
	Text     string // what the provider says of it, or what was found
	Fix      string // what a repair does about it; "" where it does nothing
	Loses    string // what the user loses by the fix; "" for nothing
	WhyNot   string // where Fix is "": the reason, and what the user can do
	Short    string // what a list shows in the place of the class; "" for that
	Shown    Shown  // how the agent shows the session because of it
	// the version of the agent that needs no repair of it, as [Rule] has it; "" if the one in use is not older
	Healed string

	SetAside    bool // Fix sets it aside
	CanSetAside bool // where Fix is "": a repair with [Request.SetAside] sets it aside

	finding key // as it was found first
}

// Same reports whether both are of the same finding of a session.
func (d Diagnosis) Same(o Diagnosis) bool { return d.finding == o.finding }

// Options are what a diagnosis depends on besides the session. The agent reads them, not
// the engine.
type Options struct {
	// Now is when the session is diagnosed, and when the next prompt is typed. Fixes
	// depend on it only through the messages that come before that prompt. The zero time
	// is after everything in the session.
	Now time.Time
	// WrongClock says that Now decides only whether the session is busy. The prompt is
	// then after everything in the session.
	WrongClock bool

	Version  string // of the agent that will read the store, such as "1.1.53"; "" for the newest known
	Thinking *bool  // whether the model is asked to think; nil for what the session shows

	// Model is the model of the next prompt; the zero Model means the one that the agent
	// selects for a prompt that names none.
	Model request.Model

	// Provider is the name of the API that is asked, as the agent names it; "" for what the
	// agent will ask.
	Provider string

	// AllSettings says that what is wrong in another version of the agent, or with thinking switched,
	// is a latent finding.
	AllSettings bool
}

// Typed returns when the next prompt is typed; the zero time if that is not known.
func (o Options) Typed() time.Time {
	if o.WrongClock {
		return time.Time{}
	}
	return o.Now
}

// Diagnose returns what is wrong with a session, in the order of its messages, each
// with the fix that holds: it was tried on a copy.
func Diagnose(c *Case) []Diagnosis { return diagnose(c, origin{}) }

// diagnose tries the fixes of broken findings first, and then those of the others on
// top of them, as a user would ask for them.
func diagnose(c *Case, o origin) []Diagnosis {
	findings := c.Findings().list
	if len(findings) == 0 {
		return nil
	}
	known := map[key]Diagnosis{}
	left := c
	for _, worst := range [...]Severity{Broken, Latent, Lost, Note} {
		t := newSearch(left, o, func(_ *Case, f Finding) bool {
			_, ok := known[f.at(o.first(f.Ref))]
			return f.Severity <= worst && !ok
		}, false)
		left = t.c
		for _, d := range append(t.fixed, t.failed...) {
			if _, ok := known[d.finding]; !ok {
				known[d.finding] = d
			}
		}
	}
	ds := make([]Diagnosis, 0, len(findings))
	for _, f := range findings {
		d, fix := describe(c, o, f), known[f.key()]
		d.Fix, d.Loses, d.WhyNot, d.CanSetAside = fix.Fix, fix.Loses, fix.WhyNot, fix.CanSetAside
		ds = append(ds, d)
	}
	ds = dedupe(ds)
	sortDiagnoses(c, ds)
	return ds
}

// dedupe returns the diagnoses with one of each class for a record: a fault may break
// several rules, and the first is the one that shows.
func dedupe(ds []Diagnosis) []Diagnosis {
	type fault struct {
		class Class
		which string
		ref   change.Ref
	}
	seen := map[fault]bool{}
	return slices.DeleteFunc(ds, func(d Diagnosis) bool {
		k := fault{d.Class, d.finding.which, d.Ref}
		again := seen[k]
		seen[k] = true
		return again
	})
}

// sortDiagnoses sorts diagnoses: those of the session, then those of each message in
// order, the worst first.
func sortDiagnoses(c *Case, ds []Diagnosis) {
	order, n := map[string]int{}, 0
	for r := range c.Records {
		if r.Ref.Kind == change.KindMessage {
			n++
			order[r.Ref.Message] = n
		}
	}
	slices.SortStableFunc(ds, func(a, b Diagnosis) int {
		return cmp.Or(cmp.Compare(order[a.Ref.Message], order[b.Ref.Message]), cmp.Compare(a.Severity, b.Severity))
	})
}
