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
// substrings and the order are upstream's last (spec/session-recovery.md section
// 2), since the provider's text on the order of thinking also speaks of tool_use
// and tool_result; the empty content class, which upstream dropped, comes behind.
// What has no class is set apart from what looks like it (section 2.3).
var errorKinds = []errorKind{
	{
		AssistantPrefillUnsupported,
		[]words{{"assistant message prefill"}, {"conversation must end with a user message"}},
		"The request ended with an answer. Nothing in the store is broken: send any message in the session.",
	},
	{
		ThinkingBlockModified,
		[]words{{"thinking", "cannot be modified"}},
		"The thinking in the newest answer is not what the provider signed. It cannot be made good, and a change to it makes it worse: undo what changed it, or fork the session before that answer.",
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
		"",
		[]words{{"unexpected", "tool_use_id", "tool_result"}},
		"The request held the result of a call that is not in it. OpenCode stores a call with its result, so this happened while the request was made, often by a compaction: go on in a new session, or fork this one before the compaction.",
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
		{"text content blocks must"}, // be non-empty, or contain non-whitespace text (provider-rules.md, R5 and R11)
		{"message at position", "must not be empty"},
	}, "A message of the session has no content, or a text of it is blank."},
	{
		"",
		[]words{{"prompt is too long"}, {"context length"}, {"context window"}, {"context_length_exceeded"}, {"input is too long"}, {"too many tokens"}},
		"The session is longer than the model can take. Nothing in it is broken: compact it, or go on in a new session.",
	},
	{
		"",
		[]words{{"thinking", "signature"}},
		"The provider does not take a signature of thinking, which mend cannot make: fork the session before that answer, or go on in a new one.",
	},
}

const notRecognised = "This error is not one that mend knows a cure for. `mend scan` tells all that is wrong with the session as it is stored."

// recognise is the first kind that the text, in lower case, is of.
func recognise(lower string) errorKind {
	has := func(ws words) bool {
		return !slices.ContainsFunc(ws, func(w string) bool { return !strings.Contains(lower, w) })
	}
	for _, k := range errorKinds {
		if slices.ContainsFunc(k.any, has) {
			return k
		}
	}
	return errorKind{explanation: notRecognised}
}
