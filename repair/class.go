package repair

import "fmt"

// A Class is a kind of fault. The names are upstream's, and those of `--class`.
type Class string

// The classes that the stored session shows; those behind the first four are
// mend's own.
const (
	ToolResultMissing         Class = "tool_result_missing"
	ThinkingBlockOrder        Class = "thinking_block_order"
	ThinkingDisabledViolation Class = "thinking_disabled_violation"
	EmptyContentMessage       Class = "empty_content_message"

	InvalidToolCall    Class = "invalid_tool_call"     // an id, input or name of a call that is refused
	InvalidFile        Class = "invalid_file"          // an image or another file that cannot be sent
	FirstPromptMissing Class = "first_prompt_missing"  // the conversation starts with an answer
	IncompleteRecord   Class = "incomplete_record"     // a field is missing, or of another type
	UnreadableRecord   Class = "unreadable_record"     // truncated, empty, or not to be read
	IDsBeforeWrap      Class = "ids_before_clock_wrap" // ids that older agents take for newer than every new one
	HiddenSession      Class = "hidden_session"        // the agent does not list it
	ForeignFile        Class = "foreign_file"          // a file of somebody else's that the agent takes for a record

)

// The classes that only an API error shows.
const (
	ThinkingSignature           Class = "thinking_signature_invalid"
	EncryptedReasoning          Class = "encrypted_reasoning_rejected"
	ThinkingBlockModified       Class = "thinking_block_modified"
	UnavailableTool             Class = "unavailable_tool"
	AssistantPrefillUnsupported Class = "assistant_prefill_unsupported"
)

// OnlyProviderSees reports whether nothing in the stored session shows which records
// a fault of the class is in, and all of its kind can go: thinking.
func OnlyProviderSees(c Class) bool {
	return c == ThinkingSignature || c == EncryptedReasoning || c == ThinkingBlockModified || c == ThinkingDisabledViolation
}

// Repairable lists the classes that can be asked for by name.
func Repairable() []Class {
	return []Class{
		ToolResultMissing, ThinkingBlockOrder, ThinkingDisabledViolation, EmptyContentMessage,
		InvalidToolCall, InvalidFile, FirstPromptMissing, IncompleteRecord, UnreadableRecord, IDsBeforeWrap, ForeignFile,
	}
}

// ClassOf returns the class of that name, and whether it can be asked for.
func ClassOf(name string) (Class, bool) {
	for _, c := range Repairable() {
		if string(c) == name {
			return c, true
		}
	}
	return "", false
}

// A Severity says what a fault does. The zero Severity is invalid.
type Severity uint8

// The severities, worst first.
const (
	Broken Severity = iota + 1 // the provider refuses the session, or the agent dies on reading it
	Latent                     // only another version or setting does, or it is stuck on the screen
	Note                       // untidy
)

var severityNames = [...]string{Broken: "broken", Latent: "latent", Note: "note"}

func (s Severity) String() string {
	if int(s) < len(severityNames) && s > 0 {
		return severityNames[s]
	}
	return fmt.Sprintf("severity(%d)", uint8(s))
}
