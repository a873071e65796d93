package provider

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"mend/change"
	"mend/internal/request"
)

// A Find returns every place where a request violates a rule. It need not set the violations' Rule,
// and sets the Message only if it differs from the rule's Error.
type Find func(q request.Request, thinking bool) []request.Violation

// Violate returns a violation at block m of turn n, with the records of the blocks, the main one
// first.
func Violate(n, m int, blocks ...*request.Block) request.Violation {
	v := request.Violation{Refs: request.Sources(blocks...), N: n, M: m}
	if len(blocks) > 0 {
		v.Block = blocks[0]
	}
	return v
}

// EachBlock calls f for every block of the turns, in order. It skips blocks inside a result.
func EachBlock(turns []request.Turn, f func(n, m int, b *request.Block)) {
	for n := range turns {
		for m, b := range turns[n].Blocks {
			f(n, m, b)
		}
	}
}

// EachImage calls f for every image of the turns, in order. The image is block m of turn n, or is inside block m, which
// is then a result.
func EachImage(turns []request.Turn, f func(n, m int, b *request.Block)) {
	EachBlock(turns, func(n, m int, b *request.Block) {
		if b.Type == request.Image {
			f(n, m, b)
		}
		for _, inner := range b.Content {
			if inner.Type == request.Image {
				f(n, m, inner)
			}
		}
	})
}

// FindBlocks finds the blocks that match accepts, except blocks inside a result.
func FindBlocks(match func(b *request.Block) bool) Find {
	return func(q request.Request, _ bool) []request.Violation {
		return SelectBlocks(q, func(_, _ int, b *request.Block) bool { return match(b) })
	}
}

// SelectBlocks returns a violation at each block that match accepts: block m of turn n.
func SelectBlocks(q request.Request, match func(n, m int, b *request.Block) bool) (found []request.Violation) {
	EachBlock(q.Turns, func(n, m int, b *request.Block) {
		if match(n, m, b) {
			found = append(found, Violate(n, m, b))
		}
	})
	return found
}

// FindCalls is [FindBlocks] for tool calls only.
func FindCalls(match func(call *request.Block) bool) Find {
	return FindBlocks(func(b *request.Block) bool { return b.Type == request.ToolUse && match(b) })
}

// FindImages finds the images that match accepts, on their own or in a result.
func FindImages(match func(b *request.Block) bool) Find {
	return func(q request.Request, _ bool) (found []request.Violation) {
		EachImage(q.Turns, func(n, m int, b *request.Block) {
			if match(b) {
				found = append(found, Violate(n, m, b))
			}
		})
		return found
	}
}

// FindTurns finds the turns that match accepts.
func FindTurns(match func(q request.Request, n int) bool) Find {
	return func(q request.Request, _ bool) (found []request.Violation) {
		for n, t := range q.Turns {
			if match(q, n) {
				found = append(found, request.Violation{Refs: t.Messages, N: n, M: -1})
			}
		}
		return found
	}
}

// FindFirst finds the first block of a type in each turn that match accepts.
func FindFirst(kind request.BlockType, match func(q request.Request, n int) bool) Find {
	return func(q request.Request, _ bool) (found []request.Violation) {
		for n, t := range q.Turns {
			if m := FirstBlock(t, kind); m >= 0 && match(q, n) {
				found = append(found, Violate(n, m, t.Blocks[m]))
			}
		}
		return found
	}
}

// FirstBlock returns the index of the turn's first block of a type, or -1.
func FirstBlock(t request.Turn, kind request.BlockType) int {
	return slices.IndexFunc(t.Blocks, func(b *request.Block) bool { return b.Type == kind })
}

// CountBlocks returns how many of the blocks are of a type.
func CountBlocks(blocks []*request.Block, kind request.BlockType) (n int) {
	for _, b := range blocks {
		if b.Type == kind {
			n++
		}
	}
	return n
}

// IsAssistant reports whether turn n is an assistant message.
func IsAssistant(q request.Request, n int) bool { return q.Turns[n].Role == change.RoleAssistant }

// AssistantFirst finds a request that does not start with a user turn.
func AssistantFirst(q request.Request, n int) bool {
	return n == 0 && q.Turns[n].Role != change.RoleUser
}

// AssistantLast finds a request that ends with an assistant message.
func AssistantLast(q request.Request, n int) bool { return n == len(q.Turns)-1 && IsAssistant(q, n) }

// EmptyTurn finds a turn without content.
func EmptyTurn(q request.Request, n int) bool { return len(q.Turns[n].Blocks) == 0 }

// ThinkingLast finds assistant messages that end with thinking.
func ThinkingLast(q request.Request, _ bool) (found []request.Violation) {
	for n, t := range q.Turns {
		if m := len(t.Blocks) - 1; m >= 0 && IsAssistant(q, n) && t.Blocks[m].IsThinking() {
			found = append(found, Violate(n, m, t.Blocks[m]))
		}
	}
	return found
}

// CallWithoutResult finds what separates calls from their results: each block of another type after a call in its turn.
// The records of a violation are the block's and that of the last call before it. A turn without such blocks has one
// violation for all its calls that have no results at the start of the next turn.
func CallWithoutResult(q request.Request, _ bool) (found []request.Violation) {
	answered := map[string]bool{}
	for n, t := range q.Turns {
		clear(answered)
		if n+1 < len(q.Turns) {
			addLeadingResults(answered, q.Turns[n+1])
		}
		var last *request.Block
		var unanswered []*request.Block
		first, separated := FirstBlock(t, request.ToolUse), false
		violate := func(blocks ...*request.Block) {
			found = append(found, request.Violation{Refs: request.Sources(blocks...), N: n, M: first})
		}
		for _, b := range t.Blocks {
			switch {
			case b.Type == request.ToolUse:
				if last = b; !answered[b.ToolID] {
					unanswered = append(unanswered, b)
				}
			case last != nil:
				violate(b, last)
				separated = true
			}
		}
		if !separated && len(unanswered) > 0 {
			violate(unanswered...)
		}
	}
	return found
}

// NoResult is the providers' error for [CallWithoutResult].
const NoResult = "messages.N: `tool_use` ids were found without `tool_result` blocks immediately after: ID, ID. " +
	"Each `tool_use` block must have a corresponding `tool_result` block in the next message."

// addLeadingResults adds the ids of the results at the start of the turn.
func addLeadingResults(ids map[string]bool, t request.Turn) {
	for _, b := range t.Blocks {
		if b.Type != request.ToolResult {
			break
		}
		ids[b.ToolID] = true
	}
}

// RepeatedID finds calls with the id of an earlier call, if counts accepts the turns of both. A violation lists the
// record of the later call, then the record of the earlier one.
func RepeatedID(counts func(earlier, n int) bool) Find {
	return func(q request.Request, _ bool) (found []request.Violation) {
		type place struct {
			turn int
			call *request.Block
		}
		first := map[string]place{}
		EachBlock(q.Turns, func(n, m int, b *request.Block) {
			if b.Type != request.ToolUse {
				return
			}
			earlier, seen := first[b.ToolID]
			switch {
			case seen && counts(earlier.turn, n):
				found = append(found, Violate(n, m, b, earlier.call))
			case !seen || earlier.turn != n:
				first[b.ToolID] = place{n, b}
			}
		})
		return found
	}
}

// Anywhere is for [RepeatedID]: ids are unique in a request.
func Anywhere(int, int) bool { return true }

// SameTurn is for [RepeatedID]: ids are unique in a turn.
func SameTurn(earlier, n int) bool { return earlier == n }

// OtherTurn is for [RepeatedID]: no id is used in two turns.
func OtherTurn(earlier, n int) bool { return earlier != n }

// InvalidID finds calls and results with an invalid id. A result is reported only if its call is not reported.
func InvalidID(valid func(id string) bool) Find {
	return func(q request.Request, _ bool) (found []request.Violation) {
		reported := map[change.Ref]bool{}
		for _, kind := range [...]request.BlockType{request.ToolUse, request.ToolResult} {
			EachBlock(q.Turns, func(n, m int, b *request.Block) {
				if b.Type == kind && !valid(b.ToolID) && !reported[b.Ref()] {
					reported[b.Ref()] = true
					found = append(found, Violate(n, m, b))
				}
			})
		}
		return found
	}
}

// MaxID is the greatest length of an id that OpenAI and Bedrock accept.
const MaxID = 64

// HasValidLength reports whether an id has 1 to [MaxID] characters.
func HasValidLength(id string) bool { return id != "" && utf8.RuneCountInString(id) <= MaxID }

// InvalidName reports whether [IsName] rejects the tool name of a call.
func InvalidName(call *request.Block) bool { return !IsName(call.ToolName) }

// NoObject reports whether the input of a call is missing or not an object.
func NoObject(call *request.Block) bool {
	start := call.Input[:min(len(call.Input), 64)]
	return !bytes.HasPrefix(bytes.TrimSpace(start), []byte("{"))
}

// Undecodable reports whether an image has a type that not every provider accepts, or incomplete
// data. Linked images are never undecodable, because their data is unknown.
func Undecodable(b *request.Block) bool { return b.URL == "" && !b.MediaInfo().Image() }

// IsName reports whether s is a nonempty string of letters, digits, _ and -.
func IsName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-'
	})
}

// IsBlank reports whether a text has nothing but white space. Unlike for [request.IsBlank], a byte order mark counts.
func IsBlank(s string) bool { return strings.TrimSpace(s) == "" }

// MaxText is the greatest length in characters of a text that OpenAI accepts.
const MaxText = 10485760

// HasLongText reports whether a text, the output of a result, or a text in it has more than [MaxText]
// characters. Only texts that may be longer are counted.
func HasLongText(b *request.Block) bool {
	long := func(text string) bool { return len(text) > MaxText && utf8.RuneCountInString(text) > MaxText }
	return len(b.Output) > MaxText && long(b.OutputText()) || long(b.Text) ||
		slices.ContainsFunc(b.Content, func(c *request.Block) bool { return long(c.Text) })
}

// HalfPair finds half surrogate pairs in content that is sent as JSON.
var HalfPair = FindBlocks(func(b *request.Block) bool { return b.HalfPair })

// HalfPairInText is [HalfPair] for an API that accepts the input of a call as a text: escapes in that text are escaped
// again.
var HalfPairInText = FindBlocks(func(b *request.Block) bool { return b.HalfPair && b.Type != request.ToolUse })

// ValidJSON returns the rule, with the given code, that the request has no half of a surrogate pair.
func ValidJSON(code string, find Find) Rule {
	return Rule{
		Code: code, Text: "the request is valid JSON: no half of a surrogate pair",
		Error: "The request body is not valid JSON: no low surrogate in string",
		Words: []string{"surrogate in string"}, Kind: &InvalidUnicode, Find: find,
	}
}
