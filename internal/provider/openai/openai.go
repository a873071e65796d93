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
			provider.InvalidToolCall.WithWords(provider.Words{"'input[", "].arguments'"}),
			provider.InvalidFile.WithWords(
				provider.Words{"image_parse_error"},
				provider.Words{"invalid_image"},
				provider.Words{"'input[", "image_url'"},
			),
			provider.InvalidItem.WithWords(
				provider.Words{"items are not persisted"},
				provider.Words{"'input[", "].id'", "string does not match pattern"},
				provider.Words{"'input[", "].id'", "contain letters, numbers"},
			),
			provider.EncryptedReasoning.WithWords(
				provider.Words{"encrypted_content"},
				provider.Words{"encrypted content", "could not be"},
				provider.Words{"encrypted reasoning", "could not be"},
			),
			provider.InvalidBlock.WithWords(
				provider.Words{"missing required parameter", "'input["},
				provider.Words{"invalid value", "(input["},
				provider.Words{"invalid value", "param", "input["},
				provider.Words{"input.", ".type: invalid input"},
			),
			provider.TooLong.WithWords(provider.Words{"context length"}, provider.Words{"context window"},
				provider.Words{"context_length_exceeded"}),
		},
	}
}
