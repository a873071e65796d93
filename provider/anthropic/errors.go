package anthropic

import (
	"mend/provider"
	"mend/request"
)

// ErrorTexts returns the texts of the API's errors. Those of upstream's tests are among
// them (docs/providers.md, "How an error is recognised").
func ErrorTexts() provider.ErrorTexts {
	return provider.ErrorTexts{API: "anthropic", Kinds: errorKinds, Rules: ruleTexts, Place: `messages\.(\d+)(?:\.content\.(\d+))?`, Calls: []string{"toolu"}}
}

// errorKinds are in the order of their ranks. The error of R3 also mentions tool_use and
// tool_result, and many errors mention thinking.
var errorKinds = []provider.ErrorKind{
	{
		Rank:        10,
		Any:         []provider.Words{{"assistant message prefill"}, {"conversation must end with a user message"}},
		Class:       request.AssistantPrefillUnsupported,
		Explanation: provider.EndsWithAnswer,
	},
	{
		Rank:        20,
		Any:         []provider.Words{{"thinking", "cannot be modified"}},
		Class:       request.ThinkingBlockModified,
		Explanation: "Thinking in the newest assistant message was altered after the provider signed it. It cannot be restored. Undo what changed it, or let mend remove all thinking from that message.",
	},
	{
		Rank: 30,
		Any: []provider.Words{
			{"thinking", "first block"},
			{"thinking", "must start with"},
			{"thinking", "preceeding"},
			{"thinking", "final block"},
			{"thinking", "cannot be thinking"},
			{"thinking", "expected", "found"},
		},
		Class:       request.ThinkingBlockOrder,
		Explanation: "Thinking is in the wrong place: after other content, or at the end of an assistant message.",
	},
	{
		Rank:        40,
		Any:         []provider.Words{{"thinking is disabled", "cannot contain"}},
		Class:       request.ThinkingDisabledViolation,
		Explanation: "Thinking is off, but the session contains thinking. Switch thinking on again, or let mend remove it.",
	},
	{
		Rank:        50,
		Any:         []provider.Words{{"first message must use"}, {"at least one message is required"}},
		Class:       request.FirstPromptMissing,
		Explanation: provider.FirstPromptMissing,
	},
	{
		Rank: 60,
		Any: []provider.Words{
			{"tool_use.id", "match pattern"},
			{"tool_use", "ids must be unique"},
			{"tool_use.input", "valid dictionary"},
			{"tool_use.name", "match pattern"},
			{"tool_use.id", "string should have"},
			{"tool_use.name", "string should have"},
		},
		Class:       request.InvalidToolCall,
		Explanation: provider.InvalidToolCall,
	},
	{
		Rank: 80,
		Any: []provider.Words{
			{"image exceeds"},
			{"could not process image"},
			{"image dimensions exceed"},
			{"image cannot be empty"},
			{"image", "invalid base64 data"},
			{"image", "media_type: input should be"},
			{"image", "does not match the provided media type"},
			{"image was specified using", "appears to be"},
			{"image format is not supported"},
			{"image", "could not be processed"},
		},
		Class:       request.InvalidFile,
		Explanation: provider.InvalidFile,
	},
	{
		Rank:        140,
		Any:         []provider.Words{{"unexpected", "tool_use_id", "tool_result"}},
		Explanation: provider.OrphanResult,
	},
	{
		Rank:        150,
		Any:         []provider.Words{{"tool_use", "tool_result"}},
		Class:       request.ToolResultMissing,
		Explanation: "A tool call never got a result, usually because OpenCode was interrupted while the tool ran.",
	},
	{
		Rank: 170,
		Any: []provider.Words{
			{"non-empty content"},
			{"message", "content", "is empty"},
			{"empty content"},
			{"text content blocks must"}, // be non-empty, or contain non-whitespace text (R5 and R11)
			{"cache_control cannot be set for empty text"},
		},
		Class:       request.EmptyContentMessage,
		Explanation: provider.EmptyContent,
	},
	{
		Rank:        180,
		Any:         []provider.Words{{"prompt is too long"}, {"exceed context limit"}},
		Class:       request.ContextTooLong,
		Explanation: provider.TooLong,
	},
	{
		Rank:        190,
		Any:         []provider.Words{{"thinking", "signature"}},
		Class:       request.ThinkingSignature,
		Explanation: "The provider rejects the signature of a thinking block. Signatures cannot be created, so the block can only be removed.",
	},
}

// ruleTexts are what the API says of a violation of its rules.
var ruleTexts = []provider.RuleText{
	{Code: "R2", Words: provider.Words{"unexpected", "tool_use_id"}},
	{Code: "R17", Words: provider.Words{"ids must be unique"}},
	{Code: "R3", Words: provider.Words{"expected", "thinking", "but found"}},
	{Code: "R4", Words: provider.Words{"thinking is disabled", "cannot contain"}},
	{Code: "R8", Words: provider.Words{"thinking", "cannot be modified"}},
	{Code: "R10", Words: provider.Words{"final block", "thinking"}},
	{Code: "R1", Words: provider.Words{"tool_use", "without", "tool_result"}},
	{Code: "R5", Words: provider.Words{"must be non-empty"}},
	{Code: "R6", Words: provider.Words{"must have non-empty content"}},
	{Code: "R9", Words: provider.Words{"thinking.signature", "field required"}},
	{Code: "R7", Words: provider.Words{"signature", "thinking"}},
	{Code: "R11", Words: provider.Words{"must contain non-whitespace"}},
	{Code: "R12", Words: provider.Words{"assistant message prefill"}},
	{Code: "R13", Words: provider.Words{"tool_use.id", "match pattern"}},
	{Code: "R13", Words: provider.Words{"tool_use.id", "string should have at least"}},
	{Code: "R14", Words: provider.Words{"tool_use.input", "valid dictionary"}},
	{Code: "R15", Words: provider.Words{"image exceeds"}},
	{Code: "R18", Words: provider.Words{"could not process image"}},
	{Code: "R18", Words: provider.Words{"image cannot be empty"}},
	{Code: "R18", Words: provider.Words{"image", "invalid base64 data"}},
	{Code: "R19", Words: provider.Words{"image", "media_type: input should be"}},
	{Code: "R20", Words: provider.Words{"image", "does not match the provided media type"}},
	{Code: "R20", Words: provider.Words{"image was specified using", "appears to be"}},
	{Code: "R21", Words: provider.Words{"image dimensions exceed"}},
	{Code: "R16", Words: provider.Words{"first message must use"}},
}
