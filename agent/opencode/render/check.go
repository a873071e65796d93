package render

import (
	"slices"

	"mend/change"
	"mend/internal/provider"
	"mend/internal/request"
)

// Check returns the reasons why the request fails: first the agent's failures, which keep it from sending anything,
// then the violations of the provider's rules, by rule and position, and then the violations of the request after this
// one. The agent shows its user only the first. thinking means that the request enables thinking.
func Check(p provider.Provider, r Request, thinking bool) []request.Violation {
	all := slices.Concat(r.failureViolations(), provider.Check(p, r.Request, thinking), r.unseenAnswer(p, thinking))
	if r.Next != nil {
		all = join(all, Check(p, *r.Next, thinking))
	}
	return all
}

// failureViolations returns the failures as violations.
func (r Request) failureViolations() []request.Violation {
	var all []request.Violation
	for _, f := range r.Failures {
		all = append(all, request.Violation{
			Rule: f.Code, Message: f.Why, Refs: []change.Ref{f.Ref}, N: -1, M: -1,
			Block: f.File,
		})
	}
	return all
}

// unseenAnswer returns the violations if the agent does not see the answer to the request. The agent then sends a
// second request, which ends with that answer. unseenAnswer checks the last two turns of that request, with
// placeholders for their text. If the provider accepts them, the agent never stops.
func (r Request) unseenAnswer(p provider.Provider, thinking bool) []request.Violation {
	if r.Unseen == (change.Ref{}) || len(r.Failures) > 0 {
		return nil
	}
	n := len(r.Turns)
	end := request.Request{Model: r.Model, Turns: []request.Turn{
		{Role: change.RoleUser, Blocks: []*request.Block{{Type: request.Text, Text: PromptText}}},
		{
			Role: change.RoleAssistant, Blocks: []*request.Block{{Type: request.Text, Text: "(the answer)"}},
			Messages: []change.Ref{r.Unseen},
		},
	}}
	found := provider.Check(p, end, thinking)
	switch {
	case len(found) == 0:
		return []request.Violation{{Rule: FailureClock, Message: "the agent does not see that a new prompt is answered, " +
			"and asks again without end", Refs: []change.Ref{r.Unseen}, N: -1, M: -1}}
	case n > 0 && r.Turns[n-1].Role == change.RoleAssistant:
		return nil // the first request is refused for the same reason
	}
	for i := range found {
		found[i].N += n - 1
	}
	return found
}
