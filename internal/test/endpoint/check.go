package endpoint

import "slices"

// A conversation is a request with its turns and the answers before it.
type conversation struct {
	Request
	turns    []turn
	previous []Content // the endpoint's earlier answers
}

// A rule checks one condition and returns the provider's error message, or "" if the
// request is fine.
type rule struct {
	code  string
	check func(conversation) string
}

// rules has all rules, by number.
var rules = []rule{
	{"R1", toolUseWithoutResult},
	{"R2", toolResultWithoutUse},
	{"R3", thinkingNotFirst},
	{"R4", thinkingWhileOff},
	{"R5", emptyText},
	{"R6", emptyMessage},
	{"R7", badSignature},
	{"R8", changedThinking},
	{"R9", missingSignature},
	{"R10", thinkingLast},
	{"R11", blankText},
	{"R12", assistantLast},
	{"R13", badToolID},
	{"R14", badToolInput},
	{"R15", largeImage},
	{"R16", assistantFirst},
	{"R17", repeatedToolID},
	{"R18", noImage},
	{"R19", otherMediaType},
	{"R20", wrongMediaType},
	{"R21", wideImage},
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
	c := conversation{r, joinTurns(r.Messages), previous}
	var all []Violation
	for _, rule := range rules {
		if m := rule.check(c); m != "" {
			all = append(all, Violation{rule.code, m})
		}
	}
	return all
}

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

// loopOpen reports whether the last turn has a tool result, also if a text of the user
// follows it.
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
