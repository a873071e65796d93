package encode

import (
	"strings"

	"mend/change"
	"mend/internal/request"
)

func geminiContent(t request.Turn) object {
	c := object{"role": t.Role, "parts": encodeAll(t.Blocks, geminiPart)}
	if t.Role == change.RoleAssistant {
		c["role"] = "model"
	}
	return c
}

func geminiPart(b *request.Block) object {
	p := object{}.set("thoughtSignature", b.Signature)
	switch b.Type {
	case request.ToolUse:
		p["functionCall"] = object{"name": b.ToolName}.set("args", b.Input)
	case request.ToolResult:
		p["functionResponse"] = geminiResponse(b)
	case request.Image, request.Document:
		if b.URL != "" {
			p["fileData"] = object{"mimeType": b.Mime, "fileUri": b.URL}
		} else {
			p["inlineData"] = object{"mimeType": b.Mime, "data": string(b.Data)}
		}
	default:
		p["text"] = b.Text
		p.set("thought", b.IsThinking())
	}
	return p
}

func geminiResponse(b *request.Block) object {
	output, parts := b.OutputText(), []object(nil)
	if b.Output == nil {
		var texts []string
		for _, c := range b.Content {
			if c.Type == request.Text {
				texts = append(texts, c.Text)
			} else {
				parts = append(parts, geminiPart(c))
			}
		}
		if output = "Tool executed successfully."; len(texts) > 0 {
			output = strings.Join(texts, "\n")
		}
	}
	return object{"name": b.ToolName, "response": object{"name": b.ToolName, "content": output}}.set("parts", parts)
}
