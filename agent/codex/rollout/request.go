package rollout

import (
	"encoding/json"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/request"
)

// omitted is what Codex sends instead of an image that it cannot decode.
const omitted = "image content omitted because it could not be processed"

// maxOutput is the approximate size in bytes to which Codex shortens an output.
const maxOutput = 40_000

// render returns the request that Codex sends when the user types one more prompt.
func (c *State) render() (q request.Request) {
	q.Turns = append(q.Turns, request.Turn{Role: request.RoleSystem}) // the instructions
	at := 0                                                           // the line with the last item
	all := slices.Concat(c.inherited, c.items)
	for i, it := range all {
		q.Turns = append(q.Turns, c.turn(it))
		if it.added {
			continue
		}
		if c.hasUnknown(at, it.at) {
			q.Turns[i].Unknown, q.Turns[i+1].Unknown = true, true
		}
		at = it.at
	}
	if c.hasUnknown(at, len(c.lines)) {
		q.Turns[len(q.Turns)-1].Unknown = true
	}
	q.Turns = append(q.Turns, request.Turn{
		Role: change.RoleUser, Blocks: []*request.Block{{Type: request.Text, Text: "…"}},
	})
	switch stored := len(all) > 0 && all[0].kind == "additional_tools"; {
	case !c.sendsTools(stored):
	case stored: // the instructions are the next item
		q.Turns = q.Turns[1:]
	default:
		q.Turns = slices.Insert(q.Turns, 0, request.Turn{Role: request.RoleSystem})
	}
	return q
}

// sendsTools reports whether Codex sends the tools as the first item, before the instructions: for the model of the
// newest turn, and without a turn if they are stored there. In Codex 0.171.0 all models with this comp_hash get them so.
func (c *State) sendsTools(stored bool) bool {
	if i := lastLine(c.lines, func(l *line) bool { return l.kind == "turn_context" }); i >= 0 {
		return c.lines[i].payload.TextAt("comp_hash") == "3000"
	}
	return stored
}

// hasUnknown reports whether one of the lines has content that mend does not know.
func (c *State) hasUnknown(from, to int) bool {
	return from < to && slices.ContainsFunc(c.lines[from:to], func(l line) bool {
		return l.unknownKind() != "" || l.kind == "" && isMissed(l.value.TextAt("type"))
	})
}

func (c *State) ref(group string) change.Ref {
	ref := c.src.Ref
	ref.Kind, ref.Message = change.KindMessage, group
	return ref
}

func (c *State) turn(it item) request.Turn {
	t := request.Turn{Role: change.RoleAssistant, Summary: it.summary}
	switch role := it.value.TextAt("role"); {
	case isOutput(it.kind):
		t.Role = request.RoleTool
	case it.summary || it.kind == "agent_message" || role == change.RoleUser:
		t.Role = change.RoleUser
	case role == "developer":
		t.Role = request.RoleSystem
	}
	t.Blocks = blocksOf(it)
	if !it.added {
		ref := c.ref(it.group)
		t.Messages = []change.Ref{ref}
		for i, b := range t.Blocks {
			b.Source, b.Index = &ref, it.index+i
		}
	}
	b := t.Blocks[0]
	b.ItemID, b.Reasoned, b.Interrupted = it.value.TextAt("id"), it.reasoned, it.interrupted
	return t
}

// blocksOf returns the blocks of an item, at least one.
func blocksOf(it item) []*request.Block {
	v := it.value
	b := &request.Block{Type: request.BlockType(it.kind)}
	switch it.kind {
	case "message", "agent_message":
		if all := contentOf(v.Get("content")); len(all) > 0 {
			return all
		}
		b.Type, b.Text = request.Text, v.TextAt("content")
		if it.summary {
			b.Text = v.TextAt("message")
		}
	case "reasoning":
		var summary []string
		for part := range v.Get("summary").Elements() {
			summary = append(summary, part.TextAt("text"))
		}
		b.Type, b.Text, b.Content = request.Thinking, strings.Join(summary, "\n"), contentOf(v.Get("content"))
		b.Signature = v.TextAt("encrypted_content")
		b.Unsigned = b.Signature == ""
	case "function_call", "custom_tool_call", "local_shell_call":
		b.Type, b.ToolID, b.ToolName = request.ToolUse, v.TextAt("call_id"), v.TextAt("name")
		b.Input = json.RawMessage(v.Get(calls[it.kind].input).Raw())
		if it.kind == "local_shell_call" {
			b.ToolName = "local_shell"
		}
		if s := []byte(v.TextAt("arguments")); jsonedit.IsObject(s) {
			b.Input = s
		}
	case "function_call_output", "custom_tool_call_output":
		b.Type, b.ToolID = request.ToolResult, v.TextAt("call_id")
		if out := v.Get("output"); out.Kind() == '[' {
			b.Content = contentOf(out)
		} else if b.Output = json.RawMessage(out.Raw()); len(b.Output) > maxOutput {
			s, _ := out.Text()
			b.Output = jsonedit.Quote(s[:min(len(s), maxOutput/2)] + s[max(0, len(s)-maxOutput/2):])
		}
	case "compaction", "compaction_summary":
		b.Type, b.Signature = request.Summary, v.TextAt("encrypted_content")
	}
	return []*request.Block{b}
}

func contentOf(list jsonedit.Value) (blocks []*request.Block) {
	for part := range list.Elements() {
		b := &request.Block{Type: request.Text, Text: part.TextAt("text")}
		if part.TextAt("type") == "input_image" {
			b = image(part.TextAt("image_url"))
		}
		b.Index = len(blocks)
		blocks = append(blocks, b)
	}
	return blocks
}

// image returns an image as Codex sends it. A data URL that cannot be decoded becomes a line of text.
func image(url string) *request.Block {
	b := &request.Block{Type: request.Image}
	data, ok := strings.CutPrefix(url, "data:")
	switch {
	case strings.HasPrefix(url, "http://"), strings.HasPrefix(url, "https://"):
		b.URL = url
	case ok:
		mime, content, _ := strings.Cut(data, ",")
		b.Mime, b.Data = strings.TrimSuffix(mime, ";base64"), []byte(content)
		if !b.MediaInfo().Image() {
			return &request.Block{Type: request.Text, Text: omitted}
		}
	}
	return b
}
