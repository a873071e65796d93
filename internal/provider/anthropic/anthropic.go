// Package anthropic has the rules of Anthropic's Messages API, and the texts of its errors (docs/providers.md). The
// rules come from public error reports; the API may be stricter.
//
// It does no I/O. It may import internal/media, internal/provider and internal/request. Read [Provider.Rules] and
// [ErrorTexts] first.
//
// The rules come from public error reports; the API may be stricter.
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
				provider.Words{"thinking", "first block"},
				provider.Words{"thinking", "must start with"},
				provider.Words{"thinking", "preceeding"},
				provider.Words{"thinking", "cannot be thinking"},
				provider.Words{"thinking", "expected", "found"},
			),
			provider.FirstPromptMissing.WithWords(provider.Words{"at least one message is required"}),
			{
				Rank: 175,
				Any:  []provider.Words{{"tool reference", "not found in available tools"}},
				Explanation: "An earlier search for tools names a tool that is no longer offered: its MCP server, plugin or " +
					"connector is not connected, or a proxy added the search. Nothing stored is damaged. Connect it again, or go " +
					"back to before that search: /rewind in Claude Code.",
			},
			provider.InvalidToolCall.WithWords(
				provider.Words{"tool_use.name", "match pattern"},
				provider.Words{"tool_use.id", "string should have"},
				provider.Words{"tool_use.name", "string should have"},
			),
			provider.InvalidFile.WithWords(provider.Words{"image format is not supported"},
				provider.Words{"image", "could not be processed"}),
			provider.CallOrResult.WithWords(provider.Words{"tool_use", "tool_result"}),
			provider.EmptyContent.WithWords(
				provider.Words{"non-empty content"},
				provider.Words{"message", "content", "is empty"},
				provider.Words{"empty content"},
				provider.Words{"text content blocks must"},
				provider.Words{"cache_control cannot be set for empty text"},
			),
			provider.TooLong.WithWords(provider.Words{"prompt is too long"}, provider.Words{"exceed context limit"}),
			provider.ThinkingSignature.WithWords(provider.Words{"thinking", "signature"}),
			provider.InvalidBlock.WithWords(
				provider.Words{"messages.", ".content.", "extra inputs are not permitted"},
				provider.Words{"messages.", ".content.", "does not match any of the expected tags"},
				provider.Words{"messages.", ".content.", "field required"},
				provider.Words{"messages.", ".content.", "input should be a valid"},
			),
		},
	}
}
