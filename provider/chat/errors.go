package chat

import (
	"mend/provider"
	"mend/request"
)

// ErrorTexts returns the texts of the APIs' errors.
func ErrorTexts() provider.ErrorTexts {
	return provider.ErrorTexts{
		API:   "chat",
		Kinds: errorKinds,
		Rules: ruleTexts,
		Place: `(?:message at (?:position|index) |messages?\[|tool call message at index )(\d+)\b`,
		Calls: []string{"call"},
		Call:  `\b(?:'?tool_call_id'? of|tool_call_ids? did not have response messages:) '?([^\s',]+)`,
	}
}

// errorKinds are in the order of their ranks.
var errorKinds = []provider.ErrorKind{
	{
		Rank: 60,
		Any: []provider.Words{
			{"duplicate", "tool_call_id"},
			{"messages[", "tool_calls[", "string too long"},
			{"messages[", "tool_calls[", "string too short"},
			{"messages[", "tool_calls[", "empty string"},
			{"messages[", "tool_calls[", "does not match pattern"},
			{"messages[", "tool_call_id'"},
			{"function.arguments", "json format"},
			{"function.name", "does not match pattern"},
		},
		Class:       request.InvalidToolCall,
		Explanation: provider.InvalidToolCall,
	},
	{
		Rank:        65,
		Any:         []provider.Words{{"'messages[", "content", "string too long"}},
		Class:       request.OutputTooLong,
		Explanation: provider.OutputTooLong,
	},
	{
		Rank:        70,
		Any:         []provider.Words{{"request contains", "images", "exceeding"}, {"too many images"}},
		Explanation: provider.TooManyImages,
	},
	{
		Rank: 80,
		Any: []provider.Words{
			{"image", "exceed", "maximum"},
			{"unsupported image"},
			{"image", "too large"},
		},
		Class:       request.InvalidFile,
		Explanation: provider.InvalidFile,
	},
	{
		Rank: 100,
		Any: []provider.Words{
			{"reasoning_content", "must be passed back"}, // DeepSeek
			{"reasoning_content", "missing"},             // Moonshot
		},
		Class:       request.ThinkingBlockOrder,
		Explanation: "The provider requires reasoning with every tool call. mend can add a placeholder. Where OpenCode does not know that this model thinks, it helps to add \"interleaved\": {\"field\": \"reasoning_content\"} to the model in opencode.json.",
	},
	{
		Rank: 120,
		Any: []provider.Words{
			{"tool_call_ids did not have response messages"},
			{"tool_calls", "must be followed by tool messages"},
			{"tool call result does not follow tool call"},
		},
		Class:       request.ToolResultMissing,
		Explanation: provider.ToolResultMissing,
	},
	{
		Rank:        130,
		Any:         []provider.Words{{"'tool' must be a response to a prece"}, {"tool_call_id", "is not found"}},
		Explanation: provider.OrphanResult,
	},
	{
		Rank: 170,
		Any: []provider.Words{
			{"content is required"},
			{"message at position", "must not be empty"},    // Moonshot
			{"content or tool_calls must be set"},           // DeepSeek
			{"invalid value for 'content'", "null"},         // OpenAI
			{"'messages[", "].content'", "got null"},        // OpenAI
			{"'messages[", "].content'", "empty string"},    // OpenAI
			{"messages[", "].content", "field required"},    // vLLM
			{"assistant", "must have either content or"},    // Mistral
			{"message", "role 'assistant'", "is empty"},     // gateways
			{"message", "role 'user'", "must not be empty"}, // Moonshot
		},
		Class:       request.EmptyContentMessage,
		Explanation: provider.EmptyContent,
	},
	{
		Rank: 180,
		Any: []provider.Words{ // those that OpenCode 1.18.33 itself looks for
			{"too many tokens"},
			{"token count of", "exceeds the limit of"}, // Copilot
			{"maximum prompt length is"},               // xAI
			{"reduce the length of the messages"},      // Groq
			{"exceeds the available context size"},     // llama.cpp
			{"exceeded model token limit"},             // Moonshot
			{"tokens in request more than max tokens allowed"},
			{"exceeds", "maximum allowed input length of", "tokens"},
		},
		Class:       request.ContextTooLong,
		Explanation: provider.TooLong,
	},
}

// ruleTexts are what the APIs say of a violation of their rules.
var ruleTexts = []provider.RuleText{
	{Code: "C1", Words: provider.Words{"must be followed by tool messages"}},
	{Code: "C1", Words: provider.Words{"did not have response messages"}},
	{Code: "C2", Words: provider.Words{"'tool' must be a response to a prece"}},
	{Code: "C3", Words: provider.Words{"duplicate value for 'tool_call_id'", "in messages["}},
	{Code: "C4", Words: provider.Words{"messages[", "tool_calls[", "].id'"}},
	{Code: "C5", Words: provider.Words{"messages[", "tool_calls[", "function.name"}},
	{Code: "C6", Words: provider.Words{"invalid value for 'content'", "null"}},
	{Code: "C8", Words: provider.Words{"you uploaded an unsupported image"}},
	{Code: "C9", Words: provider.Words{"'messages[", "content", "string too long"}},
	{Code: "V1", Words: provider.Words{"message at position", "must not be empty"}},
	{Code: "V1", Words: provider.Words{"content or tool_calls must be set"}},
	{Code: "V2", Words: provider.Words{"function.arguments", "json format"}},
	{Code: "V3", Words: provider.Words{"reasoning_content", "missing"}},
	{Code: "V3", Words: provider.Words{"reasoning_content", "must be passed back"}},
	{Code: "V4", Words: provider.Words{"duplicate value for 'tool_call_id' of", "in message["}},
}
