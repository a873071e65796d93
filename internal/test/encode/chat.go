package encode

import (
	"encoding/json"
	"strings"

	"mend/change"
	"mend/internal/provider/chat"
	"mend/internal/request"
)

func chatMessage(p chat.Provider, t request.Turn) object {
	m := object{"role": t.Role, "content": nil}
	switch t.Role {
	case request.RoleSystem:
		m["content"] = systemText
	case change.RoleAssistant:
		chatAnswer(p, m, t.Blocks)
	case request.RoleTool:
		for _, b := range t.Blocks {
			m["tool_call_id"], m["content"] = b.ToolID, b.OutputText()
			if b.Output == nil {
				m["content"] = encodeAll(b.Content, chatPart)
			}
			if p.Flavor == chat.OpenRouter {
				m["name"] = b.ToolName
			}
		}
	default:
		m["content"] = encodeAll(t.Blocks, chatPart)
		if len(t.Blocks) == 1 && t.Blocks[0].Type == request.Text {
			m["content"] = t.Blocks[0].Text
		}
	}
	return m
}

func chatAnswer(p chat.Provider, m object, blocks []*request.Block) {
	var text, reasoning strings.Builder
	var calls []object
	last, opaque := "", ""
	reasons := false
	for _, b := range blocks {
		if opaque == "" {
			opaque = b.Signature
		}
		switch b.Type {
		case request.Text:
			text.WriteString(b.Text)
		case request.Thinking:
			reasoning.WriteString(b.Text)
			reasons = true
			if b.Text != "" {
				last = b.Text
			}
		case request.ToolUse:
			function := object{"name": b.ToolName}
			if b.Input != nil {
				function["arguments"] = b.InputText()
			}
			calls = append(calls, object{"id": b.ToolID, "type": "function", "function": function})
		default:
		}
	}
	m["content"] = text.String()
	m.set("tool_calls", calls)
	switch p.Flavor {
	case chat.Copilot:
		if text.Len() == 0 {
			m["content"] = nil
		}
		if m.set("reasoning_opaque", opaque); opaque != "" {
			m.set("reasoning_text", last)
		}
	case chat.OpenRouter:
		if found := details(blocks); found != nil {
			m.set("reasoning_details", found).set("reasoning", reasoning.String())
		}
	default:
		if s := reasoning.String(); s != "" || reasons && p.Field {
			m["reasoning_content"] = s
		}
	}
}

// details returns the details of the first call that has some, or else of the first
// reasoning.
func details(blocks []*request.Block) json.RawMessage {
	for _, kind := range [...]request.BlockType{request.ToolUse, request.Thinking} {
		for _, b := range blocks {
			if b.Type == kind && b.Details != nil {
				return b.Details
			}
		}
	}
	return nil
}

func chatPart(b *request.Block) object {
	switch b.Type {
	case request.Image:
		return object{"type": "image_url", "image_url": object{"url": dataURL(b)}}
	case request.Document:
		return object{"type": "file", "file": object{"filename": b.Name, "file_data": dataURL(b)}}
	default:
		return object{"type": "text", "text": b.Text}
	}
}
