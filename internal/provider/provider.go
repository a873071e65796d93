// Package provider contains what mend knows about the providers of models: the rules that an API enforces on a request,
// and the texts of its errors. It calls no API and has no fixes. Each provider is a package below this one.
//
// It does no I/O. It may import change and internal/request. Read [Check] and [ErrorParser.Parse] first.
package provider

import (
	"cmp"
	"slices"
	"strings"

	"mend/internal/request"
)

// A Provider is the API of a provider of models.
type Provider interface {
	// Name is the name of the API, unique among all providers.
	Name() string
	// Rules returns all rules, in the order that Check reports violations.
	Rules() []Rule
}

// A Rule is a condition that the provider enforces on every request.
type Rule struct {
	Code string // unique for all providers, as in docs/providers.md
	Text string // the condition
	// Error is the provider's text for a violation. N and M stand for the place, ID and the like for values.
	Error string
	// Words identify that error in any form; see [ErrorKind].
	Words []string
	Kind  *ErrorKind // kind of that error; nil if Words is empty
	// Vendors are the vendors of the API that enforce the rule; nil for all.
	Vendors []string

	Find Find // nil for a rule that only the provider can check, or that no request violates
}

// Check returns every place where the request violates the rule.
func (r *Rule) Check(q request.Request, thinking bool) []request.Violation {
	if r.Find == nil {
		return nil
	}
	found := r.Find(q, thinking)
	for i := range found {
		v := &found[i]
		v.Rule, v.Message = r.Code, cmp.Or(v.Message, r.Error)
	}
	return found
}

// MayPrint reports whether a request to one API, asked, may fail with the words of another, words: gateways for chat
// completions pass errors on, and Bedrock passes on Anthropic's. "" stands for any API.
func MayPrint(asked, words string) bool {
	same := func(name string) string { return strings.Replace(name, "bedrock", "anthropic", 1) }
	return words == "" || same(asked) == same(words) ||
		!slices.Contains([]string{"anthropic", "openai", "gemini", "bedrock"}, asked)
}

// Check returns every violation of the provider's rules, ordered by rule and place. thinking is whether the
// request enables thinking. The provider itself reports only one violation, usually the first.
func Check(p Provider, q request.Request, thinking bool) []request.Violation {
	var all []request.Violation
	for _, r := range p.Rules() {
		all = append(all, r.Check(q, thinking)...)
	}
	return all
}
