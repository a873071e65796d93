package wire

import (
	"fmt"
	"slices"

	"mend/session"
)

// A Violation is why a session is dead: a rule of the provider that the request
// breaks, in the provider's words, or what ends the agent before it sends one.
type Violation struct {
	Rule    string // "R1" to "R17", or the code of a [Fatal]
	Message string
	// Refs are the records at fault, the one to blame first. It may be empty
	// where no record of the session is, such as for the new prompt's block.
	Refs []session.Ref
	// N and M are the place, messages.N.content.M, also where the provider's words
	// do not tell it; M is -1 for a fault of a whole turn, both are for a Fatal.
	N, M int
}

// A rule finds every place where a request breaks it.
type rule struct {
	code string
	find func(conversation, func(Violation))

	thinking bool // it asks whether the model is asked to think
}

// broken tells where the rule is broken.
func (r rule) broken(c conversation) (all []Violation) {
	r.find(c, func(v Violation) {
		v.Rule = r.code
		all = append(all, v)
	})
	return all
}

// rules of docs/providers.md, in the order of their numbers.
func rules() []rule {
	return []rule{
		{code: "R1", find: callWithoutResult},
		{code: "R2", find: resultWithoutCall},
		{code: "R3", find: thinkingNotFirst, thinking: true},
		{code: "R4", find: thinkingWhileOff, thinking: true},
		{code: "R5", find: emptyText},
		{code: "R6", find: emptyTurn},
		{code: "R9", find: unsignedThinking},
		{code: "R10", find: thinkingLast},
		{code: "R11", find: blankText},
		{code: "R12", find: answerLast},
		{code: "R13", find: badCallID},
		{code: "R14", find: badInput},
		{code: "R15", find: largeImage},
		{code: "R16", find: answerFirst},
		{code: "R17", find: repeatedCallID},
	}
}

// A conversation is a request as the rules see it.
type conversation struct {
	turns    []Turn
	spots    map[BlockType][]spot // where the blocks of each type are, in order
	thinking bool
}

// A spot is the place of a block: messages.n.content.m.
type spot struct{ n, m int32 }

func converse(turns []Turn) conversation {
	c := conversation{turns: turns, spots: map[BlockType][]spot{}}
	for n, t := range turns {
		for m, b := range t.Blocks {
			c.spots[b.Type] = append(c.spots[b.Type], spot{int32(n), int32(m)})
		}
	}
	return c
}

// Check tells every fault of the request: first what is fatal, since then nothing
// is sent, then the rules that are broken, by number and place. thinking says
// whether the request asks the model to think. The first fault is the one that
// shows: a provider tells no more than one.
func Check(r Request, thinking bool) []Violation {
	return slices.Concat(r.dead(), judge(r.Turns, thinking), r.again())
}

// again tells of the request that follows because the agent does not see its answer.
func (r Request) again() []Violation {
	if n := len(r.Turns); r.Unseen == (session.Ref{}) || len(r.Fatal) > 0 || n > 0 && r.Turns[n-1].Role == session.RoleAssistant {
		return nil
	}
	return []Violation{{"R12", "This model does not support assistant message prefill. The conversation must end with a user message.", []session.Ref{r.Unseen}, len(r.Turns), -1}}
}

// dead tells what is fatal.
func (r Request) dead() []Violation {
	var all []Violation
	for _, f := range r.Fatal {
		all = append(all, Violation{f.Code, f.Why, []session.Ref{f.Ref}, -1, -1})
	}
	return all
}

// judge tells the rules that are broken.
func judge(turns []Turn, thinking bool) []Violation {
	var all []Violation
	c := converse(turns)
	c.thinking = thinking
	for _, r := range rules() {
		all = append(all, r.broken(c)...)
	}
	return all
}

// eachBlock calls f for every block of a type, in order.
func (c conversation) eachBlock(kind BlockType, f func(n, m int, b *Block)) {
	for _, at := range c.spots[kind] {
		f(int(at.n), int(at.m), c.turns[at.n].Blocks[at.m])
	}
}

// lastAnswer is the number of the model's last turn, -1 if there is none.
func (c conversation) lastAnswer() int {
	for n := len(c.turns) - 1; n >= 0; n-- {
		if c.turns[n].Role == session.RoleAssistant {
			return n
		}
	}
	return -1
}

// loopOpen reports whether the last turn holds a result, also when the user
// wrote something behind it: the model goes on with its last turn.
func (c conversation) loopOpen() bool {
	n := len(c.turns)
	return n > 0 && c.turns[n-1].first(ToolResult) >= 0
}

// first is the turn's first block of a type, -1 if there is none.
func (t Turn) first(kind BlockType) int {
	for m := range t.Blocks {
		if t.Blocks[m].Type == kind {
			return m
		}
	}
	return -1
}

func (b *Block) isThinking() bool { return b.Type == Thinking || b.Type == RedactedThinking }

// refs are the records of blocks, each once, without the new prompt's.
func refs(blocks ...*Block) []session.Ref {
	var all []session.Ref
	seen := map[session.Ref]bool{{}: true}
	for _, b := range blocks {
		if !seen[b.Source] {
			seen[b.Source] = true
			all = append(all, b.Source)
		}
	}
	return all
}

// place is how the provider names a block.
func place(n, m int) string { return fmt.Sprintf("messages.%d.content.%d", n, m) }
