package repair

import (
	"slices"
	"strings"
)

// An errorKind is what a class of errors looks like and what it means.
type errorKind struct {
	class       Class
	any         []words // it is this kind if the text has all words of one of these
	explanation string
}

type words []string

// known reports whether the kind is more than "something else".
func (k *errorKind) known() bool { return k.any != nil }

// errorKinds are the kinds of errors in the order in which they are tried: the
// substrings and the order are oh-my-opencode's last (docs/providers.md, "How an
// error is recognised"), since the provider's text on the order of thinking also speaks of tool_use
// and tool_result; the empty content class, which upstream dropped, comes behind.
// What has no class is set apart from what looks like it.
var errorKinds = []errorKind{
	{
		AssistantPrefillUnsupported,
		[]words{{"assistant message prefill"}, {"conversation must end with a user message"}},
		"The request ended with an answer. Nothing in the store is broken: send any message in the session.",
	},
	{
		ThinkingBlockModified,
		[]words{{"thinking", "cannot be modified"}},
		"The thinking in the newest answer is not what the provider signed. It cannot be made good: undo what changed it, or let mend take all thinking out of that answer.",
	},
	{ThinkingBlockOrder, []words{
		{"thinking", "first block"},
		{"thinking", "must start with"},
		{"thinking", "preceeding"},
		{"thinking", "final block"},
		{"thinking", "cannot be thinking"},
		{"thinking", "expected", "found"},
	}, "Thinking stands where the provider does not take it: behind other content, or at the end of an answer."},
	{
		ThinkingDisabledViolation,
		[]words{{"thinking is disabled", "cannot contain"}},
		"The model is asked without thinking, and the session holds thinking. Switch thinking on again, or let mend take it out.",
	},
	{
		FirstPromptMissing,
		[]words{{"first message must use"}, {"at least one message is required"}, {"first message", "role", "user"}},
		"The conversation starts with an answer: its first prompt is lost.",
	},
	{
		InvalidToolCall,
		[]words{
			{"tool_use.id", "match pattern"},
			{"tool_use", "ids must be unique"},
			{"tool_use.input", "valid dictionary"},
			{"tool_use.name", "match pattern"},
			{"tooluse.name", "regular expression"},
			{"tooluse.tooluseid", "regular expression"},
			{"duplicate", "tool_call_id"},
			{"duplicate", "tooluse"},
			{"invalid 'input", "call_id"},
			{"tool_use.id", "string should have"},
			{"tool_use.name", "string should have"},
		},
		"The id, the name or the input of a tool call is not one that the provider takes.",
	},
	{
		"",
		[]words{{"images", "exceeding the maximum of"}, {"too many images"}},
		"The session holds more images than the provider takes in one request: compact it, or go on in a new session.",
	},
	{
		InvalidFile,
		[]words{{"image exceeds"}, {"image", "exceed", "maximum"}, {"does not represent a valid image"}, {"could not process image"}, {"unsupported image"}, {"image", "too large"}, {"image dimensions exceed"}},
		"An image of the session is one that the provider does not take.",
	},
	{
		EncryptedReasoning,
		[]words{
			{"encrypted_content"},
			{"encrypted content", "could not be"},
			{"encrypted", "organization_id did not match"},
			{"encrypted", "not issued to this caller"},
			{"encrypted reasoning", "could not be"},
		},
		"The session holds reasoning that was encrypted for another account or key. Only that one can use it; a summary of it may stay.",
	},
	{
		"",
		[]words{{"reasoning_content", "must be passed back"}, {"reasoning_content", "missing"}},
		"DeepSeek wants the reasoning of every answer back, and an answer of another model has none. It cannot be made: switch thinking off for this model, or go on with the model that wrote the session.",
	},
	{
		"",
		[]words{{"thought_signature"}},
		"Gemini wants its own signature on every tool call, and the calls of another model have none. It cannot be made: go on with the model that wrote the session, or in a new one.",
	},
	{
		ToolResultMissing,
		[]words{
			{"no tool output found for function call"},
			{"tool_call_ids did not have response messages"},
			{"tool_calls", "must be followed by tool messages"},
			{"expected toolresult blocks"},
			{"tooluse", "toolresult", "without"},
			{"tool call result does not follow tool call"},
			{"function call", "function response"},
		},
		"A tool call never got a result, or not where the provider looks for it.",
	},
	{
		"",
		[]words{{"no tool call found for function call output"}, {"toolresult", "exceeds the number of tooluse"}, {"'tool' must be a response to a preced"}},
		orphanResult,
	},
	{
		"",
		[]words{{"unexpected", "tool_use_id", "tool_result"}},
		orphanResult,
	},
	{
		ToolResultMissing,
		[]words{{"tool_use", "tool_result"}},
		"A tool call never got a result, mostly because the agent was stopped while the tool ran.",
	},
	{
		UnavailableTool,
		[]words{{"dummy_tool"}, {"unavailable tool"}, {"model tried to call unavailable"}, {"nosuchtoolerror"}, {"no such tool"}},
		"The model called a tool that it does not have. The agent has stored that as an answer to the call: go on, and if the model repeats it, go back to before the first such call.",
	},
	{EmptyContentMessage, []words{
		{"non-empty content"},
		{"content", "is empty"},
		{"content field", "empty"},
		{"empty content"},
		{"content is required"},
		{"text content blocks must"}, // be non-empty, or contain non-whitespace text (docs/providers.md, R5 and R11)
		{"message at position", "must not be empty"},
		{"text field", "is blank"},
		{"cache_control cannot be set for empty text"},
	}, "A message of the session has no content, or a text of it is blank."},
	{
		"",
		[]words{{"prompt is too long"}, {"context length"}, {"context window"}, {"context_length_exceeded"}, {"input is too long"}, {"too many tokens"}, {"exceed context limit"}},
		"The session is longer than the model can take. Nothing in it is broken: compact it, or go on in a new session.",
	},
	{
		ThinkingSignature,
		[]words{{"thinking", "signature"}},
		"The provider does not take the signature of a thinking block, and a signature cannot be made: the block can only go.",
	},
	{
		IncompleteRecord,
		[]words{{"missing key at"}, {"invalid string", "must start with", "prt"}, {"invalid string", "must start with", "msg"}},
		"A record of the session lacks a field that the agent needs, or has one that it does not take. The provider was not asked.",
	},
	{
		UnreadableRecord,
		[]words{{"unexpected end of json input"}, {"json", "unexpected eof"}},
		"A record of the session is cut off or empty, and the agent ends on reading it. The provider was not asked.",
	},
}

const orphanResult = "The request held the result of a call that is not in it. OpenCode stores a call with its result, so this happened while the request was made, often by a compaction: go on in a new session, or fork this one before the compaction."

// ruleWords are what the provider says where one of its rules is broken
// (docs/providers.md), in lower case; of two that fit the first counts.
var ruleWords = []struct {
	code string
	words
}{
	{"R2", words{"unexpected", "tool_use_id"}},
	{"R17", words{"ids must be unique"}},
	{"R3", words{"expected", "thinking", "but found"}},
	{"R4", words{"thinking is disabled", "cannot contain"}},
	{"R8", words{"thinking", "cannot be modified"}},
	{"R10", words{"final block", "thinking"}},
	{"R1", words{"tool_use", "without", "tool_result"}},
	{"R5", words{"must be non-empty"}},
	{"R6", words{"must have non-empty content"}},
	{"R9", words{"thinking.signature", "field required"}},
	{"R7", words{"signature", "thinking"}},
	{"R11", words{"must contain non-whitespace"}},
	{"R12", words{"assistant message prefill"}},
	{"R13", words{"tool_use.id", "match pattern"}},
	{"R13", words{"tool_use.id", "string should have at least"}},
	{"R14", words{"tool_use.input", "valid dictionary"}},
	{"R15", words{"image exceeds"}},
	{"R16", words{"first message must use"}},
}

// ruleIn returns the rule that the text, in lower case, tells of; "" for none.
func ruleIn(lower string) string {
	for _, r := range ruleWords {
		if hasAll(lower, r.words) {
			return r.code
		}
	}
	return ""
}

func hasAll(text string, ws words) bool {
	return !slices.ContainsFunc(ws, func(w string) bool { return !strings.Contains(text, w) })
}

const notRecognised = "This error is not one that mend knows a fix for. `mend scan` tells all that is wrong with the session as it is stored."

// recognise returns the first kind that the text, in lower case, is of.
func recognise(lower string) errorKind {
	for _, k := range errorKinds {
		if slices.ContainsFunc(k.any, func(ws words) bool { return hasAll(lower, ws) }) {
			return k
		}
	}
	return errorKind{explanation: notRecognised}
}
