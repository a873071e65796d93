package diagnose

import (
	"sync"

	"mend/provider"
	"mend/provider/anthropic"
	"mend/provider/bedrock"
	"mend/provider/chat"
	"mend/provider/gemini"
	"mend/provider/openai"
	"mend/repair"
)

// ParseAPIError recognises an error of a model API or of OpenCode itself: JSON, as it is
// stored or reported, or plain text.
func ParseAPIError(input []byte) repair.APIError { return errorParser().Parse(input) }

// errorParser is made when an error is read: most runs of the program read none.
var errorParser = sync.OnceValue(func() *provider.ErrorParser {
	return provider.NewErrorParser(allErrorTexts()...)
})

func allErrorTexts() []provider.ErrorTexts {
	return []provider.ErrorTexts{
		anthropic.ErrorTexts(), openai.ErrorTexts(), chat.ErrorTexts(), gemini.ErrorTexts(), bedrock.ErrorTexts(), errorTexts,
	}
}

// errorTexts are those of OpenCode. The ranks are relative to those of the providers.
var errorTexts = provider.ErrorTexts{
	Kinds: []provider.ErrorKind{
		{
			Rank:        160,
			Any:         []provider.Words{{"dummy_tool"}, {"unavailable tool"}, {"model tried to call unavailable"}, {"nosuchtoolerror"}, {"no such tool"}},
			Class:       repair.UnavailableTool,
			Explanation: "The model called a tool that does not exist. OpenCode stored that as the result of the call. Continue; if the model repeats it, go back to before the first such call.",
		},
		{
			Rank:        200,
			Any:         []provider.Words{{"missing key at"}, {"invalid string", "must start with", "prt"}, {"invalid string", "must start with", "msg"}},
			Class:       repair.IncompleteRecord,
			Explanation: "A record of the session lacks a field that OpenCode needs, or has an invalid one. No request was sent.",
		},
		{
			Rank:        210,
			Any:         []provider.Words{{"unexpected end of json input"}, {"json", "unexpected eof"}},
			Class:       repair.UnreadableRecord,
			Explanation: "A record of the session is truncated or empty, and OpenCode fails to read it. No request was sent.",
		},
		{
			Rank:        220,
			Any:         []provider.Words{{"failed to download http"}},
			Class:       repair.InvalidFile,
			Explanation: "OpenCode must download a linked file before it sends the request, because the provider does not follow links, and cannot. No request was sent.",
		},
	},
	Tool: `(?:unavailable tool|no such tool)[:\s'"]+([^'".\s]+)`,
}
