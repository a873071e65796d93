// Package openai has the rules and the error texts of OpenAI's Responses API (docs/providers.md). The rules of its chat
// completions are in package chat.
//
// It does no I/O. It may import internal/provider and internal/request. Read [Provider.Rules] and [ErrorTexts] first.
package openai

import "mend/internal/provider"

// Provider is OpenAI's Responses API.
type Provider struct{}

var _ provider.Provider = Provider{}

// Name implements [provider.Provider].
func (Provider) Name() string { return "openai" }

// Rules implements [provider.Provider].
func (Provider) Rules() []provider.Rule { return rules }

// ErrorTexts returns the texts of the API's errors.
func ErrorTexts() provider.ErrorTexts {
	return provider.ErrorTexts{
		API: "openai", Rules: rules, Calls: []string{"call", "fc"},
		Place: `\binput[\[.](\d+)\b\]?(?:\.(?:content|output)[\[.](\d+))?`,
		Item:  `(?i:\b(?:item|id)):? ['"]?([A-Za-z]{2,8}_[\w-]{4,}|[\w+/=-]{24,})`,
		Kinds: []provider.ErrorKind{
			provider.InvalidToolCall.WithWords("'input[ … ].arguments'"),
			provider.InvalidFile.WithWords(
				"image_parse_error",
				"invalid_image",
				"'input[ … image_url'",
			),
			provider.InvalidItem.WithWords(
				"items are not persisted",
				"'input[ … ].id' … string does not match pattern",
				"'input[ … ].id' … contain letters, numbers",
			),
			provider.EncryptedReasoning.WithWords(
				"encrypted_content",
				"encrypted content … could not be",
				"encrypted reasoning … could not be",
			),
			provider.InvalidBlock.WithWords(
				"missing required parameter … 'input[",
				"invalid value … (input[",
				"invalid value … param … input[",
				"input. … .type: invalid input",
			),
			provider.TooLong.WithWords("context length", "context window", "context_length_exceeded"),
		},
	}
}
