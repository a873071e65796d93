package repair

import (
	"fmt"

	"mend/internal/request"
)

// A Class is a kind of finding, see [request.Class].
type Class = request.Class

// An APIError is a parsed error of a model API, see [request.APIError].
type APIError = request.APIError

// The classes that mend finds in the stored session. An agent may add its own.
const (
	ToolResultMissing         = request.ToolResultMissing
	ThinkingBlockOrder        = request.ThinkingBlockOrder
	ThinkingDisabledViolation = request.ThinkingDisabledViolation
	EmptyContentMessage       = request.EmptyContentMessage

	InvalidToolCall    = request.InvalidToolCall
	InvalidFile        = request.InvalidFile
	FirstPromptMissing = request.FirstPromptMissing
	OutputTooLong      = request.OutputTooLong
	ContextTooLong     = request.ContextTooLong
	InvalidUnicode     = request.InvalidUnicode

	IncompleteRecord       = request.IncompleteRecord
	UnreadableRecord Class = "unreadable_record" // truncated, empty or unreadable
	HiddenSession    Class = "hidden_session"    // the agent does not list it
	MissingHistory   Class = "missing_history"   // messages are stored, but the agent does not send them
	LostContent      Class = "lost_content"      // some of its records are lost for good
	MissingFolder    Class = "missing_folder"    // the session's folder does not exist
	OtherProvider    Class = "other_provider"    // the session was made with another model provider than the settings name
)

// The classes that only an API error reveals.
const (
	ThinkingSignature           = request.ThinkingSignature
	EncryptedReasoning          = request.EncryptedReasoning
	ItemID                      = request.ItemID
	ThinkingBlockModified       = request.ThinkingBlockModified
	UnavailableTool             = request.UnavailableTool
	AssistantPrefillUnsupported = request.AssistantPrefillUnsupported
)

// Classes returns the classes that mend finds in the stored session and the engine fixes.
func Classes() []Class {
	return []Class{
		ToolResultMissing, ThinkingBlockOrder, ThinkingDisabledViolation, EmptyContentMessage,
		InvalidToolCall, InvalidFile, InvalidUnicode, FirstPromptMissing, IncompleteRecord, UnreadableRecord,
	}
}

// OnlyProviderSees reports whether only the provider can know which records a class affects. The candidates are all
// thinking, which can be removed.
func OnlyProviderSees(c Class) bool {
	return c == ThinkingSignature || c == EncryptedReasoning || c == ThinkingBlockModified ||
		c == ThinkingDisabledViolation
}

// A Tier says who may repair findings of a class. "" is the tier of an unknown class.
type Tier string

// The tiers.
const (
	// Auto also allows the plugin, the hooks and mend watch to repair it: the real program was tested before and after
	// the repair, and no real conversation has a false finding of the class.
	Auto   Tier = "auto"
	Ask    Tier = "ask"    // only a user starts the repair
	Report Tier = "report" // there is no repair
)

// Meaning explains the tier in a sentence.
func (t Tier) Meaning() string {
	switch t {
	case Auto:
		return "The plugin, the hooks and mend watch repair it without asking, unless the repair would send again " +
			"what the agent leaves out now, or would remove what can be read."
	case Report:
		return "A repair does not change it."
	case Ask:
	}
	return "The plugin, the hooks and mend watch name mend fix, which shows the repair and asks."
}

// A Severity is the effect of a finding. The zero Severity is invalid.
type Severity uint8

// The severities, worst first.
const (
	Broken Severity = iota + 1 // the provider refuses the session, or the agent crashes on reading it
	Latent                     // works, but fails if continued in another way, or is shown wrongly
	Lost                       // a prompt, an answer or a result is missing, and the agent continues silently
	Note                       // harmless
)

var severityNames = [...]string{Broken: "broken", Latent: "latent", Lost: "lost", Note: "note"}

func (s Severity) String() string {
	if int(s) < len(severityNames) && s > 0 {
		return severityNames[s]
	}
	return fmt.Sprintf("severity(%d)", uint8(s))
}
