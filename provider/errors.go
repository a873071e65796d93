package provider

import (
	"slices"
	"strings"

	"mend/request"
)

// ErrorTexts says how the errors of an API, or of an agent, are recognised. All words
// are in lower case.
type ErrorTexts struct {
	API   string // the provider's name; "" for an agent
	Kinds []ErrorKind
	Rules []RuleText // of several that a text fits the first counts

	// Place is a pattern of the place that an error names. Its first group is the index
	// of the message, the second one, if it has two, that of the block. The case of
	// letters does not matter.
	Place string
	// First is the number of the first message and block in a Place.
	First int
	// Calls are what the ids of tool calls start with, before an underscore.
	Calls []string
	// Call is a pattern whose group is the id of a tool call, whatever it starts with.
	Call string
	// Item is a pattern whose group is the id of an item of the request.
	Item string
	// Tool is a pattern whose group is the name of an unavailable tool.
	Tool string
}

// Words are substrings of a text, which has to contain all of them. White space does not
// count: a terminal breaks a line inside of a word, and drops the blank at its end.
type Words []string

// An ErrorKind is a kind of errors: how they are recognised and what they mean.
type ErrorKind struct {
	// Rank decides between kinds that a text fits: the lowest counts. A kind whose words
	// other errors quote has a higher rank than those. Kinds of one rank are the same
	// kind in the words of different APIs.
	Rank  int
	Any   []Words         // an error is of the kind if it contains one of these
	Class request.Class   // "" if no repair of the store answers the error
	About request.Subject // "" for the session
	// Explanation says for a person what the error means and what to do.
	Explanation string
}

// A RuleText is what a provider says if one of its rules is violated.
type RuleText struct {
	Code  string
	Words Words
}

// Explanations of kinds that several APIs have.
const (
	EndsWithAnswer     = "The request ended with an assistant message. Nothing stored is broken. Send any message in the session."
	FirstPromptMissing = "The conversation starts with an assistant message: the first prompt is missing."
	InvalidToolCall    = "The provider rejects the id, the name or the input of a tool call."
	TooManyImages      = "The session contains more images than the provider accepts in one request. Compact it, or continue in a new session."
	InvalidFile        = "The provider rejects an image in the session."
	OrphanResult       = "The request contained a tool result without its call. Agents build requests from the stored session, and this happened there, often after a compaction. Continue in a new session, or fork this one before the compaction."
	ToolResultMissing  = "A tool call never got a result, or the result is not where the provider expects it."
	EncryptedReasoning = "The session contains reasoning that was encrypted or signed for another account, key or model. Only that one can use it. A readable summary may stay."
	OutputTooLong      = "The result of a tool call is longer than the provider accepts in one text."
	EmptyContent       = "A message of the session has no content, or contains a blank text."
	TooLong            = "The session is longer than the model's context. Nothing in it is broken. `mend trim SESSION` makes the next request smaller and removes nothing. Or compact the session."
)

const notRecognised = "mend does not know this error."

// squeeze returns the text in lower case and without white space.
func squeeze(text string) string {
	return strings.Join(strings.Fields(strings.ToLower(text)), "")
}

// squeezed returns the words as a text of [squeeze] has them.
func (ws Words) squeezed() Words {
	all := make(Words, len(ws))
	for i, w := range ws {
		all[i] = squeeze(w)
	}
	return all
}

// fits reports whether a text of [squeeze] contains all of the squeezed words.
func (ws Words) fits(text string) bool {
	return !slices.ContainsFunc(ws, func(w string) bool { return !strings.Contains(text, w) })
}

// fits reports whether a text of [squeeze] is of the kind, whose words are squeezed.
func (k *ErrorKind) fits(text string) bool {
	return slices.ContainsFunc(k.Any, func(ws Words) bool { return ws.fits(text) })
}
