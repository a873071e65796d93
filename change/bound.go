package change

import "fmt"

// A BoundThinking counts the thinking blocks that a change spoils: they follow the change, and the provider accepts
// them only after the exact conversation that they were written in.
type BoundThinking struct {
	Spoiled int  `json:"spoiled"`           // blocks after the change that the model no longer gets
	Removed bool `json:"removed"`           // the change removes them; otherwise the agent omits them, or the provider refuses them
	Refused bool `json:"refused,omitempty"` // for an undo, a redo or a restore: the agent sends them, and the provider refuses the next prompt
}

// Loses returns a sentence about what is lost, "" if nothing is.
func (b *BoundThinking) Loses() string {
	if b == nil || b.Spoiled == 0 {
		return ""
	}
	what, them := "The thinking block after the change, which is", "it"
	if b.Spoiled > 1 {
		what, them = fmt.Sprintf("The %d thinking blocks after the change, which are", b.Spoiled), "them"
	}
	then := "the model may not get " + them + " again"
	switch {
	case b.Removed:
		then = "mend removes " + them + ", too"
	case b.Refused:
		then = "the provider refuses the next prompt with " + them + ", and mend fix removes " + them
	}
	return what + " bound to the conversation before " + them + ": " + then + ". Texts and tool calls stay."
}
