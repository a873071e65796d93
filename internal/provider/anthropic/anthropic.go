// Package anthropic has the rules of Anthropic's Messages API, and the texts of its errors (docs/providers.md). The
// rules come from public error reports; the API may be stricter.
//
// It does no I/O. It may import internal/media, internal/provider and internal/request. Read [Provider.Rules] and
// [ErrorTexts] first.
package anthropic

import (
	"mend/internal/provider"
)

// Provider is Anthropic's Messages API.
type Provider struct{}

var _ provider.Provider = Provider{}

// Name returns "anthropic".
func (Provider) Name() string { return "anthropic" }

// Rules implements [provider.Provider].
func (Provider) Rules() []provider.Rule { return rules }

// LargestImage is the greatest size of an image that the API accepts: the length of its base64 text
// in bytes.
const LargestImage = 5 << 20

// LargestRequest is the greatest size in bytes of a request that the API accepts.
const LargestRequest = 32 << 20

// ErrorTexts returns the texts of the API's errors, including the texts in upstream's tests
// (docs/providers.md, "How an error is recognised"). The error of R3 also mentions tool_use and
// tool_result, and many errors mention thinking.
func ErrorTexts() provider.ErrorTexts {
	return provider.ErrorTexts{
		API: "anthropic", Rules: rules, Place: `messages\.(\d+)(?:\.content\.(\d+))?`, Calls: []string{"toolu"},
		Kinds: []provider.ErrorKind{
			provider.ThinkingOrder.WithWords(
				"thinking … first block",
				"thinking … must start with",
				"thinking … preceeding",
				"thinking … cannot be thinking",
				"thinking … expected … found",
			),
			provider.FirstPromptMissing.WithWords("at least one message is required"),
			{
				Rank: 175,
				Any:  []string{"tool reference … not found in available tools"},
				Explanation: "An earlier search for tools names a tool that is no longer offered: its MCP server, plugin or " +
					"connector is not connected, or a proxy added the search. Nothing stored is damaged. Connect it again, or go " +
					"back to before that search: /rewind in Claude Code.",
			},
			provider.InvalidToolCall.WithWords(
				"tool_use.name … match pattern",
				"tool_use.id … string should have",
				"tool_use.name … string should have",
			),
			provider.InvalidFile.WithWords("image format is not supported", "image … could not be processed"),
			provider.CallOrResult.WithWords("tool_use … tool_result"),
			provider.EmptyContent.WithWords(
				"non-empty content",
				"message … content … is empty",
				"empty content",
				"text content blocks must",
				"cache_control cannot be set for empty text",
			),
			provider.TooLong.WithWords("prompt is too long", "exceed context limit"),
			provider.ThinkingSignature.WithWords("thinking … signature"),
			provider.InvalidBlock.WithWords(
				"messages. … .content. … extra inputs are not permitted",
				"messages. … .content. … does not match any of the expected tags",
				"messages. … .content. … field required",
				"messages. … .content. … input should be a valid",
			),
		},
	}
}
