package bedrock

import (
	"fmt"

	"mend/internal/media"
	"mend/provider"
	"mend/request"
	"mend/session"
)

// Provider is Amazon Bedrock's Converse API with the models of Anthropic.
type Provider struct{}

var _ provider.Provider = Provider{}

// Name implements [provider.Provider].
func (Provider) Name() string { return "bedrock" }

// Rules implements [provider.Provider]: B1 to B11 of docs/providers.md, except B9, which only
// the provider can check.
func (Provider) Rules() []provider.Rule { return rules }

// claude is where the rules B5 to B11 come from.
const claude = "Anthropic's rules, taken to hold here too"

var rules = []provider.Rule{
	{Code: "B1", Find: assistantFirst, Text: "the conversation starts with a user message", Source: "public error reports", Confidence: "A"},
	{Code: "B3", Find: emptyMessage, Text: "each message has content", Source: "public error reports", Confidence: "A"},
	{Code: "B4", Find: blankText, Text: "a text holds more than blanks, in the result of a tool too", Source: "OpenHands/OpenHands#5722, continuedev/continue#9767, anomalyco/opencode#15715", Confidence: "A"},
	{Code: "B5", Find: invalidID, Text: "the id of a call matches [a-zA-Z0-9_-]{1,64}", Source: claude, Confidence: "C"},
	{Code: "B7", Find: repeatedID, Text: "the ids of calls differ", Source: claude, Confidence: "C"},
	{Code: "B8", Find: blockAfterCall, Text: "only calls follow a call in its message, and their results come next", Source: claude, Confidence: "C"},
	{Code: "B10", Find: badImage, Text: "an image has at most 3.75 MB, can be decoded, and has the type that it is declared with", Source: "aws-samples/amazon-bedrock-client-for-mac#130, NousResearch/hermes-agent#55429", Confidence: "B"},
	{Code: "B11", Find: thinkingLast, Text: "no answer ends with reasoning", Source: claude, Confidence: "C"},
}

// assistantFirst is B1.
func assistantFirst(q request.Request, _ bool) []request.Violation {
	if len(q.Turns) == 0 || q.Turns[0].Role == session.RoleUser {
		return nil
	}
	return []request.Violation{{Message: "A conversation must start with a user message. Try again with a conversation that starts with a user message.", Refs: q.Turns[0].Messages, N: 0, M: -1}}
}

// emptyMessage is B3.
func emptyMessage(q request.Request, _ bool) (found []request.Violation) {
	for n, t := range q.Turns {
		if len(t.Blocks) == 0 {
			found = append(found, request.Violation{
				Message: fmt.Sprintf("The content field in the Message object at messages.%d is empty. Add a ContentBlock object to the content field and try again.", n),
				Refs:    t.Messages, N: n, M: -1,
			})
		}
	}
	return found
}

// blankText is B4.
func blankText(q request.Request, _ bool) (found []request.Violation) {
	provider.EachBlock(q.Turns, func(n, m int, b *request.Block) {
		if isBlank(b) {
			found = append(found, provider.Violate(n, m, fmt.Sprintf("The text field in the ContentBlock object at messages.%d.content.%d is blank. Add text to the text field, and try again.", n, m), b))
		}
	})
	return found
}

// isBlank reports whether the block is a blank text, or a result with one.
func isBlank(b *request.Block) bool {
	switch {
	case b.Type == request.Text:
		return provider.IsBlank(b.Text)
	case b.Type != request.ToolResult:
		return false
	case b.Output != nil:
		return len(b.Output) < maxBlank && provider.IsBlank(b.OutputText())
	}
	for _, c := range b.Content {
		if c.Type == request.Text && provider.IsBlank(c.Text) {
			return true
		}
	}
	return false
}

// maxBlank is the length of the longest output, as a JSON string, that is looked at for
// something else than blanks.
const maxBlank = 1 << 20

// maxID is the length of the longest id of a call.
const maxID = 64

// invalidID is B5. A result is reported only where its call is not.
func invalidID(q request.Request, _ bool) (found []request.Violation) {
	reported := map[session.Ref]bool{}
	for _, kind := range [...]request.BlockType{request.ToolUse, request.ToolResult} {
		provider.EachBlock(q.Turns, func(n, m int, b *request.Block) {
			if b.Type != kind || provider.IsName(b.ToolID) && len(b.ToolID) <= maxID || reported[b.Ref()] {
				return
			}
			reported[b.Ref()] = true
			field := "toolUse"
			if kind == request.ToolResult {
				field = "toolResult"
			}
			found = append(found, provider.Violate(n, m, fmt.Sprintf("Value '%s' at 'messages.%d.member.content.%d.member.%s.toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+ and have length less than or equal to %d", short(b.ToolID), n+1, m+1, field, maxID), b))
		})
	}
	return found
}

func short(s string) string { return s[:min(len(s), 80)] }

// repeatedID is B7.
func repeatedID(q request.Request, _ bool) (found []request.Violation) {
	first := map[string]*request.Block{}
	provider.EachBlock(q.Turns, func(n, m int, b *request.Block) {
		switch earlier := first[b.ToolID]; {
		case b.Type != request.ToolUse:
		case earlier == nil:
			first[b.ToolID] = b
		default:
			found = append(found, provider.Violate(n, m, fmt.Sprintf("messages.%d: `tool_use` ids must be unique", n), b, earlier))
		}
	})
	return found
}

// blockAfterCall is B8. The records at fault are those between the calls and their results,
// then those of the calls.
func blockAfterCall(q request.Request, _ bool) (found []request.Violation) {
	for n, t := range q.Turns {
		answered := map[string]bool{}
		if n+1 < len(q.Turns) {
			for _, b := range q.Turns[n+1].Blocks {
				if b.Type != request.ToolResult {
					break
				}
				answered[b.ToolID] = true
			}
		}
		var calls, between []*request.Block
		at, missing := -1, false
		for m, b := range t.Blocks {
			switch {
			case b.Type == request.ToolUse:
				if at < 0 {
					at = m
				}
				calls = append(calls, b)
				missing = missing || !answered[b.ToolID]
			case at >= 0:
				between = append(between, b)
			}
		}
		if len(between) > 0 || missing {
			found = append(found, provider.Violate(n, at, fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", n, calls[0].ToolID), append(between, calls...)...))
		}
	}
	return found
}

// largestImage is the size of the largest image, in bytes.
const largestImage = 3932160

// badImage is B10.
func badImage(q request.Request, _ bool) (found []request.Violation) {
	provider.EachImage(q.Turns, func(n, m, _ int, b *request.Block) {
		if b.URL != "" {
			return
		}
		problem := ""
		size, info := len(b.Data)/4*3, b.MediaInfo()
		switch {
		case size > largestImage+3:
			problem = fmt.Sprintf("image exceeds 3.75 MB maximum: %d bytes > %d bytes", size, largestImage)
		case info.Fault == media.Empty:
			problem = "image cannot be empty"
		case !info.Image():
			problem = "Could not process image"
		case !info.Matches(b.Mime):
			problem = fmt.Sprintf("The image was specified using the %s media type, but the image appears to be a %s image", b.Mime, info.Type)
		default:
			return
		}
		found = append(found, provider.Violate(n, m, fmt.Sprintf("messages.%d.content.%d.image.source.bytes: %s", n, m, problem), b))
	})
	return found
}

// thinkingLast is B11.
func thinkingLast(q request.Request, _ bool) (found []request.Violation) {
	for n, t := range q.Turns {
		m := len(t.Blocks) - 1
		if t.Role == session.RoleAssistant && m >= 0 && t.Blocks[m].IsThinking() {
			found = append(found, provider.Violate(n, m, fmt.Sprintf("messages.%d: The final block in an assistant message cannot be `thinking`.", n), t.Blocks[m]))
		}
	}
	return found
}
