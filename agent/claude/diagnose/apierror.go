package diagnose

import (
	_ "embed"
	"sync"

	"mend/internal/provider"
	"mend/internal/provider/anthropic"
	"mend/repair"
)

// ParseAPIError parses an error of the API as Claude Code shows it, such as "API Error: 400 {…}",
// or an error of Claude Code itself.
func ParseAPIError(input []byte) repair.APIError { return errorParser().Parse(input) }

// errorParser is made on first use: most runs of mend parse no error.
var errorParser = sync.OnceValue(func() *provider.ErrorParser {
	return provider.NewErrorParser(anthropic.ErrorTexts(), provider.ErrorTexts{Kinds: provider.ParseKinds(errorText)})
})

// errorText has Claude Code's errors. The ranks are relative to the providers' ranks.
//
//go:embed errors.txt
var errorText string
