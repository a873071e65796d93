// Package bedrock has the rules and the error texts of Amazon Bedrock's Converse API (docs/providers.md).
//
// It does no I/O. It may import internal/provider and internal/request. Read [Provider.Rules] and [ErrorTexts] first.
package bedrock

import "mend/internal/provider"

// Provider is Amazon Bedrock's Converse API with Anthropic's models.
type Provider struct{}

var _ provider.Provider = Provider{}

// Name implements [provider.Provider].
func (Provider) Name() string { return "bedrock" }

// Rules implements [provider.Provider].
func (Provider) Rules() []provider.Rule { return rules }

// ErrorTexts returns the texts of the API's errors. Errors of the model itself have the texts of
// package anthropic.
func ErrorTexts() provider.ErrorTexts {
	return provider.ErrorTexts{
		API: "bedrock", Rules: rules, Calls: []string{"tooluse"},
		Place: `messages\.(\d+)\.member\.content\.(\d+)\.member`, // of the service's errors
		First: 1,
		Kinds: []provider.ErrorKind{
			provider.FirstPromptMissing.WithWords("first message … role … user"),
			provider.InvalidToolCall.WithWords(
				"tooluse.name … regular expression",
				"tooluse.name … failed to satisfy constraint",
				"tooluse.input … invalid",
				"duplicate … tooluse",
			),
			provider.InvalidFile.WithWords("image … could not be processed", "image.source … is invalid"),
			provider.ToolResultMissing.WithWords("tooluse … toolresult … without"),
			provider.OrphanResult.WithWords("toolresult … exceeds the number of tooluse"),
			provider.EmptyContent.WithWords("content field … empty", "text field … is blank"),
			provider.TooLong.WithWords("input is too long"),
		},
	}
}
