package encode

import (
	"path"
	"strings"

	"mend/internal/request"
)

func bedrockMessage(t request.Turn) object {
	return object{"role": t.Role, "content": encodeAll(t.Blocks, bedrockBlock)}
}

func bedrockBlock(b *request.Block) object {
	file := object{"format": path.Base(b.Mime), "source": object{"bytes": string(b.Data)}}
	switch b.Type {
	case request.Thinking:
		return object{"reasoningContent": object{"reasoningText": object{"text": b.Text, "signature": b.Signature}}}
	case request.RedactedThinking:
		return object{"reasoningContent": object{"redactedContent": b.Signature}}
	case request.ToolUse:
		return object{"toolUse": object{"toolUseId": b.ToolID, "name": b.ToolName, "input": b.Input}}
	case request.ToolResult:
		content := encodeAll(b.Content, bedrockBlock)
		if b.Output != nil {
			content = []object{{"text": b.OutputText()}}
		}
		return object{"toolResult": object{"toolUseId": b.ToolID, "content": content}}
	case request.Image:
		return object{"image": file}
	case request.Document:
		name, _, _ := strings.Cut(b.Name, ".")
		return object{"document": file.set("name", name)}
	default:
		return object{"text": b.Text}
	}
}
