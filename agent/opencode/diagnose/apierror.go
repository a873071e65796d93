package diagnose

import (
	_ "embed"
	"sync"

	"mend/internal/provider"
	"mend/internal/provider/anthropic"
	"mend/internal/provider/bedrock"
	"mend/internal/provider/chat"
	"mend/internal/provider/gemini"
	"mend/internal/provider/openai"
	"mend/repair"
)

// ParseAPIError parses an error of a model API or of OpenCode itself: JSON as it is stored or reported, or plain text.
func ParseAPIError(input []byte) repair.APIError { return errorParser().Parse(input) }

// errorParser is made on first use: most runs of the program parse no error.
var errorParser = sync.OnceValue(func() *provider.ErrorParser {
	return provider.NewErrorParser(allErrorTexts()...)
})

// allErrorTexts returns the errors of the APIs, and OpenCode's own. Its ranks are relative to theirs.
func allErrorTexts() []provider.ErrorTexts {
	own := provider.ErrorTexts{
		Kinds: provider.ParseKinds(errorText), Tool: `(?:unavailable tool|no such tool)[:\s'"]+([^'".\s]+)`,
	}
	return []provider.ErrorTexts{
		anthropic.ErrorTexts(), openai.ErrorTexts(), chat.ErrorTexts(), gemini.ErrorTexts(), bedrock.ErrorTexts(), own,
	}
}

//go:embed errors.txt
var errorText string
