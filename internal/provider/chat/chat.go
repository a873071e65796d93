// Package chat has the rules and the error texts of APIs for chat completions: OpenAI's own, and the compatible APIs of
// single vendors (docs/providers.md).
//
// It does no I/O. It may import internal/provider and internal/request. Read [Provider.Rules] and [ErrorTexts] first.
package chat

import "mend/internal/provider"

// Provider is an API for chat completions: OpenAI's own, or one of its many copies.
type Provider struct {
	Flavor Flavor
	// Field means that reasoning is sent in a member of its own, even if it is empty.
	Field bool
}

var _ provider.Provider = Provider{}

// A Flavor defines how an SDK package writes details that OpenAI's chat completions leave open.
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
				"duplicate … tool_call_id",
				"messages[ … tool_calls[ … string too long",
				"messages[ … tool_calls[ … string too short",
				"messages[ … tool_calls[ … empty string",
				"messages[ … tool_calls[ … does not match pattern",
				"messages[ … tool_call_id'",
				"function.name … does not match pattern",
			),
			provider.TooManyImages.WithWords("request contains … images … exceeding", "too many images"),
			provider.InvalidFile.WithWords(
				"image … exceed … maximum",
				"unsupported image",
				"image … too large",
			),
			provider.ToolResultMissing.WithWords("tool call result does not follow tool call"),
			provider.OrphanResult.WithWords("tool_call_id … is not found"),
			provider.EmptyContent.WithWords(
				"content is required",
				"'messages[ … ].content' … got null",        // OpenAI
				"'messages[ … ].content' … empty string",    // OpenAI
				"messages[ … ].content … field required",    // vLLM
				"assistant … must have either content or",   // Mistral
				"message … role 'assistant' … is empty",     // gateways
				"message … role 'user' … must not be empty", // Moonshot
			),
			provider.TooLong.WithWords( // those that OpenCode 1.18.33 itself looks for
				"too many tokens",
				"token count of … exceeds the limit of", // Copilot
				"maximum prompt length is",              // xAI
				"reduce the length of the messages",     // Groq
				"exceeds the available context size",    // llama.cpp
				"exceeded model token limit",            // Moonshot
				"tokens in request more than max tokens allowed",
				"exceeds … maximum allowed input length of … tokens",
			),
		},
	}
}
