package repair

import (
	"errors"
	"fmt"
	"slices"

	"mend/internal/request"
)

// Fixes of misplaced thinking, and of thinking that the provider does not accept
// (docs/providers.md, R3, R4, R7 to R10).

const losesThinking = "This thinking block. Text and tool calls stay."

func classOfLast(x *Fault) Class {
	if x.block != nil && !slices.ContainsFunc(x.step, isContent) {
		return EmptyContentMessage
	}
	return ThinkingBlockOrder
}

func whyLast(x *Fault) string {
	if classOfLast(x) == EmptyContentMessage {
		return "The message is only thinking. The provider rejects an assistant message that ends with thinking."
	}
	return "The step ends with thinking. The provider rejects an assistant message that ends with thinking."
}

// fixLast fixes thinking at the end of the request: a blank text becomes the placeholder, the
// thinking moves before the content of its step, or a text follows it.
func fixLast(x *Fault) (fixes []Fix) {
	if x.block == nil {
		return nil
	}
	after := false
	for _, b := range x.step {
		after = after || b == x.block
		if after && isBlank(b) {
			fixes = append(fixes, x.fillBlank(b))
		}
	}
	if slices.ContainsFunc(x.step, isContent) {
		fixes = append(fixes, x.moveFixes()...)
	}
	text := x.Texts.Placeholder
	return append(fixes, Fix{
		Text: fmt.Sprintf("A text %q is inserted after the thinking.", text),
		Edit: func(d Editor) error { return d.InsertText(x.block, text) },
	}, removal(x.block, "The thinking is removed.", losesThinking))
}

// moveOrRemove moves thinking to the front of its step, or else removes it.
func (x *Fault) moveOrRemove() []Fix {
	if x.block == nil {
		return nil
	}
	return append(x.moveFixes(), alike(removal(x.block, "The thinking is removed.", losesThinking))...)
}

// moveFixes puts thinking first in its step. It also closes an open tool loop: there the provider accepts no change
// to thinking.
func (x *Fault) moveFixes() []Fix {
	move := Fix{
		Text:  "The thinking moves to the front of its step (only its id changes).",
		Edit:  func(d Editor) error { return d.MoveFirst(x.block) },
		Alike: true,
	}
	if !x.openLoop().messages[x.Ref.Message] {
		return []Fix{move}
	}
	shut := x.closeLoop()
	return []Fix{move, {Text: shut.Text + " " + move.Text, Whole: shut.Whole, Edit: func(d Editor) error {
		return errors.Join(shut.Edit(d), move.Edit(d))
	}}}
}

// fixLoopStart moves the thinking of the step to its front, or closes the loop.
func fixLoopStart(x *Fault) (fixes []Fix) {
	if x.block == nil {
		return nil
	}
	if t := lastOf(x.step, func(b *request.Block) bool { return b.IsThinking() && b.Signature != "" }); t != nil {
		fixes = append(fixes, Fix{
			Text: fmt.Sprintf("The thinking %s moves to the front of the step (only its id changes).", t.Ref().ID()),
			Edit: func(d Editor) error { return d.MoveFirst(t) },
		})
	}
	return append(fixes, x.closeLoop())
}

// fixLoopThinking fixes an open tool loop that has thinking although thinking is off.
func fixLoopThinking(x *Fault) []Fix {
	if x.block == nil {
		return nil
	}
	return []Fix{x.closeLoop(), removal(x.block, "The thinking is removed.", losesThinking)}
}

// closeLoop ends the open tool loop with a step that has the placeholder after the newest call. The
// provider's rules on open loops then no longer apply.
func (x *Fault) closeLoop() Fix {
	message := messageRef(x.Ref)
	q, _ := x.Next()
	for b := range q.Blocks {
		if isCall(b) {
			message = messageRef(b.Ref())
		}
	}
	text := x.Texts.Placeholder
	return Fix{
		Whole: message.Message != x.Ref.Message,
		Text:  fmt.Sprintf("A text %q closes the tool loop. Everything else stays.", text),
		Edit:  func(d Editor) error { return d.AddStep(message, text) },
	}
}

func (x *Fault) thoughts() []*request.Block {
	return slices.DeleteFunc(x.message.Blocks(), func(b *request.Block) bool { return !b.IsThinking() })
}

const losesThoughts = "The thinking in this message, with its signatures."

// fixThinkingOff removes all thinking of a message. If nothing else is left, the placeholder
// replaces it.
func fixThinkingOff(x *Fault) []Fix {
	thoughts, blank := x.thoughts(), lastOf(x.message.Blocks(), isBlank)
	if len(thoughts) == 0 {
		return nil
	}
	fix := Fix{Text: "The thinking is removed; text and tool calls stay.", Loses: losesThoughts}
	gone, filled := thoughts, blank
	text := x.Texts.Placeholder
	switch {
	case slices.ContainsFunc(x.message.Blocks(), isContent):
		filled = nil
	case blank == nil:
		filled, gone = thoughts[len(thoughts)-1], thoughts[:len(thoughts)-1]
	}
	if filled != nil {
		fix.Text = fmt.Sprintf("The thinking is removed. Because nothing else is left, %q replaces it.", text)
	}
	fix.Edit = func(d Editor) error {
		if filled != nil {
			if err := d.ReplaceText(filled, text); err != nil {
				return err
			}
		}
		for _, b := range slices.Backward(gone) {
			if err := d.Remove(b); err != nil {
				return err
			}
		}
		return nil
	}
	return []Fix{fix}
}

// fixThinking removes the signed part, or else the block of thinking.
func fixThinking(x *Fault) []Fix {
	if x.block == nil {
		return nil
	}
	if len(x.thoughts()) == 1 && !x.hasOtherContent() {
		return append(fixEncrypted(x), fixThinkingOff(x)...)
	}
	return append(fixEncrypted(x), removal(x.block, "The thinking is removed.", losesThinking))
}

// fixEncrypted removes the part that only the provider can read.
func fixEncrypted(x *Fault) []Fix {
	if x.block == nil {
		return nil
	}
	return []Fix{{
		Text:  "The encrypted reasoning is removed. Its summary stays.",
		Loses: "The encrypted reasoning, which only the provider could read.",
		Edit:  func(d Editor) error { return d.DropHidden(x.block) },
	}}
}

// fixMissingReasoning adds reasoning before a call. It is not empty, because some versions do not
// send empty reasoning.
func fixMissingReasoning(x *Fault) []Fix {
	if x.block == nil {
		return nil
	}
	text := x.Texts.Placeholder
	return []Fix{{
		Text: fmt.Sprintf("Reasoning %q is added before the call.", text),
		Edit: func(d Editor) error { return d.InsertThinking(x.block, text) },
	}}
}
