package repair

import (
	"cmp"
	"regexp"
	"slices"
	"sync"

	"mend/internal/request"
)

// A remedy is what mend knows of a rule of a provider: why a request breaks it, and how a session
// is changed so that it does not. What no request shows is the agent's.
type remedy struct {
	Class Class
	class func(*fault) Class // nil: Class
	why   func(*fault) string
	fixes func(*fault) []Fix // the one that loses least first

	// For [ExplainRule]. Where fix is empty that of the class is meant.
	meaning, error, example, fix, loses string
}

// A fault is a finding with what is stored at its place.
type fault struct {
	Finding
	Session
	message Stored
	step    []*request.Block // that holds the block
	block   *request.Block   // as it is stored; nil for a fault of the whole message
}

func newFault(s Session, f Finding) *fault {
	x := &fault{Finding: f, Session: s, message: s.Stored(f.Ref)}
	x.step, x.block = x.message.Step(f.Ref, f.Block)
	return x
}

// A Remedy is what the engine knows of a finding of a provider's rule.
type Remedy struct {
	Class Class
	Why   string
	x     *fault
	r     remedy
}

// RemedyOf returns what the engine knows of a finding. It reports false for a rule that it does not know.
func RemedyOf(s Session, f Finding) (Remedy, bool) {
	r, ok := remedies()[f.Code]
	if !ok {
		return Remedy{}, false
	}
	x := newFault(s, f)
	m := Remedy{Class: r.Class, Why: r.why(x), x: x, r: r}
	if r.class != nil {
		m.Class = r.class(x)
	}
	return m, true
}

// ClassOf returns the class of the findings of a rule, "" for a rule that the engine does not know.
func ClassOf(code string) Class { return remedies()[code].Class }

// Fixes returns the fixes, the one that loses least first.
func (m Remedy) Fixes() []Fix {
	if m.r.fixes == nil {
		return nil
	}
	return m.r.fixes(m.x)
}

// always returns a why that does not depend on the fault.
func always(sentence string) func(*fault) string { return func(*fault) string { return sentence } }

// isContent reports whether a block is sent for itself: neither thinking nor a blank text.
func isContent(b *request.Block) bool { return !b.IsThinking() && !isBlank(b) }

func isBlank(b *request.Block) bool { return b.Type == request.Text && request.IsBlank(b.Text) }

func isCall(b *request.Block) bool { return b.Type == request.ToolUse }

// lastOf returns the last block for which is returns true, nil if there is none.
func lastOf(blocks []*request.Block, is func(*request.Block) bool) *request.Block {
	for _, b := range slices.Backward(blocks) {
		if is(b) {
			return b
		}
	}
	return nil
}

// hasContentBeside reports whether the message has content besides the block.
func (x *fault) hasContentBeside() bool {
	return slices.ContainsFunc(x.message.Blocks(), func(b *request.Block) bool { return b != x.block && isContent(b) })
}

// alike marks fixes that hold for findings of the same kind in one message.
func alike(fixes ...Fix) []Fix {
	for i := range fixes {
		fixes[i].Alike = true
	}
	return fixes
}

// removal returns the fix that removes a block.
func removal(b *request.Block, text, loses string) Fix {
	return Fix{Text: text, Loses: loses, Edit: func(d Draft) error { return d.Remove(b) }}
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
	return "A record of type " + cmp.Or(string(b.Type), "(none)")
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
	return name + " in part " + b.Ref().ID()
}

// notInName matches the characters that providers reject in ids and names of tools.
var notInName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-zA-Z0-9_-]`) })
