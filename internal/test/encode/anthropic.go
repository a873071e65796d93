package encode

import "mend/internal/request"

func anthropicTurn(t request.Turn) object {
	return object{"role": t.Role, "content": encodeAll(t.Blocks, anthropicBlock)}
}

func anthropicBlock(b *request.Block) object {
	out := object{"type": b.Type}
	switch b.Type {
	case request.Text:
		out["text"] = b.Text
		out.set("citations", b.Citations)
	case request.Summary:
		out["content"] = b.Text
	case request.Thinking:
		if out["thinking"] = b.Text; !b.Unsigned {
			out["signature"] = b.Signature
		}
	case request.RedactedThinking:
		out["data"] = b.Signature
	case request.ToolUse:
		out["id"], out["name"] = b.ToolID, b.ToolName
		out.set("input", b.Input)
	case request.ToolResult:
		out["tool_use_id"] = b.ToolID
		if out["content"] = encodeAll(b.Content, anthropicBlock); b.Output != nil {
			out["content"] = b.OutputText()
		}
		out.set("is_error", b.Error)
	case request.Image, request.Document:
		out["source"] = anthropicSource(b)
		out.set("title", b.Name)
	}
	return out
}

func anthropicSource(b *request.Block) object {
	switch {
	case b.URL != "":
		return object{"type": "url", "url": b.URL}
	case b.Mime == "text/plain":
		return object{"type": "text", "media_type": b.Mime, "data": string(b.Data)}
	}
	return object{"type": "base64", "data": string(b.Data)}.set("media_type", b.Mime)
}
