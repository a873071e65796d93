package anthropic

import (
	"mend/internal/media"
	"mend/internal/provider"
	"mend/internal/request"
)

// rules are R1 to R21, R27 and R28 of docs/providers.md. Only the provider can verify a signature (R7, R8, R28).
var rules = []provider.Rule{
	{
		Code: "R1", Text: "every tool_use has its tool_result at the start of the next user turn; only tool_use may " +
			"follow a tool_use in its turn",
		Error: provider.NoResult,
		Words: []string{"tool_use … without … tool_result"},
		Kind:  &provider.ToolResultMissing, Find: provider.CallWithoutResult,
	},
	{
		Code: "R2", Text: "every tool_result answers a tool_use of the turn before",
		Error: "messages.N.content.M: unexpected `tool_use_id` found in `tool_result` blocks: ID. Each `tool_result` " +
			"block must have a corresponding `tool_use` block in the previous message.",
		Words: []string{"unexpected … tool_use_id"},
		Kind:  &provider.OrphanResult, Find: resultWithoutCall,
	},
	{
		Code: "R3", Text: "thinking on, tool loop open: the last assistant turn starts with a thinking block",
		Error: "messages.N.content.M.type: Expected `thinking` or `redacted_thinking`, but found `TYPE`. When `thinking` " +
			"is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of " +
			"`tool_use` and `tool_result` blocks).",
		Words: []string{"expected … thinking … but found"},
		Kind:  &provider.ThinkingOrder, Find: thinkingNotFirst,
	},
	{
		Code: "R4", Text: "thinking off: no thinking block in the final assistant turn",
		Error: "messages.N.content.M: When thinking is disabled, an `assistant` message in the final position cannot " +
			"contain `TYPE`.",
		Words: []string{"thinking is disabled … cannot contain"},
		Kind:  &provider.ThinkingDisabled, Find: checkThinkingOff,
	},
	{
		Code: "R5", Text: "text blocks are not empty",
		Error: "messages: text content blocks must be non-empty",
		Words: []string{"text … must be non-empty"},
		Kind:  &provider.EmptyContent, Find: provider.FindBlocks(func(b *request.Block) bool {
			return b.Type == request.Text && b.Text == ""
		}),
	},
	{
		Code: "R6", Text: "no message without content, except a final assistant message",
		Error: "messages.N: all messages must have non-empty content except for the optional final assistant message",
		Words: []string{"must have non-empty content"},
		Kind:  &provider.EmptyContent, Find: provider.FindTurns(func(q request.Request, n int) bool {
			return provider.EmptyTurn(q, n) && !provider.AssistantLast(q, n)
		}),
	},
	{
		Code: "R7", Text: "the signature of a thinking block fits its text",
		Error: "messages.N.content.M: Invalid `signature` in `thinking` block",
		Words: []string{"signature … thinking"},
		Kind:  &provider.ThinkingSignature,
	},
	{
		Code: "R8", Text: "thinking blocks of the latest assistant turn come back unchanged",
		Error: "messages.N.content.M: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be " +
			"modified. These blocks must remain as they were in the original response.",
		Words: []string{"thinking … cannot be modified"},
		Kind:  &provider.ThinkingModified,
	},
	{ // an empty signature counts as a signature
		Code: "R9", Text: "a thinking block has a signature",
		Error: "messages.N.content.M.thinking.signature: Field required",
		Words: []string{"thinking.signature … field required"},
		Kind:  &provider.ThinkingSignature, Find: provider.FindBlocks(func(b *request.Block) bool {
			return b.Type == request.Thinking && b.Unsigned
		}),
	},
	{
		Code: "R10", Text: "no assistant turn ends with a thinking block",
		Error: "messages.N: The final block in an assistant message cannot be `thinking`.",
		Words: []string{"final block … thinking"},
		Kind:  &provider.ThinkingOrder, Find: provider.ThinkingLast,
	},
	{
		Code: "R11", Text: "text blocks contain more than whitespace",
		Error: "messages: text content blocks must contain non-whitespace text",
		Words: []string{"text … must contain non-whitespace"},
		Kind:  &provider.EmptyContent, Find: provider.FindBlocks(func(b *request.Block) bool {
			return b.Type == request.Text && b.Text != "" && provider.IsBlank(b.Text)
		}),
	},
	{
		Code: "R12", Text: "the conversation ends with a user turn",
		Error: "This model does not support assistant message prefill. The conversation must end with a user message.",
		Words: []string{"assistant message prefill", "conversation must end with a user message"},
		Kind:  &provider.EndsWithAnswer, Find: provider.FindTurns(provider.AssistantLast),
	},
	{
		Code: "R13", Text: "tool ids match ^[a-zA-Z0-9_-]+$",
		Error: "messages.N.content.M.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
		Words: []string{"tool_use.id … match pattern", "tool_use.id … string should have at least"},
		Kind:  &provider.InvalidToolCall, Find: provider.InvalidID(provider.IsName),
	},
	{
		Code: "R14", Text: "tool_use.input is an object",
		Error: "messages.N.content.M.tool_use.input: Input should be a valid dictionary",
		Words: []string{"tool_use.input … should be a valid"},
		Kind:  &provider.InvalidToolCall, Find: provider.FindCalls(provider.NoObject),
	},
	{
		Code: "R15", Text: "an image is at most 5 MB",
		Error: imagePlace + ": image exceeds 5 MB maximum: X bytes > 5242880 bytes",
		Words: []string{"image exceeds"},
		Kind:  &provider.InvalidFile, Find: findData(func(b *request.Block) bool { return len(b.Data) > LargestImage }),
	},
	{
		Code: "R16", Text: "the first turn is the user's",
		Error: `messages: first message must use the "user" role`,
		Words: []string{"first message must use"},
		Kind:  &provider.FirstPromptMissing, Find: provider.FindTurns(provider.AssistantFirst),
	},
	{
		Code: "R17", Text: "tool_use ids are unique",
		Error: "messages.N: `tool_use` ids must be unique",
		Words: []string{"tool_use … ids must be unique"},
		Kind:  &provider.InvalidToolCall, Find: provider.RepeatedID(provider.Anywhere),
	},
	{ // for an image of another media type the API reports only R19
		Code: "R18", Text: "an image is not empty, is base64, and can be decoded",
		Error: "Could not process image",
		Words: []string{"could not process image", "image cannot be empty", "image … invalid base64 data"},
		Kind:  &provider.InvalidFile, Find: findData(func(b *request.Block) bool {
			return isImageType(b.Mime) && !b.MediaInfo().Image()
		}),
	},
	{
		Code: "R19", Text: "the media type of an image is image/jpeg, image/png, image/gif or image/webp",
		Error: imagePlace + ".media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
		Words: []string{"image … media_type: input should be"},
		Kind:  &provider.InvalidFile, Find: findData(func(b *request.Block) bool { return !isImageType(b.Mime) }),
	},
	{
		Code: "R20", Text: "the media type of an image matches its data",
		Error: imagePlace + ": The image was specified using the TYPE media type, but the image appears to be a TYPE image",
		Words: []string{
			"image … does not match the provided media type", "image was specified using … appears to be",
		},
		Kind: &provider.InvalidFile, Find: findData(func(b *request.Block) bool {
			info := b.MediaInfo()
			return isImageType(b.Mime) && info.Image() && info.Type != b.Mime
		}),
	},
	{
		Code: "R21", Text: "an image has at most 8000 pixels a side, and 2000 if there are more than 20 images",
		Error: imagePlace + ".data: At least one of the image dimensions exceed max allowed size: 8000 pixels",
		Words: []string{"image dimensions exceed"},
		Kind:  &provider.InvalidFile, Find: wideImage,
	},
	provider.ValidJSON("R27", provider.HalfPair),
	{
		Code: "R28", Text: "the conversation before a thinking block is the one it was created with (models from 5.1 on)",
		Error: "messages.{n}.content.{m}: Invalid `signature` in `thinking` block. The block is bound to a different " +
			"conversation.",
		Words: []string{"bound to a different conversation", "thinking … preceded this one … is missing"},
		Kind:  &provider.BoundThinking,
	},
}

// resultWithoutCall checks R2.
func resultWithoutCall(q request.Request, _ bool) (found []request.Violation) {
	calls, next := map[string]bool{}, map[string]bool{}
	for n, t := range q.Turns {
		for m, b := range t.Blocks {
			if b.Type == request.ToolResult && !calls[b.ToolID] {
				found = append(found, provider.Violate(n, m, b))
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

// isLoopOpen reports whether the last turn has a tool result, even if text of the user follows it: the model
// continues its last turn.
func isLoopOpen(q request.Request) bool {
	n := len(q.Turns) - 1
	return n >= 0 && provider.FirstBlock(q.Turns[n], request.ToolResult) >= 0
}

// lastAssistant returns the index of the last assistant turn, or -1.
func lastAssistant(q request.Request) int {
	n := len(q.Turns) - 1
	for n >= 0 && !provider.IsAssistant(q, n) {
		n--
	}
	return n
}

// thinkingNotFirst checks R3.
func thinkingNotFirst(q request.Request, thinking bool) []request.Violation {
	if !thinking || !isLoopOpen(q) {
		return nil
	}
	last := lastAssistant(q)
	return provider.SelectBlocks(q, func(n, m int, b *request.Block) bool {
		return n == last && m == 0 && !b.IsThinking()
	})
}

// checkThinkingOff checks R4. The final assistant turn is the one that the model continues: the last one while
// the tool loop is open, or the one that ends the conversation. Thinking in earlier turns is allowed in both
// modes.
func checkThinkingOff(q request.Request, thinking bool) []request.Violation {
	last := lastAssistant(q)
	if thinking || !isLoopOpen(q) && last != len(q.Turns)-1 {
		return nil
	}
	return provider.SelectBlocks(q, func(n, _ int, b *request.Block) bool { return n == last && b.IsThinking() })
}

// imagePlace is the place of an image as the API's errors name it.
const imagePlace = "messages.N.content.M.image.source.base64"

// findData finds images with data that match accepts. An image that is a link has no data.
func findData(match func(b *request.Block) bool) provider.Find {
	return provider.FindImages(func(b *request.Block) bool { return b.URL == "" && match(b) })
}

// isImageType reports whether the API accepts the media type.
func isImageType(mime string) bool {
	return mime == media.JPEG || mime == media.PNG || mime == media.GIF || mime == media.WebP
}

const (
	largestSide   = 8000 // in pixels
	largestOfMany = 2000 // in a request with more than manyImages
	manyImages    = 20
)

// wideImage checks R21.
func wideImage(q request.Request, _ bool) []request.Violation {
	count := 0
	provider.EachImage(q.Turns, func(_, _ int, b *request.Block) {
		if b.URL == "" {
			count++
		}
	})
	side := func(b *request.Block) int { return max(b.MediaInfo().Width, b.MediaInfo().Height) }
	return findData(func(b *request.Block) bool {
		return side(b) > largestSide || side(b) > largestOfMany && count > manyImages
	})(q, false)
}
