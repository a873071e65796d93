package provider

import (
	"slices"
	"strings"

	"mend/internal/request"
)

// ErrorTexts defines how the errors of an API, or of an agent, are recognised. All words are in lower case.
type ErrorTexts struct {
	API   string // the provider's name; "" for an agent
	Agent string // the name of the agent that alone uses these words; "" for others
	Rules []Rule // if several match, the one with the longest words counts
	Kinds []ErrorKind

	// Place is a pattern of the place that an error names. Its first group is the index of the message; the second, if
	// it has two, the index of the block. Case does not matter.
	Place string
	// First is the number of the first message and block in a Place.
	First int
	// Calls are the prefixes of tool call ids, before an underscore.
	Calls []string
	// Call is a pattern; its group is the id of a tool call with any prefix.
	Call string
	// Item is a pattern; its group is the id of an item of the request.
	Item string
	// Tool is a pattern; its group is the name of an unavailable tool.
	Tool string
}

// An ErrorKind is a kind of errors: how they are recognised and what they mean.
type ErrorKind struct {
	// Rank decides between kinds that match a text: the lowest wins. A kind whose words other errors quote has a higher
	// rank than those errors.
	Rank  int
	Any   []string        // the error contains one of these words, or of a rule's; see [pieces]
	Class request.Class   // "" if repairing the store does not help
	About request.Subject // "" for the session
	// Explanation tells a person what the error means and what to do.
	Explanation string
}

// WithWords returns the kind with the words that an API uses for it.
func (k ErrorKind) WithWords(words ...string) ErrorKind {
	k.Any = words
	return k
}

// The kinds of errors about a request, by rank.
var (
	EndsWithAnswer = ErrorKind{
		Rank: 10, Class: request.AssistantPrefillUnsupported,
		Explanation: "The request ended with an assistant message. Nothing stored is broken. Send any message in the " +
			"session.",
	}
	ThinkingModified = ErrorKind{
		Rank: 20, Class: request.ThinkingBlockModified,
		Explanation: "Thinking in the newest assistant message was altered after the provider signed it. It cannot be " +
			"restored. Undo what changed it, or let mend remove all thinking from that message.",
	}
	BoundThinking = ErrorKind{
		Rank: 25, Class: request.ThinkingSignature,
		Explanation: "Something before this thinking was changed after the model wrote it: newer models bind thinking to " +
			"the conversation before it. OpenCode 1.18.34 and Claude Code 2.1.332 leave such thinking out by themselves: " +
			"update the agent. Or mend removes that thinking, and all after it.",
	}
	ThinkingOrder = ErrorKind{
		Rank: 30, Class: request.ThinkingBlockOrder,
		Explanation: "Thinking is in the wrong place: after other content, or at the end of an assistant message.",
	}
	ThinkingDisabled = ErrorKind{
		Rank: 40, Class: request.ThinkingDisabledViolation,
		Explanation: "Thinking is off, but the session contains thinking. Switch thinking on again, or let mend remove it.",
	}
	FirstPromptMissing = ErrorKind{
		Rank: 50, Class: request.FirstPromptMissing,
		Explanation: "The conversation starts with an assistant message: the first prompt is missing.",
	}
	InvalidUnicode = ErrorKind{
		Rank: 55, Class: request.InvalidUnicode, Any: []string{
			"surrogate in string", "lone … surrogate", "unpaired … surrogate",
		},
		Explanation: "The session contains half of a surrogate pair, such as half of an emoji, and the agent sends it " +
			"unchanged. The provider cannot read the request. Claude Code 2.1.332 replaces that half by itself, and so does " +
			"OpenCode 1.14.48, except in the input of a call: update the agent.",
	}
	InvalidToolCall = ErrorKind{
		Rank: 60, Class: request.InvalidToolCall,
		Explanation: "The provider rejects the id, the name or the input of a tool call.",
	}
	OutputTooLong = ErrorKind{
		Rank: 65, Class: request.OutputTooLong,
		Explanation: "The result of a tool call is longer than the provider accepts in one text.",
	}
	TooManyImages = ErrorKind{
		Rank: 70,
		Explanation: "The session contains more images than the provider accepts in one request. Compact it, or continue " +
			"in a new session.",
	}
	InvalidFile = ErrorKind{
		Rank: 80, Class: request.InvalidFile,
		Explanation: "The provider rejects an image in the session.",
	}
	InvalidItem = ErrorKind{
		Rank: 85, Class: request.ItemID,
		Explanation: "The request names an item by an id that this account does not have, has twice, or has without the " +
			"items that belong to it. Without the ids the same content is sent in full.",
	}
	EncryptedReasoning = ErrorKind{
		Rank: 90, Class: request.EncryptedReasoning,
		Explanation: "The session contains reasoning that was encrypted or signed for another account, key or model. Only " +
			"that one can use it. A readable summary may stay.",
	}
	ReasoningAsText = ErrorKind{
		Rank:        95,
		Explanation: "The request contains the text of reasoning, but the provider accepts only the encrypted form.",
	}
	ReasoningMissing = ErrorKind{
		Rank: 100, Class: request.ThinkingBlockOrder,
		Explanation: "The provider requires reasoning with every tool call. mend can add a placeholder. Where OpenCode " +
			"does not know that this model thinks, it helps to add \"interleaved\": {\"field\": \"reasoning_content\"} to " +
			"the model in opencode.json.",
	}
	SignatureMissing = ErrorKind{
		Rank: 110,
		Explanation: "Gemini requires its own signature on every tool call, and calls of another model have none. " +
			"Signatures cannot be created. Continue with the model that wrote the session, or in a new session.",
	}
	UnknownRole = ErrorKind{
		Rank:        115,
		Explanation: "The request has a message with a role that the provider does not know. Nothing stored explains that.",
	}
	ToolResultMissing = ErrorKind{
		Rank: 120, Class: request.ToolResultMissing,
		Explanation: "A tool call never got a result, or the result is not where the provider expects it.",
	}
	OrphanResult = ErrorKind{
		Rank: 130,
		Explanation: "The request contained a tool result without its call, or before it. If no stored session has that, " +
			"the agent built it that way, often after a compaction: fork the session before the compaction, or continue in " +
			"a new one.",
	}
	// CallOrResult is for a text that names both a call and a result, and is of none of the kinds above.
	CallOrResult = ErrorKind{Rank: 150, Class: request.ToolResultMissing, Explanation: ToolResultMissing.Explanation}

	EmptyContent = ErrorKind{
		Rank: 170, Class: request.EmptyContentMessage,
		Explanation: "A message of the session has no content, or contains a blank text.",
	}
	TooLong = ErrorKind{
		Rank: 180, Class: request.ContextTooLong,
		Explanation: "The session is longer than the model's context. Nothing in it is broken. `mend trim SESSION` makes " +
			"the next request smaller and removes nothing; with --hard it also sets early turns aside, until a compaction " +
			"fits again. Or compact the session.",
	}
	ThinkingSignature = ErrorKind{
		Rank: 190, Class: request.ThinkingSignature,
		Explanation: "The provider rejects the signature of a thinking block. Signatures cannot be created, so the block " +
			"can only be removed. Claude Code 2.1.330 tries again without thinking by itself.",
	}
	InvalidBlock = ErrorKind{
		Rank: 195, Class: request.IncompleteRecord,
		Explanation: "A block of the session has a type or a field that the provider does not accept, or one of its fields " +
			"is missing or has the wrong type.",
	}
)

const notRecognised = "mend does not know this error."

// squeeze returns the text in lower case, without white space, and with slashes in Windows paths, also in JSON.
func squeeze(text string) string {
	text = strings.Join(strings.Fields(strings.ToLower(text)), "")
	return strings.ReplaceAll(strings.ReplaceAll(text, `\\`, "/"), `\`, "/")
}

// pieces are the substrings that a text must contain, in the form that [squeeze] gives it: white space does not count,
// because a terminal breaks lines inside words, and drops the blank at the end of a line.
type pieces []string

// piecesOf returns the pieces of words, which an … separates.
func piecesOf(words string) (all pieces) {
	for piece := range strings.SplitSeq(words, "…") {
		all = append(all, squeeze(piece))
	}
	return all
}

// matches reports whether a squeezed text contains all of the pieces.
func (ps pieces) matches(text string) bool {
	return !slices.ContainsFunc(ps, func(p string) bool { return !strings.Contains(text, p) })
}

// length returns the length of the pieces in bytes.
func (ps pieces) length() int { return len(strings.Join(ps, "")) }
