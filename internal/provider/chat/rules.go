package chat

import (
	"slices"

	"mend/internal/provider"
	"mend/internal/request"
)

// Rules implements [provider.Provider].
func (p Provider) Rules() []provider.Rule {
	all := slices.Clone(rules)
	for i := range all {
		if !p.canBreak(all[i].Code) {
			all[i].Find = nil
		}
	}
	return all
}

// canBreak reports whether a request of the flavor can break the rule. A model without a field for reasoning may or
// may not think.
func (p Provider) canBreak(code string) bool {
	switch code {
	case "C6":
		return p.Flavor == Copilot
	case "V1":
		return p.Flavor != Copilot
	case "V3":
		return p.Field
	}
	return true
}

// rules are C1 to C10, and the rules V1 to V4 of single vendors (docs/providers.md). Calls of one answer with the same
// id violate C3, not V4.
var rules = []provider.Rule{
	{
		Code: "C1", Text: "each tool call is answered by a tool message right after it",
		Error: "An assistant message with 'tool_calls' must be followed by tool messages responding to each " +
			"'tool_call_id'. The following tool_call_ids did not have response messages: ID",
		Words: []string{"must be followed by tool messages", "did not have response messages"},
		Kind:  &provider.ToolResultMissing, Find: callWithoutResult,
	},
	{
		Code: "C2", Text: "each tool message answers a tool call before it",
		Error: "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
		Words: []string{"'tool' must be a response to a prece"},
		Kind:  &provider.OrphanResult, Find: resultWithoutCall,
	},
	{
		Code: "C3", Text: "within one step each call has its own id",
		Error: "Invalid parameter: Duplicate value for 'tool_call_id' of 'ID', in messages[N] and messages[N].",
		Words: []string{"duplicate value for 'tool_call_id' … in messages["},
		Kind:  &provider.InvalidToolCall, Find: provider.RepeatedID(provider.SameTurn),
	},
	{
		Code: "C4", Text: "the id of a call has 1 to 64 characters; older models accept 40",
		Error: "Invalid 'messages[N].tool_calls[0].id': string too long.",
		Words: []string{"messages[ … tool_calls[ … ].id'"},
		Kind:  &provider.InvalidToolCall, Find: provider.FindCalls(hasInvalidID),
	},
	{
		Code: "C5", Text: "the name of a tool has only letters, digits, _ and -",
		Error: "Invalid 'messages[N].tool_calls[0].function.name': string does not match pattern. Expected a string that " +
			"matches the pattern '^[a-zA-Z0-9_-]+$'.",
		Words: []string{"messages[ … tool_calls[ … function.name"},
		Kind:  &provider.InvalidToolCall, Find: provider.FindCalls(provider.InvalidName),
	},
	{
		Code: "C6", Text: "an assistant message has content or tool calls",
		Error: "Invalid value for 'content': expected a string, got null.",
		Words: []string{"invalid value for 'content' … null"},
		Kind:  &provider.EmptyContent, Find: provider.FindTurns(isEmpty),
	},
	{
		Code: "C8", Text: "images are PNG, JPEG, GIF or WebP, and can be decoded",
		Error: "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', " +
			"'jpeg', 'gif', 'webp'].",
		Words: []string{"you uploaded an unsupported image"},
		Kind:  &provider.InvalidFile, Find: provider.FindImages(provider.Undecodable),
	},
	{
		Code: "C9", Text: "a text has at most 10485760 characters",
		Error: "Invalid 'messages[N].content': string too long. Expected a string with maximum length 10485760, but got a " +
			"string with length M instead.",
		Words: []string{"'messages[ … content … string too long"},
		Kind:  &provider.OutputTooLong, Find: provider.FindBlocks(provider.HasLongText),
	},
	provider.ValidJSON("C10", provider.HalfPairInText),
	{
		Code: "V1", Text: "an assistant message is not empty (Moonshot, Kimi, DeepSeek and others)",
		Vendors: []string{Moonshot, DeepSeek},
		Error:   "Invalid request: the message at position N with role 'assistant' must not be empty",
		Words:   []string{"message at position … must not be empty", "content or tool_calls must be set"},
		Kind:    &provider.EmptyContent, Find: provider.FindTurns(isEmpty),
	},
	{
		Code: "V2", Text: "the input of a call is a JSON object (Qwen and vLLM)", Vendors: []string{Qwen},
		Error: `The "function.arguments" parameter of the code model must be in JSON format.`,
		Words: []string{"function.arguments … json format"},
		Kind:  &provider.InvalidToolCall, Find: provider.FindCalls(provider.NoObject),
	},
	{
		Code: "V3", Text: "each tool call comes with its reasoning (DeepSeek, Moonshot)",
		Vendors: []string{Moonshot, DeepSeek},
		Error:   "thinking is enabled but reasoning_content is missing in assistant tool call message at index N",
		Words:   []string{"reasoning_content … missing", "reasoning_content … must be passed back"},
		Kind:    &provider.ReasoningMissing, Find: provider.FindFirst(request.ToolUse, lacksReasoning),
	},
	{
		Code: "V4", Text: "the id of a call is unique in the whole request (DeepSeek)", Vendors: []string{DeepSeek},
		Error: "Duplicate value for 'tool_call_id' of ID in message[N]",
		Words: []string{"duplicate value for 'tool_call_id' of … in message["},
		Kind:  &provider.InvalidToolCall, Find: provider.RepeatedID(provider.OtherTurn),
	},
}

// callWithoutResult checks C1.
func callWithoutResult(q request.Request, _ bool) (found []request.Violation) {
	for n, t := range q.Turns {
		if !provider.IsAssistant(q, n) {
			continue
		}
		results := map[string]bool{}
		for _, r := range q.Turns[n+1:] {
			if r.Role != request.RoleTool {
				break
			}
			for _, b := range r.Blocks {
				results[b.ToolID] = true
			}
		}
		for m, b := range t.Blocks {
			if b.Type == request.ToolUse && !results[b.ToolID] {
				found = append(found, provider.Violate(n, m, b))
			}
		}
	}
	return found
}

// resultWithoutCall checks C2.
func resultWithoutCall(q request.Request, _ bool) (found []request.Violation) {
	called := map[string]bool{}
	for n, t := range q.Turns {
		if t.Role != request.RoleTool {
			clear(called)
		}
		for m, b := range t.Blocks {
			switch {
			case b.Type == request.ToolUse:
				called[b.ToolID] = true
			case t.Role == request.RoleTool && !called[b.ToolID]:
				found = append(found, provider.Violate(n, m, b))
			}
		}
	}
	return found
}

func hasInvalidID(call *request.Block) bool { return !provider.HasValidLength(call.ToolID) }

// isEmpty reports whether turn n is an answer with neither text nor calls. Blanks count as text.
func isEmpty(q request.Request, n int) bool {
	return provider.IsAssistant(q, n) && !slices.ContainsFunc(q.Turns[n].Blocks, func(b *request.Block) bool {
		return b.Type == request.ToolUse || b.Type == request.Text && b.Text != ""
	})
}

// lacksReasoning reports whether turn n is an answer without reasoning.
func lacksReasoning(q request.Request, n int) bool {
	return provider.IsAssistant(q, n) && !slices.ContainsFunc(q.Turns[n].Blocks, (*request.Block).IsThinking)
}
