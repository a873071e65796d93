package encode

import (
	"encoding/json"
	"strings"

	"mend/change"
	"mend/internal/provider/chat"
	"mend/internal/request"
)

// The JSON form of a request.
type (
	chatRequest struct {
		Model    string        `json:"model,omitempty"`
		Messages []chatMessage `json:"messages"`
	}
	chatMessage struct {
		Role      string          `json:"role"`
		CallID    *string         `json:"tool_call_id,omitempty"`
		Content   any             `json:"content"` // a text, a list, or null
		Reasoning *string         `json:"reasoning_content,omitempty"`
		Thought   *string         `json:"reasoning_text,omitempty"`
		Opaque    string          `json:"reasoning_opaque,omitempty"`
		Summary   string          `json:"reasoning,omitempty"`
		Details   json.RawMessage `json:"reasoning_details,omitempty"`
		Calls     []chatCall      `json:"tool_calls,omitempty"`
		Name      *string         `json:"name,omitempty"`
	}
	chatCall struct {
		ID       string       `json:"id"`
		Type     string       `json:"type"`
		Function chatFunction `json:"function"`
	}
	chatFunction struct {
		Name      string  `json:"name"`
		Arguments *string `json:"arguments,omitempty"`
	}
	chatPart struct {
		Type     string   `json:"type"`
		Text     *string  `json:"text,omitempty"`
		ImageURL *chatURL `json:"image_url,omitempty"`
		File     any      `json:"file,omitempty"`
	}
	chatURL struct {
		URL string `json:"url"`
	}
)

func chatJSON(p chat.Provider, q request.Request) []byte {
	out := chatRequest{Model: q.Model.ModelID, Messages: []chatMessage{}}
	for _, t := range q.Turns {
		out.Messages = append(out.Messages, chatMessageOf(p, t))
	}
	return encode(out)
}

func chatMessageOf(p chat.Provider, t request.Turn) chatMessage {
	m := chatMessage{Role: t.Role}
	switch t.Role {
	case request.RoleSystem:
		m.Content = systemText
	case change.RoleAssistant:
		chatAnswer(p, &m, t.Blocks)
	case request.RoleTool:
		for _, b := range t.Blocks {
			m.CallID, m.Content = &b.ToolID, b.OutputText()
			if b.Output == nil {
				m.Content = encodeBlocks(b.Content, chatPartOf)
			}
			if p.Flavor == chat.OpenRouter {
				m.Name = &b.ToolName
			}
		}
	default:
		m.Content = encodeBlocks(t.Blocks, chatPartOf)
		if len(t.Blocks) == 1 && t.Blocks[0].Type == request.Text {
			m.Content = t.Blocks[0].Text
		}
	}
	return m
}

func chatAnswer(p chat.Provider, m *chatMessage, blocks []*request.Block) {
	var text, reasoning strings.Builder
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
			c := chatCall{ID: b.ToolID, Type: "function", Function: chatFunction{Name: b.ToolName}}
			if b.Input != nil {
				arguments := b.InputText()
				c.Function.Arguments = &arguments
			}
			m.Calls = append(m.Calls, c)
		default:
		}
	}
	m.Content = text.String()
	switch p.Flavor {
	case chat.Copilot:
		if text.Len() == 0 {
			m.Content = nil
		}
		if m.Opaque = opaque; opaque != "" && last != "" {
			m.Thought = &last
		}
	case chat.OpenRouter:
		if m.Details = details(blocks); m.Details != nil {
			m.Summary = reasoning.String()
		}
	default:
		if s := reasoning.String(); s != "" || reasons && p.Field {
			m.Reasoning = &s
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

func chatPartOf(b *request.Block) chatPart {
	switch b.Type {
	case request.Image:
		return chatPart{Type: "image_url", ImageURL: &chatURL{dataURL(b)}}
	case request.Document:
		return chatPart{Type: "file", File: map[string]string{"filename": b.Name, "file_data": dataURL(b)}}
	default:
		return chatPart{Type: "text", Text: &b.Text}
	}
}
