package repair

import (
	"errors"
	"fmt"
	"slices"

	"mend/change"
)

// Fixes of conversations without their prompt (docs/providers.md, R16, G4, B1).

// fixFirstPrompt puts the placeholder into the prompt before the answer if that prompt has no content, or else into a
// new prompt.
func fixFirstPrompt(x *Fault) (fixes []Fix) {
	for _, ref := range slices.Backward(x.earlierMessages()) {
		if x.Stored(ref).Role == change.RoleUser {
			fixes = append(fixes, x.fillPrompt(ref, "The empty first prompt %s gets placeholder text."))
			break
		}
	}
	return append(fixes, x.insertPrompt("A placeholder prompt is inserted before the first assistant message."))
}

// fixLostPrompt makes a prompt precede an answer that calls a tool: it puts the placeholder into an existing prompt
// without content, or into a new one.
func fixLostPrompt(x *Fault) (fixes []Fix) {
	for _, b := range x.message.Blocks() { // a block before the start of its step is a turn of its own
		if isBlank(b) {
			fixes = append(fixes, removal(b, "The blank text is removed. The rest of the message stays.", ""))
		}
	}
	if before := x.earlierMessages(); len(before) > 0 {
		if ref := before[len(before)-1]; x.Stored(ref).Role == change.RoleUser {
			fixes = append(fixes, x.fillPrompt(ref, "The empty prompt %s gets placeholder text."))
		}
	}
	return append(fixes, x.insertPrompt("A placeholder prompt is inserted before the assistant message."))
}

// earlierMessages returns the messages before the affected message.
func (x *Fault) earlierMessages() []change.Ref {
	all := x.Messages()
	i := slices.IndexFunc(all, func(r change.Ref) bool { return r.Message == x.Ref.Message })
	return all[:max(i, 0)]
}

// fillPrompt puts the placeholder into a prompt without content.
func (x *Fault) fillPrompt(ref change.Ref, text string) Fix {
	placeholder := x.Texts.Placeholder
	return Fix{Text: fmt.Sprintf(text, ref.Message), Whole: true, Edit: func(d Editor) error {
		blocks := x.Stored(ref).Blocks()
		if slices.ContainsFunc(blocks, isContent) {
			return errors.New("the prompt has content")
		}
		if len(blocks) == 0 {
			return d.FillMessage(ref, placeholder)
		}
		for _, b := range blocks {
			if err := d.ReplaceText(b, placeholder); err != nil {
				return err
			}
		}
		return nil
	}}
}

func (x *Fault) insertPrompt(text string) Fix {
	placeholder := x.Texts.Placeholder
	return Fix{Text: text, Whole: true, Edit: func(d Editor) error { return d.InsertPrompt(x.Ref, placeholder) }}
}
