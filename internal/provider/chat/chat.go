// Package chat has the rules and the error texts of APIs for chat completions: OpenAI's own, and the compatible APIs of
// single vendors (docs/providers.md).
//
// It does no I/O. It may import internal/provider and internal/request. Read [Provider.Rules] and [ErrorTexts] first.
package chat

import "mend/internal/provider"

// Provider is an API for chat completions: OpenAI's own, or one of its many copies.
type Provider struct {
	Flavor Flavor
	// Field means that the model has its own member for reasoning, in which empty reasoning is sent, too.
	Field bool
}

var _ provider.Provider = Provider{}

// A Flavor is the way in which a package writes details that OpenAI's chat completions leave open.
type Flavor uint8

// The flavors.
const (
	Compatible Flavor = iota // reasoning in reasoning_content
	OpenRouter               // reasoning only with OpenRouter's details
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

// ErrorTexts returns the texts of the APIs' errors.
func ErrorTexts() provider.ErrorTexts {
	return provider.ErrorTexts{
		API: "chat", Rules: rules, Calls: []string{"call"},
		Place: `(?:message at (?:position|index) |messages?\[|tool call message at index )(\d+)\b`,
		Call:  `\b(?:'?tool_call_id'? of|tool_call_ids? did not have response messages:) '?([^\s',]+)`,
		Kinds: []provider.ErrorKind{
			provider.InvalidToolCall.WithWords(
				provider.Words{"duplicate", "tool_call_id"},
				provider.Words{"messages[", "tool_calls[", "string too long"},
				provider.Words{"messages[", "tool_calls[", "string too short"},
				provider.Words{"messages[", "tool_calls[", "empty string"},
				provider.Words{"messages[", "tool_calls[", "does not match pattern"},
				provider.Words{"messages[", "tool_call_id'"},
				provider.Words{"function.name", "does not match pattern"},
			),
			provider.TooManyImages.WithWords(provider.Words{"request contains", "images", "exceeding"},
				provider.Words{"too many images"}),
			provider.InvalidFile.WithWords(
				provider.Words{"image", "exceed", "maximum"},
				provider.Words{"unsupported image"},
				provider.Words{"image", "too large"},
			),
			provider.ToolResultMissing.WithWords(provider.Words{"tool call result does not follow tool call"}),
			provider.OrphanResult.WithWords(provider.Words{"tool_call_id", "is not found"}),
			provider.EmptyContent.WithWords(
				provider.Words{"content is required"},
				provider.Words{"'messages[", "].content'", "got null"},        // OpenAI
				provider.Words{"'messages[", "].content'", "empty string"},    // OpenAI
				provider.Words{"messages[", "].content", "field required"},    // vLLM
				provider.Words{"assistant", "must have either content or"},    // Mistral
				provider.Words{"message", "role 'assistant'", "is empty"},     // gateways
				provider.Words{"message", "role 'user'", "must not be empty"}, // Moonshot
			),
			provider.TooLong.WithWords( // those that OpenCode 1.18.33 itself looks for
				provider.Words{"too many tokens"},
				provider.Words{"token count of", "exceeds the limit of"}, // Copilot
				provider.Words{"maximum prompt length is"},               // xAI
				provider.Words{"reduce the length of the messages"},      // Groq
				provider.Words{"exceeds the available context size"},     // llama.cpp
				provider.Words{"exceeded model token limit"},             // Moonshot
				provider.Words{"tokens in request more than max tokens allowed"},
				provider.Words{"exceeds", "maximum allowed input length of", "tokens"},
			),
		},
	}
}
