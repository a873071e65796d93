// Package otherapis holds the error texts of the APIs of which mend does not check the
// rules: OpenAI's and those that are compatible with it, Gemini and Bedrock.
package otherapis

import (
	"mend/provider"
	"mend/request"
)

// ErrorTexts returns the texts of the APIs' errors.
func ErrorTexts() provider.ErrorTexts {
	return provider.ErrorTexts{Kinds: errorKinds, Place: `message at position (\d+)`, Calls: []string{"tooluse", "call"}}
}

// errorKinds are in the order of their ranks.
var errorKinds = []provider.ErrorKind{
	{
		Rank:        50,
		Any:         []provider.Words{{"first message", "role", "user"}},
		Class:       request.FirstPromptMissing,
		Explanation: provider.FirstPromptMissing,
	},
	{
		Rank: 60,
		Any: []provider.Words{
			{"tooluse.name", "regular expression"},      // Bedrock
			{"tooluse.tooluseid", "regular expression"}, // Bedrock
			{"duplicate", "tool_call_id"},
			{"duplicate", "tooluse"}, // Bedrock
			{"invalid 'input", "call_id"},
		},
		Class:       request.InvalidToolCall,
		Explanation: provider.InvalidToolCall,
	},
	{
		Rank:        70,
		Any:         []provider.Words{{"images", "exceeding the maximum of"}, {"too many images"}},
		Explanation: provider.TooManyImages,
	},
	{
		Rank: 80,
		Any: []provider.Words{
			{"image", "exceed", "maximum"},
			{"does not represent a valid image"},
			{"unsupported image"},
			{"image", "too large"},
		},
		Class:       request.InvalidFile,
		Explanation: provider.InvalidFile,
	},
	{
		Rank: 90, // OpenAI
		Any: []provider.Words{
			{"encrypted_content"},
			{"encrypted content", "could not be"},
			{"encrypted", "organization_id did not match"},
			{"encrypted", "not issued to this caller"},
			{"encrypted reasoning", "could not be"},
		},
		Class:       request.EncryptedReasoning,
		Explanation: "The session holds reasoning that was encrypted for another account or key. Only that one can use it; a summary of it may stay.",
	},
	{
		Rank:        100, // DeepSeek
		Any:         []provider.Words{{"reasoning_content", "must be passed back"}, {"reasoning_content", "missing"}},
		Explanation: "DeepSeek wants the reasoning of every answer back, and an answer of another model has none. It cannot be made: switch thinking off for this model, or go on with the model that wrote the session.",
	},
	{
		Rank:        110, // Gemini
		Any:         []provider.Words{{"thought_signature"}},
		Explanation: "Gemini wants its own signature on every tool call, and the calls of another model have none. It cannot be made: go on with the model that wrote the session, or in a new one.",
	},
	{
		Rank: 120,
		Any: []provider.Words{
			{"no tool output found for function call"},
			{"tool_call_ids did not have response messages"},
			{"tool_calls", "must be followed by tool messages"},
			{"expected toolresult blocks"},       // Bedrock
			{"tooluse", "toolresult", "without"}, // Bedrock
			{"tool call result does not follow tool call"},
			{"function call", "function response"}, // Gemini
		},
		Class:       request.ToolResultMissing,
		Explanation: "A tool call never got a result, or not where the provider looks for it.",
	},
	{
		Rank: 130,
		Any: []provider.Words{
			{"no tool call found for function call output"},
			{"toolresult", "exceeds the number of tooluse"}, // Bedrock
			{"'tool' must be a response to a preced"},
		},
		Explanation: provider.OrphanResult,
	},
	{
		Rank: 170,
		Any: []provider.Words{
			{"content field", "empty"}, // Bedrock
			{"content is required"},
			{"message at position", "must not be empty"}, // Moonshot
			{"text field", "is blank"},                   // Bedrock
		},
		Class:       request.EmptyContentMessage,
		Explanation: provider.EmptyContent,
	},
	{
		Rank: 180,
		Any: []provider.Words{
			{"context length"}, {"context window"}, {"context_length_exceeded"}, {"input is too long"}, {"too many tokens"},
		},
		Explanation: provider.TooLong,
	},
}
