package endpoint

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
)

// boundModels are the models that bind thinking, as named by the provider.
var boundModels = []string{
	"claude-fable-5-1", "claude-fable-5-2", "claude-mythos-5-1", "claude-mythos-5-2", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5",
}

func binds(model string) bool {
	return slices.ContainsFunc(boundModels, func(name string) bool { return strings.HasPrefix(model, name) })
}

// Bindings map the signatures of thinking blocks to the conversation that they are bound to.
type Bindings map[string]binding

// A binding is the conversation before a thinking block when it was created.
type binding struct {
	prefix [sha256.Size]byte // all content except thinking; the system prompt and the tools are left out
	before string            // the signature of the thinking before it, "" for none
}

// Learn binds all thinking in a request, each block to the content before it.
func (k Bindings) Learn(r Request) {
	walkThinking(r.Messages, func(_ locatedBlock, signature string, now binding) bool {
		k[signature] = now
		return true
	})
}

// issue binds the thinking of an answer to a request.
func (k Bindings) issue(r Request, answer Content) {
	left := map[string]bool{}
	for _, b := range k.invalid(r) { // these were left out before the model saw the request
		left[b.signature()] = true
	}
	all := slices.Concat(r.Messages, []Message{{"assistant", answer}})
	for i := range all {
		all[i].Content = slices.DeleteFunc(slices.Clone(all[i].Content), func(b Block) bool { return left[b.signature()] && b.isThinking() })
	}
	walkThinking(all, func(b locatedBlock, signature string, now binding) bool {
		if b.message == len(all)-1 {
			k[signature] = now
		}
		return true
	})
}

// An unboundBlock is a block that is bound to another conversation.
type unboundBlock struct {
	locatedBlock
	why string
}

// Messages of the provider.
const (
	otherConversation = "The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"."
	missingThinking   = "The `thinking` block that preceded this one when it was created is missing from the request. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"."
)

// invalid returns the blocks of a request that are bound to another conversation.
func (k Bindings) invalid(r Request) (all []unboundBlock) {
	if !binds(r.Model) {
		return nil
	}
	walkThinking(r.Messages, func(b locatedBlock, signature string, now binding) bool {
		bound, known := k[signature]
		switch {
		case !known:
			return true
		case bound.prefix != now.prefix:
			all = append(all, unboundBlock{b, otherConversation})
			return false
		case now.before != "" && bound.before != now.before:
			all = append(all, unboundBlock{b, missingThinking})
			return false
		}
		return true
	})
	return all
}

// Refused returns the positions of the blocks that the provider refuses, and its message for the first; "" if
// it refuses none.
func (k Bindings) Refused(r Request) (places []string, message string) {
	for _, b := range k.invalid(r) {
		places = append(places, b.path())
	}
	return places, conversation{Request: r, unbound: k.invalid(r)}.boundElsewhere()
}

// R28: a thinking block follows the conversation that it was created after.
func (c conversation) boundElsewhere() string {
	if len(c.unbound) == 0 || c.Thinking.BlockBinding.PrefixMismatchBehavior == "drop_block" {
		return ""
	}
	return c.unbound[0].path() + ": Invalid `signature` in `thinking` block. " + c.unbound[0].why
}

// walkThinking calls f for each thinking block, with the conversation before it. A block for which f returns
// false is treated as missing.
func walkThinking(messages []Message, f func(b locatedBlock, signature string, now binding) bool) {
	h, before := sha256.New(), ""
	for n, m := range messages {
		for i, b := range m.Content {
			if !b.isThinking() {
				data, _ := json.Marshal([]any{m.Role, b}) // it was decoded from JSON
				_, _ = h.Write(data)
				continue
			}
			if f(locatedBlock{b, n, i}, b.signature(), binding{[sha256.Size]byte(h.Sum(nil)), before}) {
				before = b.signature()
			}
		}
	}
}

// signature returns the signature, or the encrypted data, of a thinking block.
func (b Block) signature() string {
	if b.Signature != nil {
		return *b.Signature
	}
	return b.Data
}
