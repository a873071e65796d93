package repair

import (
	"cmp"
	"maps"
	"slices"

	"mend/internal/request"
)

// A Rule is one kind of finding: how it is found, named, explained and fixed.
type Rule struct {
	Code  string
	Class Class
	// Asked means that the stored session does not show the problem. mend looks for it only if an error or the user
	// asks for the class.
	Asked    bool
	Once     bool     // several findings in a message are no worse than one
	Severity Severity // severity of the findings of Find; zero: the finding's own severity, or else a [Note]

	Find    func(*Case) []Finding // nil: the request, [State].Faults or [FindForError] finds it
	ClassOf func(*Fault) Class    // nil: Class
	Why     func(*Fault) string   // nil: the text of the finding
	Fixes   func(*Fault) []Fix    // the one that loses least first; nil for none
	NoFix   string                // why there may be no fix, and what the user can do
	Shown   Shown                 // how the agent shows the session because of it

	// Healed is a sentence that names the version of the agent that was observed to work without a repair, and says
	// what that version does; "" if there is none.
	Healed string

	// For [Rules.Explain]. An empty Fix stands for the fix of the class.
	Meaning, Words, Example, Fix, Loses string
}

// Rules are a table of rules. An agent makes one with its own rules, see [NewRules].
type Rules struct {
	Own []Rule // in the order in which their findings are fixed
	all map[string]Rule

	classes map[Class]Explanation
}

// NewRules returns a table of an agent's own classes and rules and the engine's. An own rule with the code of
// an engine rule inherits the fields that it leaves empty; its own fixes come first.
func NewRules(classes map[Class]Explanation, own ...Rule) *Rules {
	t := &Rules{Own: own, all: maps.Clone(engineRules()), classes: classes}
	for i, r := range own {
		own[i] = r.withDefaults(t.all[r.Code])
		t.all[r.Code] = own[i]
	}
	return t
}

func (r Rule) withDefaults(base Rule) Rule {
	r.Class, r.Asked = cmp.Or(r.Class, base.Class), r.Asked || base.Asked
	r.Meaning, r.Words = cmp.Or(r.Meaning, base.Meaning), cmp.Or(r.Words, base.Words)
	r.Example = cmp.Or(r.Example, base.Example)
	r.Fix, r.Loses = cmp.Or(r.Fix, base.Fix), cmp.Or(r.Loses, base.Loses)
	if r.ClassOf == nil {
		r.ClassOf = base.ClassOf
	}
	if r.Why == nil {
		r.Why = base.Why
	}
	first, then := r.Fixes, base.Fixes
	switch {
	case first == nil:
		r.Fixes = then
	case then != nil:
		r.Fixes = func(x *Fault) []Fix { return append(first(x), then(x)...) }
	}
	return r
}

// Rule returns the rule with the code. An unknown rule has only a code.
func (t *Rules) Rule(code string) Rule {
	r := t.all[code]
	r.Code = code
	return r
}

// A Fault is a finding with its rule, its class and the stored content at its place.
type Fault struct {
	Finding
	*Case
	Rule Rule

	message Stored
	step    []*request.Block // the step that holds the block
	block   *request.Block   // the stored block; nil if the whole message is affected
}

// Fault returns a finding with its rule, its class and the stored content at its place.
func (t *Rules) Fault(c *Case, f Finding) *Fault {
	x := &Fault{Finding: f, Case: c, Rule: t.Rule(f.Code), message: c.Stored(f.Ref)}
	x.step, x.block = x.message.Step(f.Ref, f.Block)
	x.Class = x.Rule.Class
	if x.Rule.ClassOf != nil {
		x.Class = x.Rule.ClassOf(x)
	}
	x.Tier = cmp.Or(x.Tier, t.ExplainClass(x.Class).Tier)
	return x
}

// EngineRule returns the engine's rule with the code.
func EngineRule(code string) (Rule, bool) {
	r, ok := engineRules()[code]
	return r, ok
}

// Target returns the stored form of the affected block, nil if the whole message is affected.
func (x *Fault) Target() *request.Block { return x.block }

// Why returns why the finding is a problem.
func (x *Fault) Why() string {
	switch {
	case x.Finding.Why != "":
		return x.Finding.Why
	case x.Rule.Why == nil:
		return x.Text
	}
	return x.Rule.Why(x)
}

// Fixes returns the fixes of the finding, or else of its rule, the one that loses least first.
func (x *Fault) Fixes() []Fix {
	if x.Finding.Fixes != nil || x.Rule.Fixes == nil {
		return x.Finding.Fixes
	}
	return x.Rule.Fixes(x)
}

// Codes returns the codes of all rules of the table: its own, then the others.
func (t *Rules) Codes() (codes []string) {
	for _, r := range t.Own {
		codes = append(codes, r.Code)
	}
	for _, code := range slices.Sorted(maps.Keys(t.all)) {
		if !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	return codes
}
