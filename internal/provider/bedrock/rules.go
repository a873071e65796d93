package bedrock

import (
	"mend/internal/provider"
	"mend/internal/request"
)

// rules are B1 to B12 of docs/providers.md. B5 to B11 are rules of Anthropic, and are assumed to apply here, too.
var rules = []provider.Rule{
	{
		Code: "B1", Text: "a conversation starts with a prompt",
		Error: "A conversation must start with a user message. Try again with a conversation that starts with a user " +
			"message.",
		Words: []string{"conversation must start with a user message"},
		Kind:  &provider.FirstPromptMissing, Find: provider.FindTurns(provider.AssistantFirst),
	},
	{
		Code: "B3", Text: "each message has content",
		Error: "The content field in the Message object at messages.N is empty. Add a ContentBlock object to the content " +
			"field and try again.",
		Words: []string{"content field in the message object … is empty"},
		Kind:  &provider.EmptyContent, Find: provider.FindTurns(provider.EmptyTurn),
	},
	{
		Code: "B4", Text: "a text is not blank, not even in the result of a tool",
		Error: "The text field in the ContentBlock object at messages.N.content.M is blank. Add text to the text field, " +
			"and try again.",
		Words: []string{"text field in the contentblock object … is blank"},
		Kind:  &provider.EmptyContent, Find: provider.FindBlocks(isBlank),
	},
	{
		Code: "B5", Text: "the id of a call has 1 to 64 letters, digits, _ and -",
		Error: "Value 'ID' at 'messages.N.member.content.M.member.toolUse.toolUseId' failed to satisfy constraint: " +
			"Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+ and have length less than or equal to 64",
		Words: []string{"tooluseid … failed to satisfy constraint", "tooluse.tooluseid … regular expression"},
		Kind:  &provider.InvalidToolCall,
		Find:  provider.InvalidID(func(id string) bool { return provider.IsName(id) && len(id) <= provider.MaxID }),
	},
	{
		Code: "B7", Text: "the ids of calls are unique",
		Error: "messages.N: `tool_use` ids must be unique",
		Words: []string{"tooluse … duplicate ids"},
		Kind:  &provider.InvalidToolCall, Find: provider.RepeatedID(provider.Anywhere),
	},
	{
		Code: "B8", Text: "only calls follow a call in its message, and their results come next",
		Error: provider.NoResult,
		Words: []string{"expected toolresult blocks"},
		Kind:  &provider.ToolResultMissing, Find: provider.CallWithoutResult,
	},
	{Code: "B9", Text: "the signature of a thinking block fits its text"},
	{
		Code: "B10", Text: "an image is at most 3.75 MB, can be decoded, and has the media type of its data",
		Error: "messages.N.content.M.image.source.bytes: image exceeds 3.75 MB maximum: X bytes > 3932160 bytes",
		Words: []string{"unsupported image mime type", "image.format … failed to satisfy constraint"},
		Kind:  &provider.InvalidFile,
		Find:  provider.FindImages(wrongImage),
	},
	{
		Code: "B11", Text: "no assistant message ends with thinking",
		Error: "messages.N: The final block in an assistant message cannot be `thinking`.",
		Find:  provider.ThinkingLast,
	},
	provider.ValidJSON("B12", provider.HalfPair),
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

// maxBlank is the greatest length of an output, as a JSON string, that is checked for being blank.
const maxBlank = 1 << 20

// largestImage is the greatest size of an image in bytes.
const largestImage = 3932160

// wrongImage reports whether the API refuses an image.
func wrongImage(b *request.Block) bool {
	info := b.MediaInfo()
	return b.URL == "" && (len(b.Data)/4*3 > largestImage+3 || !info.Image() || !info.Matches(b.Mime))
}
