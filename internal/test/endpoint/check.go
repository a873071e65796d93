package endpoint

import "slices"

// A conversation is a request to Anthropic with its turns and the earlier answers.
type conversation struct {
	Request
	turns    []turn
	previous []Content      // the endpoint's earlier answers
	unbound  []unboundBlock // thinking that is bound to another conversation
}

// A rule is one condition of an API. check returns the provider's error message, or "" if the
// request is fine.
type rule[R any] struct {
	code   string
	source string // reports with the rule
	check  func(R) string
}

// violations returns every rule that the request breaks, once each, in the order of the table.
func violations[R any](rules []rule[R], r R) []Violation {
	var all []Violation
	for _, rule := range rules {
		if m := rule.check(r); m != "" {
			all = append(all, Violation{rule.code, m})
		}
	}
	return all
}

// messageRules are Anthropic's, by number. docs/providers.md has their sources.
var messageRules = []rule[conversation]{
	{code: "R1", check: toolUseWithoutResult},
	{code: "R2", check: toolResultWithoutUse},
	{code: "R3", check: thinkingNotFirst},
	{code: "R4", check: thinkingWhileOff},
	{code: "R5", check: emptyText},
	{code: "R6", check: emptyMessage},
	{code: "R7", check: badSignature},
	{code: "R8", check: changedThinking},
	{code: "R9", check: missingSignature},
	{code: "R10", check: thinkingLast},
	{code: "R11", check: blankText},
	{code: "R12", check: assistantLast},
	{code: "R13", check: badToolID},
	{code: "R14", check: badToolInput},
	{code: "R15", check: largeImage},
	{code: "R16", check: assistantFirst},
	{code: "R17", check: repeatedToolID},
	{code: "R18", check: noImage},
	{code: "R19", check: otherMediaType},
	{code: "R20", check: wrongMediaType},
	{code: "R21", check: wideImage},
	{code: "R28", check: conversation.boundElsewhere},
}

// A Violation is one broken rule, with the provider's error text.
type Violation struct {
	Rule, Message string
}

// Check returns the first rule that r breaks, "R1" to "R21", and the
// provider's message for it; both are empty if r is accepted. R8 compares thinking with
// previous, the endpoint's earlier answers in the conversation.
func Check(r Request, previous ...Content) (rule, message string) {
	if all := Violations(r, previous...); len(all) > 0 {
		return all[0].Rule, all[0].Message
	}
	return "", ""
}

// Violations returns every rule that r breaks, once each, by number.
func Violations(r Request, previous ...Content) []Violation {
	return newConversation(r, previous).violations()
}

func newConversation(r Request, previous []Content) conversation {
	return conversation{Request: r, turns: joinTurns(r.Messages), previous: previous}
}

func (c conversation) violations() []Violation { return violations(messageRules, c) }

// find returns the first message of check for a block of the conversation, or "".
func (c conversation) find(check func(locatedBlock) string) string {
	for _, t := range c.turns {
		for _, b := range t.blocks {
			if m := check(b); m != "" {
				return m
			}
		}
	}
	return ""
}

// last returns the last turn, or an empty one.
func (c conversation) last() turn {
	if len(c.turns) == 0 {
		return turn{}
	}
	return c.turns[len(c.turns)-1]
}

// loopOpen reports whether the last turn has a tool result, even if a text of the user follows it.
func (c conversation) loopOpen() bool { return c.last().has("tool_result") }

// lastAssistant returns the assistant's last turn, or an empty one.
func (c conversation) lastAssistant() turn {
	for _, t := range slices.Backward(c.turns) {
		if t.role == "assistant" {
			return t
		}
	}
	return turn{}
}
