package encode

import (
	"cmp"

	"mend/change"
	"mend/internal/request"
)

func openaiItem(t request.Turn) object {
	switch {
	case t.Role == request.RoleSystem && len(t.Blocks) == 0:
		return object{"role": "developer", "content": systemText}
	case t.Role == request.RoleSystem, t.Role == change.RoleUser:
		item := object{"role": t.Role, "content": encodeAll(t.Blocks, openaiPart)}
		if t.Role == request.RoleSystem {
			item["role"] = "developer"
		}
		if len(t.Blocks) > 0 {
			item.set("id", t.Blocks[0].ItemID)
		}
		return item
	case len(t.Blocks) == 0:
		return object{"role": t.Role, "content": []object{}}
	}
	b := t.Blocks[0]
	if b.Reference {
		return object{"type": "item_reference"}.set("id", b.ItemID)
	}
	return openaiBlock(b).set("id", b.ItemID)
}

func openaiBlock(b *request.Block) object {
	switch b.Type {
	case request.Thinking, request.RedactedThinking:
		item := object{"type": "reasoning", "summary": []object{}}
		if !b.Unsigned {
			item["encrypted_content"] = b.Signature
		}
		if b.Text != "" {
			item["summary"] = []object{{"type": "summary_text", "text": b.Text}}
		}
		return item
	case request.ToolUse:
		arguments := b.InputText()
		if b.Input == nil {
			arguments = "{}"
		}
		return object{"type": "function_call", "call_id": b.ToolID, "name": b.ToolName, "arguments": arguments}
	case request.ToolResult:
		item := object{"type": "function_call_output", "call_id": b.ToolID, "output": b.OutputText()}
		if b.Output == nil {
			item["output"] = encodeAll(b.Content, openaiPart)
		}
		return item
	case request.Summary:
		return object{"type": "compaction", "encrypted_content": b.Signature}
	case request.Text, request.Image, request.Document:
		return object{"role": change.RoleAssistant, "content": []object{{"type": "output_text", "text": b.Text}}}
	default: // a type that mend does not interpret
		return object{}.set("type", b.Type)
	}
}

func openaiPart(b *request.Block) object {
	switch {
	case b.Type == request.Image:
		return object{"type": "input_image", "image_url": dataURL(b)}
	case b.Type == request.Document && b.URL != "":
		return object{"type": "input_file", "file_url": b.URL}
	case b.Type == request.Document:
		return object{"type": "input_file", "filename": cmp.Or(b.Name, "data"), "file_data": dataURL(b)}
	default:
		return object{"type": "input_text", "text": b.Text}
	}
}
