// Package provider defines what mend knows about the provider of a model: the rules
// that its API enforces on a request, and the texts of its errors. Each provider is a
// package below this one.
package provider

import "mend/request"

// A Provider is the API of a provider of models.
type Provider interface {
	// Name is the name of the API, unique among all providers.
	Name() string
	// Rules returns all rules, in the order in which Check reports violations.
	Rules() []Rule
	// JSON returns a request in the API's form: only what a session determines, without
	// system prompts and tools.
	JSON(q request.Request) []byte
}

// A Rule is a condition that the provider enforces on every request.
type Rule struct {
	Code     string // unique for the provider, as in docs/providers.md
	Text     string // the condition
	Source   string // where it is documented, or how it was observed
	Thinking bool   // the outcome depends on whether the request enables thinking

	// Confidence is A for a rule whose words are in several reports and known from
	// documentation, B for one in reports, C for one that is derived. "" stands for A.
	Confidence string
	// Vendors are the vendors that enforce the rule behind an API of others; nil for every
	// provider of the API.
	Vendors []string

	// Find returns every place where a request violates the rule. It need not set
	// the violations' Rule.
	Find func(r request.Request, thinking bool) []request.Violation
}

// Check returns every place where the request violates the rule.
func (r *Rule) Check(q request.Request, thinking bool) []request.Violation {
	found := r.Find(q, thinking)
	for i := range found {
		found[i].Rule = r.Code
	}
	return found
}

// Check returns every violation of the provider's rules, ordered by rule and place.
// thinking is whether the request enables thinking. The provider itself reports only
// one violation, usually the first.
func Check(p Provider, q request.Request, thinking bool) []request.Violation {
	var all []request.Violation
	for _, r := range p.Rules() {
		all = append(all, r.Check(q, thinking)...)
	}
	return all
}
