package provider

import (
	"slices"
	"strconv"
	"strings"

	"mend/internal/request"
)

// fill returns the sentence about a violation. In braces a sentence has "n" and "m", the place,
// to which "+1" or "+2" may be added; "i", the number of the call in its turn; "place", the one
// in the content of a result; and what the block has: its "id", "item", "name", "input", "type",
// "mime", the length of its data in "bytes", their "size" when decoded, and the "kind" of image that
// they are.
func fill(sentence string, q request.Request, v request.Violation) string {
	return replaceBraces(sentence, func(name string) string { return valueOf(name, q, v) })
}

// Words returns the rule's Error for a reader: N and M stand for numbers.
func (r *Rule) Words() string {
	return replaceBraces(r.Error, func(name string) string {
		switch name, _, _ = strings.Cut(name, "+"); name {
		case "place":
			return ""
		case "bytes", "size":
			return "X"
		case "i":
			return "0"
		case "ids":
			return "ID, ID"
		case "item":
			return "ID"
		case "mime", "kind":
			return "TYPE"
		}
		return strings.ToUpper(name)
	})
}

// replaceBraces replaces what stands in braces.
func replaceBraces(sentence string, value func(name string) string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(sentence, "{")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		out.WriteString(value(name))
		sentence = after
	}
}

func valueOf(name string, q request.Request, v request.Violation) string {
	name, added, _ := strings.Cut(name, "+")
	more, _ := strconv.Atoi(added)
	switch name {
	case "n":
		return strconv.Itoa(v.N + more)
	case "m":
		return strconv.Itoa(v.M + more)
	}
	b := v.Block
	if b == nil {
		return ""
	}
	switch name {
	case "i":
		return strconv.Itoa(CountBlocks(q.Turns[v.N].Blocks[:v.M], request.ToolUse))
	case "place":
		if i := slices.Index(q.Turns[v.N].Blocks[v.M].Content, b); i >= 0 {
			return ".tool_result.content." + strconv.Itoa(i)
		}
		return ""
	case "list":
		if slices.Contains(q.Turns[v.N].Blocks, b) {
			return "content"
		}
		return "output"
	case "number":
		if i := slices.Index(q.Turns[v.N].Blocks[v.M].Content, b); i >= 0 {
			return strconv.Itoa(i)
		}
		return strconv.Itoa(v.M)
	case "id":
		return shorten(b.ToolID)
	case "item":
		return b.ItemID
	case "name":
		return b.ToolName
	case "input":
		return shorten(string(b.Input))
	case "type":
		return string(b.Type)
	case "mime":
		return b.Mime
	case "bytes":
		return strconv.Itoa(len(b.Data))
	case "size":
		return strconv.Itoa(len(b.Data) / 4 * 3)
	case "kind":
		return b.MediaInfo().Type
	}
	return ""
}

// shorten returns the start of a long value.
func shorten(s string) string { return s[:min(len(s), 80)] }
