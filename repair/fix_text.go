package repair

import (
	"fmt"

	"mend/internal/request"
)

// Fixes of texts without a visible character and of messages without content (docs/providers.md,
// R5, R6, R11).

func whyBlank(x *Fault) string {
	if x.block != nil && x.block.Text == "" {
		return "The text is empty; the provider rejects that."
	}
	return "The text is only whitespace; the provider rejects that."
}

// fixBlank removes a blank text if the message has other content; otherwise it replaces the text with the placeholder.
func fixBlank(x *Fault) []Fix {
	if x.block == nil || x.block.Type != request.Text {
		return nil
	}
	var fixes []Fix
	if x.hasOtherContent() {
		fixes = alike(removal(x.block, "The blank text is removed. The rest of the message stays.", ""))
	}
	return append(fixes, x.fillBlank(x.block))
}

func (x *Fault) fillBlank(b *request.Block) Fix {
	text := x.Texts.Placeholder
	return Fix{
		Text: fmt.Sprintf("The text becomes %q.", text), Edit: func(d Editor) error { return d.ReplaceText(b, text) },
	}
}

// fixEmptyTurn puts the placeholder into a message: in place of a blank text, as its only content,
// or as a step of its own.
func fixEmptyTurn(x *Fault) (fixes []Fix) {
	for _, b := range x.message.Blocks() {
		if isBlank(b) {
			fixes = append(fixes, x.fillBlank(b))
		}
	}
	text := x.Texts.Placeholder
	insert := func(edit func(Editor) error) Fix {
		return Fix{Text: fmt.Sprintf("A text %q is added to the message.", text), Edit: edit}
	}
	return append(fixes,
		insert(func(d Editor) error { return d.FillMessage(x.message.Ref, text) }),
		insert(func(d Editor) error { return d.AddStep(x.message.Ref, text) }))
}

func whyBlankBlock(x *Fault) string {
	if x.block != nil && isCall(x.block) {
		return "The output of the tool is blank; the provider rejects that."
	}
	return whyBlank(x)
}

// noOutput replaces the output of a tool that wrote nothing.
const noOutput = "(no output)"

// fixBlankBlock fixes a blank text, or a result with one.
func fixBlankBlock(x *Fault) []Fix {
	if x.block == nil || !isCall(x.block) {
		return fixBlank(x)
	}
	return []Fix{{
		Text: fmt.Sprintf("The output of the tool becomes %q.", noOutput),
		Edit: func(d Editor) error { return d.SetResult(x.block, noOutput) },
	}}
}
