package gemini

import (
	"mend/provider"
	"mend/request"
)

// ErrorTexts returns the texts of the API's errors.
func ErrorTexts() provider.ErrorTexts {
	return provider.ErrorTexts{
		API:   "gemini",
		Kinds: errorKinds,
		Rules: ruleTexts,
		Place: `\bcontents\[(\d+)\](?:\.parts\[(\d+)\])?`,
	}
}

// errorKinds are in the order of their ranks.
var errorKinds = []provider.ErrorKind{
	{
		Rank:        10,
		Any:         []provider.Words{{"multiturn requests end"}},
		Class:       request.AssistantPrefillUnsupported,
		Explanation: provider.EndsWithAnswer,
	},
	{
		Rank:        50,
		Any:         []provider.Words{{"function call turn comes immediately after a user turn"}},
		Class:       request.FirstPromptMissing,
		Explanation: provider.FirstPromptMissing,
	},
	{
		Rank: 60,
		Any: []provider.Words{
			{"function_call.args"},
			{"function_response.response"},
			{"function_call.name"},
			{"function_response.name"},
		},
		Class:       request.InvalidToolCall,
		Explanation: provider.InvalidToolCall,
	},
	{
		Rank: 80,
		Any: []provider.Words{
			{"unable to process input image"},
			{"provided image is not valid"},
			{"inline_data", "invalid value"},
			{"inlinedata", "invalid value"},
		},
		Class:       request.InvalidFile,
		Explanation: provider.InvalidFile,
	},
	{
		Rank: 90,
		Any: []provider.Words{
			{"corrupted thought signature"},
			{"thought signature", "not valid"},
			{"invalid thought signature"},
			{"thought_signature", "not valid"},
			{"invalid thought_signature"},
			{"thought_signature is invalid"},
			{"thought_signature", "corrupted"},
		},
		Class:       request.EncryptedReasoning,
		Explanation: provider.EncryptedReasoning,
	},
	{
		Rank:        110,
		Any:         []provider.Words{{"thought_signature"}, {"thought signature"}},
		Explanation: "Gemini requires its own signature on every tool call, and calls of another model have none. Signatures cannot be created. Continue with the model that wrote the session, or in a new session.",
	},
	{
		Rank:        115,
		Any:         []provider.Words{{"please use a valid role"}},
		Explanation: "The request has a message of a role that the provider does not know. Nothing stored explains that.",
	},
	{
		Rank:        120,
		Any:         []provider.Words{{"function call", "function response"}},
		Class:       request.ToolResultMissing,
		Explanation: provider.ToolResultMissing,
	},
	{
		Rank: 170,
		Any: []provider.Words{
			{"must include at least one parts field"},
			{"contents.parts must not be empty"},
			{"required oneof field 'data'"},
			{"contents is not specified"},
			{"contents are required"},
		},
		Class:       request.EmptyContentMessage,
		Explanation: provider.EmptyContent,
	},
	{
		Rank:        180,
		Any:         []provider.Words{{"exceeds the maximum number of tokens"}},
		Class:       request.ContextTooLong,
		Explanation: provider.TooLong,
	},
}

// ruleTexts are what the API says of a violation of its rules.
var ruleTexts = []provider.RuleText{
	{Code: "G0", Words: provider.Words{"contents is not specified"}},
	{Code: "G1", Words: provider.Words{"please use a valid role"}},
	{Code: "G2", Words: provider.Words{"must include at least one parts field"}},
	{Code: "G2", Words: provider.Words{"contents.parts must not be empty"}},
	{Code: "G3", Words: provider.Words{"required oneof field 'data'"}},
	{Code: "G4", Words: provider.Words{"function call turn comes immediately after a user turn"}},
	{Code: "G5", Words: provider.Words{"function response turn comes immediately after a function call turn"}},
	{Code: "G6", Words: provider.Words{"number of function response parts is equal to"}},
	{Code: "G7", Words: provider.Words{"missing a thought_signature"}},
	{Code: "G8", Words: provider.Words{"corrupted thought signature"}},
	{Code: "G8", Words: provider.Words{"thought signature is not valid"}},
	{Code: "G8", Words: provider.Words{"invalid thought signature"}},
	{Code: "G9", Words: provider.Words{"function_call.args"}},
	{Code: "G9", Words: provider.Words{"function_response.response"}},
	{Code: "G9", Words: provider.Words{"function_call.name"}},
	{Code: "G9", Words: provider.Words{"function_response.name"}},
	{Code: "G10", Words: provider.Words{"unable to process input image"}},
	{Code: "G10", Words: provider.Words{"provided image is not valid"}},
	{Code: "G12", Words: provider.Words{"multiturn requests end"}},
}
