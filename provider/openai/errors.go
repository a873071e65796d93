package openai

import (
	"mend/provider"
	"mend/request"
)

// ErrorTexts returns the texts of the API's errors.
func ErrorTexts() provider.ErrorTexts {
	return provider.ErrorTexts{
		API:   "openai",
		Kinds: errorKinds,
		Rules: ruleTexts,
		Place: `\binput\[(\d+)\](?:\.(?:content|output)\[(\d+)\])?`,
		Calls: []string{"call", "fc"},
		Item:  `(?i:\b(?:item|id)):? ['"]?([A-Za-z]{2,8}_[\w-]{4,}|[\w+/=-]{24,})`,
	}
}

// errorKinds are in the order of their ranks.
var errorKinds = []provider.ErrorKind{
	{
		Rank: 60,
		Any: []provider.Words{
			{"'input[", "call_id'"},
			{"'input[", "].name'"},
			{"'input[", "].arguments'"},
		},
		Class:       request.InvalidToolCall,
		Explanation: provider.InvalidToolCall,
	},
	{
		Rank:        65,
		Any:         []provider.Words{{"'input[", "].output", "string too long"}},
		Class:       request.OutputTooLong,
		Explanation: provider.OutputTooLong,
	},
	{
		Rank: 80,
		Any: []provider.Words{
			{"does not represent a valid image"},
			{"image_url", "base64-encoded"},
			{"image_parse_error"},
			{"invalid_image"},
			{"'input[", "image_url'"},
		},
		Class:       request.InvalidFile,
		Explanation: provider.InvalidFile,
	},
	{
		Rank: 85,
		Any: []provider.Words{
			{"item", "was provided without its required"},
			{"duplicate item found with id"},
			{"item with id", "not found"},
			{"items are not persisted"},
			{"'input[", "].id'", "expected an id that begins with"},
			{"'input[", "].id'", "string too long"},
			{"'input[", "].id'", "string does not match pattern"},
			{"'input[", "].id'", "contain letters, numbers"},
		},
		Class:       request.ItemID,
		Explanation: "The request names an item by an id that this account does not have, has twice, or has without the items that belong to it. Without the ids the same content is sent in full.",
	},
	{
		Rank: 90,
		Any: []provider.Words{
			{"encrypted_content"},
			{"encrypted content", "could not be"},
			{"encrypted", "organization_id did not match"},
			{"encrypted", "not issued to this caller"},
			{"encrypted reasoning", "could not be"},
		},
		Class:       request.EncryptedReasoning,
		Explanation: provider.EncryptedReasoning,
	},
	{
		Rank:        95,
		Any:         []provider.Words{{"'input[", "].content'", "array too long"}},
		Explanation: "The request contains the text of reasoning, but the provider accepts only the encrypted form. Continue in a new session, or with another model.",
	},
	{
		Rank:        120,
		Any:         []provider.Words{{"no tool output found for"}},
		Class:       request.ToolResultMissing,
		Explanation: provider.ToolResultMissing,
	},
	{
		Rank:        130,
		Any:         []provider.Words{{"no tool call found for"}},
		Explanation: provider.OrphanResult,
	},
	{
		Rank:        180,
		Any:         []provider.Words{{"context length"}, {"context window"}, {"context_length_exceeded"}},
		Class:       request.ContextTooLong,
		Explanation: provider.TooLong,
	},
}

// ruleTexts are what the API says of a violation of its rules.
var ruleTexts = []provider.RuleText{
	{Code: "O1", Words: provider.Words{"no tool output found for"}},
	{Code: "O2", Words: provider.Words{"no tool call found for"}},
	{Code: "O3", Words: provider.Words{"was provided without its required"}},
	{Code: "O4", Words: provider.Words{"duplicate item found with id"}},
	{Code: "O5", Words: provider.Words{"'input[", "].name'"}},
	{Code: "O6", Words: provider.Words{"'input[", "call_id'"}},
	{Code: "O6", Words: provider.Words{"'input[", "].id'", "string too long"}},
	{Code: "O9", Words: provider.Words{"does not represent a valid image"}},
	{Code: "O9", Words: provider.Words{"image_url", "base64-encoded"}},
	{Code: "O10", Words: provider.Words{"item with id", "not found"}},
	{Code: "O11", Words: provider.Words{"expected an id that begins with"}},
	{Code: "O12", Words: provider.Words{"'input[", "].output", "string too long"}},
	{Code: "O13", Words: provider.Words{"missing required parameter", "encrypted_content"}},
	{Code: "O14", Words: provider.Words{"'input[", "].content'", "array too long"}},
	{Code: "O8", Words: provider.Words{"encrypted", "could not be verified"}},
	{Code: "O8", Words: provider.Words{"invalid_encrypted_content"}},
	{Code: "O8", Words: provider.Words{"encrypted", "organization_id did not match"}},
	{Code: "O8", Words: provider.Words{"encrypted", "not issued to this caller"}},
	{Code: "O8", Words: provider.Words{"encrypted", "could not be decrypted"}},
}
