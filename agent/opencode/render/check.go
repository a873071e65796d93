package render

import (
	"slices"

	"mend/provider"
	"mend/request"
	"mend/session"
)

// Check returns why the request fails: the agent's failures, with which it sends nothing,
// then the violations of the provider's rules, by rule and place. thinking is whether the
// request enables thinking. The user sees only the first violation.
func Check(p provider.Provider, r Request, thinking bool) []request.Violation {
	return slices.Concat(r.failureViolations(), provider.Check(p, r.Request, thinking), r.refusedRepeat(p, thinking))
}

// failureViolations returns the failures as violations.
func (r Request) failureViolations() []request.Violation {
	var all []request.Violation
	for _, f := range r.Failures {
		all = append(all, request.Violation{Rule: f.Code, Message: f.Why, Refs: []session.Ref{f.Ref}, N: -1, M: -1})
	}
	return all
}

// refusedRepeat returns the violations of the second request, which the agent sends if it
// does not see the answer to the first one. That request ends with the answer, so its last
// two turns are checked, with placeholders for their text.
func (r Request) refusedRepeat(p provider.Provider, thinking bool) []request.Violation {
	n := len(r.Turns)
	if r.Unseen == (session.Ref{}) || len(r.Failures) > 0 || n > 0 && r.Turns[n-1].Role == session.RoleAssistant {
		return nil
	}
	end := request.Request{Model: r.Model, Turns: []request.Turn{
		{Role: session.RoleUser, Blocks: []*request.Block{{Type: request.Text, Text: PromptText}}},
		{Role: session.RoleAssistant, Blocks: []*request.Block{{Type: request.Text, Text: "(the answer)"}}, Messages: []session.Ref{r.Unseen}},
	}}
	found := provider.Check(p, end, thinking)
	for i := range found {
		found[i].N += n - 1
	}
	return found
}
