package chat

import (
	"fmt"
	"slices"

	"mend/provider"
	"mend/request"
	"mend/session"
)

// Provider is an API for chat completions: OpenAI's own, or one of the many that copy it.
type Provider struct {
	Flavor Flavor
	// Field: the model has a member of its own for reasoning, in which empty reasoning is sent too.
	Field bool
}

var _ provider.Provider = Provider{}

// A Flavor is how a package writes what OpenAI's chat completions leave open.
type Flavor uint8

// The flavors.
const (
	Compatible Flavor = iota // reasoning in reasoning_content
	OpenRouter               // reasoning only with the details that OpenRouter gave
	Copilot                  // null for an answer without text
)

// Name implements [provider.Provider].
func (p Provider) Name() string { return [...]string{"chat", "openrouter", "copilot"}[p.Flavor] }

// The vendors that enforce more than OpenAI does.
const (
	DeepSeek = "deepseek"
	Moonshot = "moonshot"
	Qwen     = "qwen"
)

// Rules implements [provider.Provider]: C1 to C9, and V1 to V4 of single vendors
// (docs/providers.md).
func (p Provider) Rules() []provider.Rule {
	rules := []provider.Rule{
		{Code: "C1", Find: callWithoutResult, Text: "an answer with calls is followed by a result of each", Source: "QwenLM/qwen-code#199", Confidence: "A"},
		{Code: "C2", Find: resultWithoutCall, Text: "a result follows the answer with its call", Source: "FoundationAgents/OpenManus#227", Confidence: "A"},
		{Code: "C3", Find: repeatedInStep, Text: "the ids of the calls of one answer differ", Source: "agno-agi/agno#5116", Confidence: "A"},
		{Code: "C4", Find: invalidID, Text: "the id of a call has 1 to 64 characters", Source: "langmanus/langmanus#119", Confidence: "A"},
		{Code: "C5", Find: invalidName, Text: "the name of a tool matches ^[a-zA-Z0-9_-]+$", Source: "public error reports", Confidence: "B"},
		{Code: "C6", Find: p.nullContent, Text: "an answer has content or calls, not null", Source: "MoonshotAI/kimi-code#3052", Confidence: "A"},
		{Code: "C8", Find: brokenImage, Text: "an image is a PNG, JPEG, GIF or WebP that can be decoded", Source: "public error reports", Confidence: "B"},
		{Code: "C9", Find: longText, Text: "a text has at most 10485760 characters", Source: "the limit of OpenAI's Responses API", Confidence: "C"},
		{Code: "V1", Find: p.emptyAnswer, Text: "an answer has a text or calls", Source: "anomalyco/opencode#37887", Confidence: "A", Vendors: []string{Moonshot, DeepSeek}},
		{Code: "V2", Find: argumentsNotObject, Text: "the arguments of a call are a JSON object", Source: "HKUDS/nanobot#2469", Confidence: "A", Vendors: []string{Qwen}},
		{Code: "V3", Find: p.missingReasoning, Text: "reasoning comes back with each call", Source: "pi-mono#4178", Confidence: "A", Vendors: []string{Moonshot, DeepSeek}},
		{Code: "V4", Find: repeatedID, Text: "the id of a call is unique in the whole request", Source: "pi-mono#6796", Confidence: "A", Vendors: []string{DeepSeek}},
	}
	return rules
}

// answers calls f for every answer of the model.
func answers(turns []request.Turn, f func(n int, t request.Turn)) {
	for n, t := range turns {
		if t.Role == session.RoleAssistant {
			f(n, t)
		}
	}
}

// calls returns the calls of an answer.
func calls(t request.Turn) (all []*request.Block) {
	for _, b := range t.Blocks {
		if b.Type == request.ToolUse {
			all = append(all, b)
		}
	}
	return all
}

// callWithoutResult is C1.
func callWithoutResult(q request.Request, _ bool) (found []request.Violation) {
	answers(q.Turns, func(n int, t request.Turn) {
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
				found = append(found, provider.Violate(n, m, fmt.Sprintf("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", b.ToolID), b))
			}
		}
	})
	return found
}

// resultWithoutCall is C2.
func resultWithoutCall(q request.Request, _ bool) (found []request.Violation) {
	called := map[string]bool{}
	for n, t := range q.Turns {
		switch t.Role {
		case session.RoleAssistant:
			clear(called)
			for _, b := range calls(t) {
				called[b.ToolID] = true
			}
		case request.RoleTool:
			for m, b := range t.Blocks {
				if !called[b.ToolID] {
					found = append(found, provider.Violate(n, m, "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", b))
				}
			}
		default:
			clear(called)
		}
	}
	return found
}

// repeatedInStep is C3.
func repeatedInStep(q request.Request, _ bool) (found []request.Violation) {
	answers(q.Turns, func(n int, t request.Turn) {
		first := map[string]*request.Block{}
		for m, b := range t.Blocks {
			switch earlier := first[b.ToolID]; {
			case b.Type != request.ToolUse:
			case earlier == nil:
				first[b.ToolID] = b
			default:
				found = append(found, provider.Violate(n, m, fmt.Sprintf("Invalid parameter: Duplicate value for 'tool_call_id' of '%s', in messages[%d] and messages[%d].", b.ToolID, n+1, n+2), b, earlier))
			}
		}
	})
	return found
}

// maxID is the length of the longest id.
const maxID = 64

// invalidID is C4.
func invalidID(q request.Request, _ bool) (found []request.Violation) {
	eachCall(q.Turns, func(n, m, i int, b *request.Block) {
		field := fmt.Sprintf("messages[%d].tool_calls[%d].id", n, i)
		switch length := len([]rune(b.ToolID)); {
		case length == 0:
			found = append(found, provider.Violate(n, m, fmt.Sprintf("Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string instead.", field), b))
		case length > maxID:
			found = append(found, provider.Violate(n, m, fmt.Sprintf("Invalid '%s': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", field, maxID, length), b))
		}
	})
	return found
}

// eachCall calls f for call i of answer n, which is block m.
func eachCall(turns []request.Turn, f func(n, m, i int, b *request.Block)) {
	answers(turns, func(n int, t request.Turn) {
		i := 0
		for m, b := range t.Blocks {
			if b.Type == request.ToolUse {
				f(n, m, i, b)
				i++
			}
		}
	})
}

// invalidName is C5.
func invalidName(q request.Request, _ bool) (found []request.Violation) {
	eachCall(q.Turns, func(n, m, i int, b *request.Block) {
		if !provider.IsName(b.ToolName) {
			found = append(found, provider.Violate(n, m, fmt.Sprintf("Invalid 'messages[%d].tool_calls[%d].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", n, i), b))
		}
	})
	return found
}

// isEmpty reports whether an answer has neither text nor calls. Blanks count as text.
func isEmpty(t request.Turn) bool {
	for _, b := range t.Blocks {
		if b.Type == request.ToolUse || b.Type == request.Text && b.Text != "" {
			return false
		}
	}
	return true
}

// emptyViolations returns a violation for each answer with neither text nor calls.
func emptyViolations(q request.Request, message func(n int) string) (found []request.Violation) {
	answers(q.Turns, func(n int, t request.Turn) {
		if !isEmpty(t) {
			return
		}
		found = append(found, request.Violation{Message: message(n), Refs: t.Messages, N: n, M: -1})
	})
	return found
}

// nullContent is C6.
func (p Provider) nullContent(q request.Request, _ bool) []request.Violation {
	if p.Flavor != Copilot {
		return nil
	}
	return emptyViolations(q, func(int) string { return "Invalid value for 'content': expected a string, got null." })
}

// emptyAnswer is V1.
func (p Provider) emptyAnswer(q request.Request, _ bool) []request.Violation {
	if p.Flavor == Copilot {
		return nil
	}
	return emptyViolations(q, func(n int) string {
		return fmt.Sprintf("Invalid request: the message at position %d with role 'assistant' must not be empty", n)
	})
}

// missingReasoning is V3. Whether a model without a field for it thinks is not known.
func (p Provider) missingReasoning(q request.Request, _ bool) (found []request.Violation) {
	answers(q.Turns, func(n int, t request.Turn) {
		if c := calls(t); p.Field && len(c) > 0 && !slices.ContainsFunc(t.Blocks, (*request.Block).IsThinking) {
			found = append(found, provider.Violate(n, 0, fmt.Sprintf("thinking is enabled but reasoning_content is missing in assistant tool call message at index %d", n), c[0]))
		}
	})
	return found
}

// brokenImage is C8.
func brokenImage(q request.Request, _ bool) (found []request.Violation) {
	provider.EachImage(q.Turns, func(n, m, _ int, b *request.Block) {
		if !provider.IsDecodable(b) {
			found = append(found, provider.Violate(n, m, "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].", b))
		}
	})
	return found
}

// longText is C9.
func longText(q request.Request, _ bool) (found []request.Violation) {
	const limit = 10485760
	provider.EachBlock(q.Turns, func(n, m int, b *request.Block) {
		if length := provider.OutputLength(b, limit); length > 0 {
			found = append(found, provider.Violate(n, m, fmt.Sprintf("Invalid 'messages[%d].content': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", n, limit, length), b))
		}
	})
	return found
}

// argumentsNotObject is V2. A call without input is sent without arguments.
func argumentsNotObject(q request.Request, _ bool) (found []request.Violation) {
	eachCall(q.Turns, func(n, m, _ int, b *request.Block) {
		if b.Input == nil || !provider.IsObject(b.Input) {
			found = append(found, provider.Violate(n, m, `The "function.arguments" parameter of the code model must be in JSON format.`, b))
		}
	})
	return found
}

// repeatedID is V4. Calls of one answer with the same id are C3.
func repeatedID(q request.Request, _ bool) (found []request.Violation) {
	type place struct {
		turn int
		b    *request.Block
	}
	first := map[string]place{}
	eachCall(q.Turns, func(n, m, _ int, b *request.Block) {
		earlier, seen := first[b.ToolID]
		switch {
		case !seen:
			first[b.ToolID] = place{n, b}
		case earlier.turn != n:
			found = append(found, provider.Violate(n, m, fmt.Sprintf("Duplicate value for 'tool_call_id' of %s in message[%d]", b.ToolID, n+1), b, earlier.b))
		}
	})
	return found
}
