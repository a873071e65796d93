package openai

import (
	"strings"

	"mend/internal/provider"
	"mend/internal/request"
)

// rules are O1 to O15 of docs/providers.md. Only the provider can check O8 and O10.
var rules = []provider.Rule{
	{
		Code: "O1", Text: "each function call has its output",
		Error: "No tool output found for function call ID.",
		Words: []string{"no tool output found for"},
		Kind:  &provider.ToolResultMissing, Find: callWithoutOutput,
	},
	{
		Code: "O2", Text: "each output has its function call before it",
		Error: "No tool call found for function call output with call_id ID.",
		Words: []string{"no tool call found for"},
		Kind:  &provider.OrphanResult, Find: outputWithoutCall,
	},
	{
		Code: "O3", Text: "items with ids that belong to one response stay together: reasoning comes right before what " +
			"followed it",
		Error: "Item 'ID' of type 'reasoning' was provided without its required following item.",
		Words: []string{"was provided without its required"},
		Kind:  &provider.InvalidItem, Find: separatedItems,
	},
	{
		Code: "O4", Text: "no item id occurs twice",
		Error: "Duplicate item found with id ID. Remove duplicate items from your input and try again.",
		Words: []string{"duplicate item found with id"},
		Kind:  &provider.InvalidItem, Find: repeatedItem,
	},
	{
		Code: "O5", Text: "the name of a tool has only letters, digits, _ and -",
		Error: "Invalid 'input[N].name': string does not match pattern. Expected a string that matches the pattern " +
			"'^[a-zA-Z0-9_-]+$'.",
		Words: []string{"'input[ … ].name'"},
		Kind:  &provider.InvalidToolCall, Find: provider.FindCalls(provider.InvalidName),
	},
	{
		Code: "O6", Text: "the id of a call has 1 to 64 characters",
		Error: "Invalid 'input[N].call_id': string too long. Expected a string with maximum length 64, but got a string " +
			"with length M instead.",
		Words: []string{"'input[ … call_id'"},
		Kind:  &provider.InvalidToolCall,
		Find:  provider.InvalidID(provider.HasValidLength),
	},
	{
		Code: "O6", Text: "the id of an item has at most 64 characters",
		Error: "Invalid 'input[N].id': string too long. Expected a string with maximum length 64, but got a string with " +
			"length M instead.",
		Words: []string{"'input[ … ].id' … string too long"},
		Kind:  &provider.InvalidItem,
		Find:  provider.FindBlocks(hasLongItemID),
	},
	{
		Code: "O8", Text: "encrypted reasoning was created under this account",
		Error: "The encrypted content gAAA...xxxx could not be verified.",
		Words: []string{
			"encrypted … could not be verified",
			"invalid_encrypted_content",
			"encrypted … organization_id did not match",
			"encrypted … not issued to this caller",
			"encrypted … could not be decrypted",
		},
		Kind: &provider.EncryptedReasoning,
	},
	{
		Code: "O9", Text: "images are PNG, JPEG, GIF or WebP, and can be decoded",
		Error: "The image data you provided does not represent a valid image. Please check your input and try again with " +
			"one of the supported image formats: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'].",
		Words: []string{"does not represent a valid image", "image_url … base64-encoded"},
		Kind:  &provider.InvalidFile,
		Find:  provider.FindImages(provider.Undecodable),
	},
	{
		Code: "O10", Text: "an item that is named by its id exists under this account",
		Error: "Item with id 'rs_…' not found. Items are not persisted when `store` is set to false.",
		Words: []string{"item with id … not found"},
		Kind:  &provider.InvalidItem,
	},
	{
		Code: "O11", Text: "the id of an item has the prefix of its type",
		Error: "Invalid 'input[N].id': 'ID'. Expected an ID that begins with 'PREFIX'.",
		Words: []string{"'input[ … ].id' … expected an id that begins with"},
		Kind:  &provider.InvalidItem, Find: wrongPrefix,
	},
	{
		Code: "O12", Text: "a text has at most 10485760 characters",
		Error: "Invalid 'input[N].output': string too long. Expected a string with maximum length 10485760, but got a " +
			"string with length M instead.",
		Words: []string{"'input[ … ].output … string too long"},
		Kind:  &provider.OutputTooLong,
		Find:  provider.FindBlocks(provider.HasLongText),
	},
	{
		Code: "O13", Text: "reasoning that the provider does not store has its encrypted content",
		Error: "Missing required parameter: 'input[N].encrypted_content'.",
		Words: []string{"missing required parameter … encrypted_content"},
		Kind:  &provider.EncryptedReasoning, Find: findItems(func(b *request.Block) bool {
			return b.IsThinking() && b.Unsigned && !b.Reference
		}),
	},
	{
		Code: "O14", Text: "reasoning is sent in its encrypted form only",
		Error: "Invalid 'input[N].content': array too long.",
		Words: []string{"'input[ … ].content' … array too long"},
		Kind:  &provider.ReasoningAsText,
		Find:  findItems(func(b *request.Block) bool { return b.IsThinking() && len(b.Content) > 0 }),
	},
	provider.ValidJSON("O15", provider.HalfPairInText),
}

// callWithoutOutput checks O1.
func callWithoutOutput(q request.Request, _ bool) []request.Violation {
	answered := map[string]int{}
	provider.EachBlock(q.Turns, func(n, _ int, b *request.Block) {
		if b.Type == request.ToolResult {
			answered[b.ToolID] = n
		}
	})
	return provider.SelectBlocks(q, func(n, _ int, b *request.Block) bool {
		at, ok := answered[b.ToolID]
		return b.Type == request.ToolUse && (!ok || at < n)
	})
}

// outputWithoutCall checks O2.
func outputWithoutCall(q request.Request, _ bool) []request.Violation {
	called := map[string]bool{}
	return provider.SelectBlocks(q, func(_, _ int, b *request.Block) bool {
		if b.Type == request.ToolUse {
			called[b.ToolID] = true
		}
		return b.Type == request.ToolResult && !called[b.ToolID]
	})
}

func hasLongItemID(b *request.Block) bool {
	return b.Type != request.ToolUse && b.Type != request.ToolResult && len(b.ItemID) > provider.MaxID
}

// item returns the block of item n if it is an item of the assistant, else nil.
func item(q request.Request, n int) *request.Block {
	if n < 0 || n >= len(q.Turns) || !provider.IsAssistant(q, n) || len(q.Turns[n].Blocks) == 0 {
		return nil
	}
	return q.Turns[n].Blocks[0]
}

// findItems finds the assistant's items that match accepts.
func findItems(match func(b *request.Block) bool) provider.Find {
	return func(q request.Request, _ bool) []request.Violation {
		return provider.SelectBlocks(q, func(n, _ int, b *request.Block) bool { return b == item(q, n) && match(b) })
	}
}

// separatedItems checks O3. Only items with ids are compared: without ids the provider accepts them in any order. A
// call that is sent in full has no id, and counts as an item after reasoning.
func separatedItems(q request.Request, _ bool) (found []request.Violation) {
	for n := range q.Turns {
		b := item(q, n)
		switch {
		case b == nil || b.ItemID == "":
		case b.IsThinking() && !b.Interrupted && !isFollowed(q, n):
			found = append(found, provider.Violate(n, 0, b))
		case !b.IsThinking() && b.Reasoned && !followsReasoning(q, n):
			v := provider.Violate(n, 0, b)
			v.Message = "Item 'ID' of type 'TYPE' was provided without its required 'reasoning' item."
			found = append(found, v)
		}
	}
	return found
}

// sameMessage returns the block of item at, nil if item n belongs to a different stored message: a different message is
// a different response.
func sameMessage(q request.Request, n, at int) *request.Block {
	b := item(q, at)
	if b == nil || b.Ref().Message != q.Turns[n].Blocks[0].Ref().Message {
		return nil
	}
	return b
}

// isFollowed reports whether an item with an id, or a call, follows the reasoning that is item n.
func isFollowed(q request.Request, n int) bool {
	for at := n + 1; ; at++ {
		b := sameMessage(q, n, at)
		switch {
		case b == nil:
			return false
		case b.Interrupted:
			return true
		case !b.IsThinking():
			return b.ItemID != "" || b.Type == request.ToolUse
		}
	}
}

// followsReasoning reports whether reasoning with an id comes before item n in its message. The output that the agent
// adds for another call of the message may be in between.
func followsReasoning(q request.Request, n int) bool {
	for at := n - 1; ; at-- {
		if at >= 0 && q.Turns[at].Role == request.RoleTool && len(q.Turns[at].Messages) == 0 {
			continue
		}
		b := sameMessage(q, n, at)
		switch {
		case b == nil:
			return false
		case b.IsThinking() && b.ItemID != "":
			return true
		}
	}
}

// repeatedItem checks O4.
func repeatedItem(q request.Request, _ bool) (found []request.Violation) {
	first := map[string]*request.Block{}
	for n, t := range q.Turns {
		if len(t.Blocks) == 0 || t.Blocks[0].ItemID == "" {
			continue
		}
		b := t.Blocks[0]
		if earlier, seen := first[b.ItemID]; seen {
			found = append(found, provider.Violate(n, 0, b, earlier))
			continue
		}
		first[b.ItemID] = b
	}
	return found
}

// wrongPrefix checks O11.
func wrongPrefix(q request.Request, _ bool) []request.Violation {
	return provider.FindBlocks(func(b *request.Block) bool { // prompts have ids, too
		isOtherCall := b.Type == request.ToolUse && (strings.HasPrefix(b.ItemID, "ctc") || strings.HasPrefix(b.ItemID, "lsh"))
		return b.ItemID != "" && !isOtherCall && !strings.HasPrefix(b.ItemID, prefixOf(b))
	})(q, false)
}

// prefixOf returns the prefix of the ids of items of the block's type.
func prefixOf(b *request.Block) string {
	switch {
	case b.IsThinking():
		return "rs"
	case b.Type == request.ToolUse:
		return "fc"
	case b.Type == request.Text:
		return "msg"
	}
	return "" // no rule for this type
}
