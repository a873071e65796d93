package bedrock

import (
	"mend/provider"
	"mend/request"
)

// ErrorTexts returns the texts of the API's errors. Errors of the model behind it have
// the texts of package anthropic.
func ErrorTexts() provider.ErrorTexts {
	return provider.ErrorTexts{
		API:   "bedrock",
		Kinds: errorKinds,
		Rules: ruleTexts,
		Place: `messages\.(\d+)\.member\.content\.(\d+)\.member`, // of the service; the model's are Claude's
		First: 1,
		Calls: []string{"tooluse"},
	}
}

// errorKinds are in the order of their ranks.
var errorKinds = []provider.ErrorKind{
	{
		Rank:        50,
		Any:         []provider.Words{{"first message", "role", "user"}, {"conversation must start with a user message"}},
		Class:       request.FirstPromptMissing,
		Explanation: provider.FirstPromptMissing,
	},
	{
		Rank: 60,
		Any: []provider.Words{
			{"tooluse.name", "regular expression"},
			{"tooluse.tooluseid", "regular expression"},
			{"tooluse.name", "failed to satisfy constraint"},
			{"tooluseid", "failed to satisfy constraint"},
			{"tooluse.input", "invalid"},
			{"duplicate", "tooluse"},
			{"tooluse", "duplicate ids"},
		},
		Class:       request.InvalidToolCall,
		Explanation: provider.InvalidToolCall,
	},
	{
		Rank: 80,
		Any: []provider.Words{
			{"image", "could not be processed"},
			{"unsupported image mime type"}, // the AI SDK, before it sends
			{"image.source", "is invalid"},
			{"image.format", "failed to satisfy constraint"},
		},
		Class:       request.InvalidFile,
		Explanation: provider.InvalidFile,
	},
	{
		Rank: 120,
		Any: []provider.Words{
			{"expected toolresult blocks"},
			{"tooluse", "toolresult", "without"},
		},
		Class:       request.ToolResultMissing,
		Explanation: provider.ToolResultMissing,
	},
	{
		Rank:        130,
		Any:         []provider.Words{{"toolresult", "exceeds the number of tooluse"}},
		Explanation: provider.OrphanResult,
	},
	{
		Rank:        170,
		Any:         []provider.Words{{"content field", "empty"}, {"text field", "is blank"}},
		Class:       request.EmptyContentMessage,
		Explanation: provider.EmptyContent,
	},
	{
		Rank:        180,
		Any:         []provider.Words{{"input is too long"}},
		Class:       request.ContextTooLong,
		Explanation: provider.TooLong,
	},
}

// ruleTexts are what the API says of a violation of its rules.
var ruleTexts = []provider.RuleText{
	{Code: "B1", Words: provider.Words{"conversation must start with a user message"}},
	{Code: "B3", Words: provider.Words{"content field in the message object", "is empty"}},
	{Code: "B4", Words: provider.Words{"text field in the contentblock object", "is blank"}},
	{Code: "B5", Words: provider.Words{"tooluseid", "failed to satisfy constraint"}},
	{Code: "B5", Words: provider.Words{"tooluse.tooluseid", "regular expression"}},
	{Code: "B7", Words: provider.Words{"tooluse", "duplicate ids"}},
	{Code: "B8", Words: provider.Words{"expected toolresult blocks"}},
	{Code: "B10", Words: provider.Words{"unsupported image mime type"}},
	{Code: "B10", Words: provider.Words{"image.format", "failed to satisfy constraint"}},
}
