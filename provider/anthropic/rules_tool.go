package anthropic

import (
	"bytes"
	"fmt"
	"strings"

	"mend/request"
	"mend/session"
)

// toolIDPattern is the pattern of tool ids, in the words of the API.
const toolIDPattern = "^[a-zA-Z0-9_-]+$"

// validToolID reports whether an id matches toolIDPattern.
func validToolID(id string) bool {
	return id != "" && !strings.ContainsFunc(id, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-'
	})
}

// callWithoutResult is R1. The records at fault are those between the calls and their
// results, then those of the calls.
func callWithoutResult(r request.Request, _ bool) (found []request.Violation) {
	answered := map[string]bool{}
	for n, t := range r.Turns {
		clear(answered)
		if n+1 < len(r.Turns) {
			addLeadingResults(answered, r.Turns[n+1])
		}
		calls, between := unansweredCalls(t, answered)
		if len(calls) == 0 {
			continue
		}
		var ids []string
		for _, b := range calls {
			ids = append(ids, b.ToolID)
		}
		found = append(found, request.Violation{
			Message: fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", n, strings.Join(ids, ", ")),
			Refs:    request.Sources(append(between, calls...)...), N: n, M: firstBlock(t, request.ToolUse),
		})
	}
	return found
}

// unansweredCalls returns the turn's calls that are not answered or are followed by
// another type of block, and the blocks of other types after the first call.
func unansweredCalls(t request.Turn, answered map[string]bool) (calls, between []*request.Block) {
	last := -1 // the last block that is no call
	for m, b := range t.Blocks {
		if b.Type != request.ToolUse {
			last = m
		}
	}
	seen := false
	for m, b := range t.Blocks {
		switch {
		case b.Type != request.ToolUse && seen:
			between = append(between, b)
		case b.Type == request.ToolUse && (m < last || !answered[b.ToolID]):
			calls = append(calls, b)
		}
		seen = seen || b.Type == request.ToolUse
	}
	return calls, between
}

// addLeadingResults adds the ids of the results at the start of the turn.
func addLeadingResults(ids map[string]bool, t request.Turn) {
	for _, b := range t.Blocks {
		if b.Type != request.ToolResult {
			break
		}
		ids[b.ToolID] = true
	}
}

// resultWithoutCall is R2.
func resultWithoutCall(r request.Request, _ bool) (found []request.Violation) {
	calls, next := map[string]bool{}, map[string]bool{}
	for n, t := range r.Turns {
		for m, b := range t.Blocks {
			if b.Type == request.ToolResult && !calls[b.ToolID] {
				const words = ": unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
				found = append(found, blockViolation(n, m, b, fmt.Sprintf(words, b.ToolID)))
			}
			if b.Type == request.ToolUse {
				next[b.ToolID] = true
			}
		}
		calls, next = next, calls
		clear(next)
	}
	return found
}

// invalidToolID is R13. A result is reported only where its call is not.
func invalidToolID(r request.Request, _ bool) (found []request.Violation) {
	reported := map[session.Ref]bool{}
	check := func(kind request.BlockType, field string) {
		eachBlock(r.Turns, kind, func(n, m int, b *request.Block) {
			if validToolID(b.ToolID) || reported[b.Ref()] {
				return
			}
			reported[b.Ref()] = true
			found = append(found, blockViolation(n, m, b, field+": String should match pattern '"+toolIDPattern+"'"))
		})
	}
	check(request.ToolUse, ".tool_use.id")
	check(request.ToolResult, ".tool_result.tool_use_id")
	return found
}

// inputNotObject is R14.
func inputNotObject(r request.Request, _ bool) (found []request.Violation) {
	eachBlock(r.Turns, request.ToolUse, func(n, m int, b *request.Block) {
		if !bytes.HasPrefix(bytes.TrimSpace(b.Input), []byte("{")) {
			found = append(found, blockViolation(n, m, b, ".tool_use.input: Input should be a valid dictionary"))
		}
	})
	return found
}

// repeatedToolID is R17. The records at fault are the later call's, then the first call's.
func repeatedToolID(r request.Request, _ bool) (found []request.Violation) {
	first := map[string]*request.Block{}
	eachBlock(r.Turns, request.ToolUse, func(n, m int, b *request.Block) {
		earlier, seen := first[b.ToolID]
		if !seen {
			first[b.ToolID] = b
			return
		}
		found = append(found, request.Violation{Message: fmt.Sprintf("messages.%d: `tool_use` ids must be unique", n), Refs: request.Sources(b, earlier), N: n, M: m, Block: b})
	})
	return found
}
