package diagnose

import (
	"sync"

	"mend/internal/provider"
	"mend/internal/provider/anthropic"
	"mend/repair"
)

// ParseAPIError parses an error of the API as Claude Code shows it, such as "API Error: 400 {…}",
// or an error of Claude Code itself.
func ParseAPIError(input []byte) repair.APIError { return errorParser().Parse(input) }

// errorParser is made on first use: most runs of the program parse no error.
var errorParser = sync.OnceValue(func() *provider.ErrorParser {
	return provider.NewErrorParser(anthropic.ErrorTexts(), errorTexts)
})

// errorTexts are Claude Code's errors. The ranks are relative to the providers' ranks.
var errorTexts = provider.ErrorTexts{
	Kinds: []provider.ErrorKind{
		{
			Rank:        5,
			Any:         []provider.Words{{"image base64 size", "exceeds api limit"}},
			Class:       repair.InvalidFile,
			Explanation: "An image of the session is larger than 5 MB. Claude Code does not send a request with it.",
		},
		{
			Rank:  220,
			Any:   []provider.Words{{"no conversation found"}},
			Class: repair.MissingHistory,
			Explanation: "Claude Code does not find the session for the current directory, or its transcript has " +
				"no record of the main conversation.",
		},
		{
			Rank:        230,
			Any:         []provider.Words{{"earlier messages in this session weren't loaded"}},
			Class:       repair.MissingHistory,
			Explanation: "The chain of records breaks, so what is before the break does not reach the model.",
		},
		{
			Rank: 240,
			Any: []provider.Words{
				{"exceeds the dimension limit for many-image requests"},
				{"image was too large", "double press esc"},
				{"image was too large", "resizing"},
				{"pdf is password"},
				{"pdf too large"},
				{"pdf pages may be provided"},
				{"pdf file is corrupted"},
				{"pdf specified"},
				{"could not process pdf"},
				{"pdf file was not valid"},
				{"unable to resize image"},
				{"api could not process this image"},
				{"document source is invalid"},
			},
			Class:       repair.InvalidFile,
			Explanation: "Claude Code or the provider refuses an image or a PDF of the session.",
		},
		{
			Rank:  250,
			Any:   []provider.Words{{"due to tool use concurrency issues"}},
			Class: repair.ToolResultMissing,
			Explanation: "Claude Code shows this in place of the provider's error about a tool call that has no result, " +
				"or whose id occurs twice.",
		},
		{
			Rank: 260,
			Any: []provider.Words{
				{"conversation too long"},
				{"context limit reached"},
				{"context low", "/compact"},
				{"could not be reduced below the context limit"},
				{"conversation is too long"},
			},
			Class:       repair.ContextTooLong,
			Explanation: provider.TooLong.Explanation,
		},
		{
			Rank:        270,
			Any:         []provider.Words{{"transcript appears partially corrupt"}},
			Class:       repair.UnreadableRecord,
			Explanation: "Claude Code cannot read a line of the session's transcript.",
		},
	},
}
