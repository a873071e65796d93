package wire

import (
	"bytes"
	"fmt"
	"strings"

	"mend/session"
)

const idPattern = "^[a-zA-Z0-9_-]+$"

// goodID reports whether an id matches the pattern.
func goodID(id string) bool {
	for i := range len(id) {
		if notInID(rune(id[i])) {
			return false
		}
	}
	return id != ""
}

func notInID(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-'
}

// R1: every call has its result at the start of the next turn, and nothing but
// calls stands behind a call. To blame is what stands in between, then the calls.
func callWithoutResult(c conversation, found func(Violation)) {
	answered := map[string]bool{}
	for n, t := range c.turns {
		clear(answered)
		if n+1 < len(c.turns) {
			c.turns[n+1].leadingResults(answered)
		}
		lost, between := t.lostCalls(answered)
		if len(lost) == 0 {
			continue
		}
		var ids []string
		for _, b := range lost {
			ids = append(ids, b.ToolID)
		}
		found(Violation{
			Message: fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", n, strings.Join(ids, ", ")),
			Refs:    refs(append(between, lost...)...), N: n, M: t.first(ToolUse),
		})
	}
}

// lostCalls are the turn's calls that have no result, or something behind them,
// and what that is.
func (t Turn) lostCalls(answered map[string]bool) (lost, between []*Block) {
	last := -1 // the last block that is no call
	for m := range t.Blocks {
		if t.Blocks[m].Type != ToolUse {
			last = m
		}
	}
	seen := false
	for m := range t.Blocks {
		b := t.Blocks[m]
		switch {
		case b.Type != ToolUse && seen:
			between = append(between, b)
		case b.Type == ToolUse && (m < last || !answered[b.ToolID]):
			lost = append(lost, b)
		}
		seen = seen || b.Type == ToolUse
	}
	return lost, between
}

// leadingResults puts the ids into the set that the turn answers before it says
// anything else.
func (t Turn) leadingResults(ids map[string]bool) {
	for i := range t.Blocks {
		if t.Blocks[i].Type != ToolResult {
			break
		}
		ids[t.Blocks[i].ToolID] = true
	}
}

// R2: every result answers a call of the turn before.
func resultWithoutCall(c conversation, found func(Violation)) {
	asked, next := map[string]bool{}, map[string]bool{}
	for n, t := range c.turns {
		for m := range t.Blocks {
			b := t.Blocks[m]
			if b.Type == ToolResult && !asked[b.ToolID] {
				found(Violation{
					Message: fmt.Sprintf("%s: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", place(n, m), b.ToolID),
					Refs:    refs(b), N: n, M: m,
				})
			}
			if b.Type == ToolUse {
				next[b.ToolID] = true
			}
		}
		asked, next = next, asked
		clear(next)
	}
}

// R13: the ids of calls are made of letters, digits, underscore and hyphen. A
// result is told only where its call is not.
func badCallID(c conversation, found func(Violation)) {
	told := map[session.Ref]bool{}
	judge := func(kind BlockType, field string) {
		c.eachBlock(kind, func(n, m int, b *Block) {
			if goodID(b.ToolID) || told[b.Source] {
				return
			}
			told[b.Source] = true
			found(Violation{Message: place(n, m) + field + ": String should match pattern '" + idPattern + "'", Refs: refs(b), N: n, M: m})
		})
	}
	judge(ToolUse, ".tool_use.id")
	judge(ToolResult, ".tool_result.tool_use_id")
}

// R14: the input of a call is an object.
func badInput(c conversation, found func(Violation)) {
	c.eachBlock(ToolUse, func(n, m int, b *Block) {
		if !bytes.HasPrefix(bytes.TrimSpace(b.Input), []byte("{")) {
			found(Violation{Message: place(n, m) + ".tool_use.input: Input should be a valid dictionary", Refs: refs(b), N: n, M: m})
		}
	})
}

// R17: no two calls have one id. To blame is the later one, then the first.
func repeatedCallID(c conversation, found func(Violation)) {
	first := make(map[string]*Block, len(c.spots[ToolUse]))
	c.eachBlock(ToolUse, func(n, m int, b *Block) {
		was, seen := first[b.ToolID]
		if !seen {
			first[b.ToolID] = b
			return
		}
		found(Violation{Message: fmt.Sprintf("messages.%d: `tool_use` ids must be unique", n), Refs: refs(b, was), N: n, M: m})
	})
}
