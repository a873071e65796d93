package bedrock

import (
	"mend/internal/media"
	"mend/internal/provider"
	"mend/internal/request"
)

// rules are B1 to B12 of docs/providers.md. B5 to B11 are Anthropic's, taken to hold here too.
var rules = []provider.Rule{
	{
		Code: "B1", Text: "a conversation starts with a prompt",
		Error: "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
		Says:  []provider.Words{{"conversation must start with a user message"}},
		Kind:  &provider.FirstPromptMissing, Find: provider.FindTurns(provider.AssistantFirst),
	},
	{
		Code: "B3", Text: "each message has content",
		Error: "The content field in the Message object at messages.{n} is empty. Add a ContentBlock object to the content field and try again.",
		Says:  []provider.Words{{"content field in the message object", "is empty"}},
		Kind:  &provider.EmptyContent, Find: provider.FindTurns(provider.EmptyTurn),
	},
	{
		Code: "B4", Text: "a text is not blank, in the result of a tool either",
		Error: "The text field in the ContentBlock object at messages.{n}.content.{m} is blank. Add text to the text field, and try again.",
		Says:  []provider.Words{{"text field in the contentblock object", "is blank"}},
		Kind:  &provider.EmptyContent, Find: provider.FindBlocks(isBlank),
	},
	{
		Code: "B5", Text: "the id of a call has 1 to 64 letters, digits, _ and -",
		Error: invalidID("toolUse"),
		Says:  []provider.Words{{"tooluseid", "failed to satisfy constraint"}, {"tooluse.tooluseid", "regular expression"}},
		Kind:  &provider.InvalidToolCall,
		Find: provider.WithMessage(provider.InvalidID(func(id string) bool { return provider.IsName(id) && len(id) <= provider.MaxID }), func(b *request.Block) string {
			if b.Type == request.ToolResult {
				return invalidID("toolResult")
			}
			return ""
		}),
	},
	{
		Code: "B7", Text: "the ids of calls are unique",
		Error: "messages.{n}: `tool_use` ids must be unique",
		Says:  []provider.Words{{"tooluse", "duplicate ids"}},
		Kind:  &provider.InvalidToolCall, Find: provider.RepeatedID(provider.Anywhere),
	},
	{
		Code: "B8", Text: "only calls follow a call in its message, and their results come next",
		Error: provider.NoResult,
		Says:  []provider.Words{{"expected toolresult blocks"}},
		Kind:  &provider.ToolResultMissing, Find: provider.CallWithoutResult,
	},
	{Code: "B9", Text: "the signature of a thinking block fits its text"},
	{
		Code: "B10", Text: "an image is at most 3.75 MB, can be decoded, and has the media type of its data",
		Error: imagePlace + "image exceeds 3.75 MB maximum: {size} bytes > 3932160 bytes",
		Says:  []provider.Words{{"unsupported image mime type"}, {"image.format", "failed to satisfy constraint"}},
		Kind:  &provider.InvalidFile,
		Find:  provider.WithMessage(provider.FindImages(func(b *request.Block) bool { return wrongImage(b) != "" }), wrongImage),
	},
	{
		Code: "B11", Text: "no assistant message ends with thinking",
		Error: "messages.{n}: The final block in an assistant message cannot be `thinking`.",
		Find:  provider.ThinkingLast,
	},
	{
		Code: "B12", Text: "the request is valid JSON: no half of a surrogate pair",
		Error: "The request body is not valid JSON: no low surrogate in string",
		Says:  []provider.Words{{"surrogate in string"}},
		Kind:  &provider.InvalidUnicode, Find: provider.HalfPair,
	},
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

// invalidID returns what the API says of an id of a call in a block of that name.
func invalidID(block string) string {
	return "Value '{id}' at 'messages.{n+1}.member.content.{m+1}.member." + block + ".toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+ and have length less than or equal to 64"
}

const (
	imagePlace   = "messages.{n}.content.{m}.image.source.bytes: "
	largestImage = 3932160 // in bytes
)

// wrongImage returns what the API says of an image, "" for nothing.
func wrongImage(b *request.Block) string {
	info := b.MediaInfo()
	switch {
	case b.URL != "":
		return ""
	case len(b.Data)/4*3 > largestImage+3:
		return imagePlace + "image exceeds 3.75 MB maximum: {size} bytes > 3932160 bytes"
	case info.Fault == media.Empty:
		return imagePlace + "image cannot be empty"
	case !info.Image():
		return imagePlace + "Could not process image"
	case !info.Matches(b.Mime):
		return imagePlace + "The image was specified using the {mime} media type, but the image appears to be a {kind} image"
	}
	return ""
}
