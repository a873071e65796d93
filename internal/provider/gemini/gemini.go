// Package gemini has the rules and the error texts of Google's Gemini API (docs/providers.md).
//
// It does no I/O. It may import change, internal/provider and internal/request. Read [Provider.Rules] and [ErrorTexts]
// first.
package gemini

import "mend/internal/provider"

// Provider is Google's Gemini API.
type Provider struct{}

var _ provider.Provider = Provider{}

// Name implements [provider.Provider].
func (Provider) Name() string { return "gemini" }

// Rules implements [provider.Provider].
func (Provider) Rules() []provider.Rule { return rules }

// ErrorTexts returns the texts of the API's errors.
func ErrorTexts() provider.ErrorTexts {
	return provider.ErrorTexts{
		API: "gemini", Rules: rules, Place: `\bcontents\[(\d+)\](?:\.parts\[(\d+)\])?`,
		Kinds: []provider.ErrorKind{
			provider.InvalidFile.WithWords("inline_data … invalid value", "inlinedata … invalid value"),
			provider.EncryptedReasoning.WithWords(
				"thought signature … not valid",
				"thought_signature … not valid",
				"invalid thought_signature",
				"thought_signature is invalid",
				"thought_signature … corrupted",
			),
			provider.SignatureMissing.WithWords("thought_signature", "thought signature"),
			provider.ToolResultMissing.WithWords("function call … function response"),
			provider.EmptyContent.WithWords("contents are required"),
			provider.TooLong.WithWords("exceeds the maximum number of tokens"),
		},
	}
}
