package repair

import (
	"cmp"
	"regexp"
	"slices"
	"sync"

	"mend/internal/request"
)

// constant returns a function for [Rule].Why that returns the same sentence for every finding.
func constant(sentence string) func(*Fault) string { return func(*Fault) string { return sentence } }

// isContent reports whether a block is content: neither thinking nor a blank text.
func isContent(b *request.Block) bool { return !b.IsThinking() && !isBlank(b) }

func isBlank(b *request.Block) bool { return b.Type == request.Text && request.IsBlank(b.Text) }

func isCall(b *request.Block) bool { return b.Type == request.ToolUse }

// lastOf returns the last block that match accepts, or nil.
func lastOf(blocks []*request.Block, match func(*request.Block) bool) *request.Block {
	for _, b := range slices.Backward(blocks) {
		if match(b) {
			return b
		}
	}
	return nil
}

// hasOtherContent reports whether the message has content besides the block.
func (x *Fault) hasOtherContent() bool {
	return slices.ContainsFunc(x.message.Blocks(), func(b *request.Block) bool { return b != x.block && isContent(b) })
}

// alike marks fixes that apply to findings of the same kind in one message.
func alike(fixes ...Fix) []Fix {
	for i := range fixes {
		fixes[i].Alike = true
	}
	return fixes
}

func removal(b *request.Block, text, loses string) Fix {
	return Fix{Text: text, Loses: loses, Edit: func(d Editor) error { return d.Remove(b) }}
}

// nameOf returns the name of a block in a sentence.
func nameOf(b *request.Block) string {
	switch {
	case b == nil:
		return "Something"
	case b.IsThinking():
		return "Thinking"
	case isCall(b):
		return "The " + callName(b)
	case b.Type == request.Text:
		return "A text"
	case b.Type == request.Image || b.Type == request.Document:
		return "A file"
	}
	return "Content of type " + cmp.Or(string(b.Type), "(none)")
}

// callName returns the name of a tool call in a sentence.
func callName(b *request.Block) string {
	name := "call"
	if b.ToolName != "" {
		name = b.ToolName + " call"
	}
	if b.ToolID != "" {
		return name + " " + b.ToolID
	}
	return name + " at " + b.Ref().ID()
}

// notInName matches the characters that providers reject in ids and names of tools.
var notInName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-zA-Z0-9_-]`) })
