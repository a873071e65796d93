package repair

import (
	"cmp"
	"slices"
	"time"

	"mend/change"
	"mend/internal/request"
)

// A Diagnosis describes one finding of a session. Why, Fix, Loses and WhyNot are each a sentence or two for a person.
type Diagnosis struct {
	Rule     string // the code of the agent's or the provider's rule
	Class    Class
	Tier     Tier // tier of the class
	Severity Severity
	Ref      change.Ref // the affected record: a part, or a message if the whole message is affected
	Message  string     // the id of the affected message, "" for none
	Why      string
	Text     string // the provider's error, or a description of the finding
	Fix      string // what a repair changes; "" if nothing
	Loses    string // what the user loses; "" for nothing
	WhyNot   string // if Fix is "": the reason, and what the user can do
	Short    string // shown in lists instead of the class; "" for the class
	Shown    Shown  // how the agent shows the session because of the finding
	Healed   string // see [Rule]; "" unless that version is known to need no repair of the session

	SetAside    bool // Fix sets it aside
	CanSetAside bool // if Fix is "": a repair with [Request.SetAside] sets it aside

	finding key // its key in the original session
}

// Same reports whether both belong to the same finding of a session.
func (d Diagnosis) Same(o Diagnosis) bool { return d.finding == o.finding }

// Options are the inputs of a diagnosis besides the session. Only the agent reads them.
type Options struct {
	// Now is the time of the diagnosis and of the next prompt. For fixes it only determines which messages are before
	// that prompt. The zero time means after everything in the session.
	Now time.Time

	Version  string // version of the agent that will read the store, such as "1.1.53"; "" for the newest known version
	Thinking *bool  // whether the model is asked to think; nil to derive it from the session

	// Model is the model of the next prompt; the zero Model means the one that the agent selects by default.
	Model request.Model

	// Provider is the API of the next request, as the agent names it; "" for the agent's own choice.
	Provider string

	// AllSettings adds latent findings: those in another version of the agent, or with thinking switched.
	AllSettings bool
}

// Diagnose returns the findings of a session, in the order of its messages, each with a fix that was tried on
// a copy and holds.
func Diagnose(c *Case) []Diagnosis { return diagnose(c, originalRefs{}) }

// diagnose tries the fixes of broken findings first, then the other fixes on top of them, as a user would request
// them.
func diagnose(c *Case, originals originalRefs) []Diagnosis {
	findings := c.Findings().list
	if len(findings) == 0 {
		return nil
	}
	known := map[key]Diagnosis{}
	left := c
	for _, worst := range [...]Severity{Broken, Latent, Lost, Note} {
		t := newSearch(left, originals, func(f Finding) bool {
			_, ok := known[f.keyAt(originals.first(f.Ref))]
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
		d, fix := describe(c, originals, f), known[f.key()]
		d.Fix, d.Loses, d.WhyNot, d.CanSetAside = fix.Fix, fix.Loses, fix.WhyNot, fix.CanSetAside
		ds = append(ds, d)
	}
	ds = dedupe(ds)
	sortDiagnoses(c, ds)
	return ds
}

// dedupe keeps the first diagnosis of each class for a record: a single problem may break several rules.
func dedupe(ds []Diagnosis) []Diagnosis {
	type fault struct {
		class  Class
		detail string
		ref    change.Ref
	}
	seen := map[fault]bool{}
	return slices.DeleteFunc(ds, func(d Diagnosis) bool {
		k := fault{d.Class, d.finding.detail, d.Ref}
		again := seen[k]
		seen[k] = true
		return again
	})
}

// sortDiagnoses sorts diagnoses: first the session's, then each message's, the worst of a message first.
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
