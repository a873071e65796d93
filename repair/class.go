package repair

import "fmt"

// A Class is a kind of fault. The names are upstream's, and those of `--class`.
type Class string

// The classes that have a cure here.
const (
	ToolResultMissing         Class = "tool_result_missing"
	ThinkingBlockOrder        Class = "thinking_block_order"
	ThinkingDisabledViolation Class = "thinking_disabled_violation"
	EmptyContentMessage       Class = "empty_content_message"
)

// UnreadableRecord is the class of what stands in the way of reading a session:
// it is told, and its bytes stay as they are.
const UnreadableRecord Class = "unreadable_record"

// The classes that only an API error has: they are recognised and explained.
const (
	AssistantPrefillUnsupported Class = "assistant_prefill_unsupported"
	ThinkingBlockModified       Class = "thinking_block_modified"
	UnavailableTool             Class = "unavailable_tool"
)

// Repairable lists the classes that have a cure, in the order of [Rules].
func Repairable() []Class {
	var cs []Class
	for _, r := range Rules {
		if r.Class != UnreadableRecord {
			cs = append(cs, r.Class)
		}
	}
	return cs
}

// ClassOf is the class of that name, and whether there is one that has a cure.
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
