package chat

import (
	"encoding/json"
	"strings"

	"mend/change"
	"mend/internal/provider"
	"mend/internal/request"
)

// The JSON form of a request.
type (
	jsonRequest struct {
		Model    string        `json:"model,omitempty"`
		Messages []jsonMessage `json:"messages"`
	}
	jsonMessage struct {
		Role      string          `json:"role"`
		CallID    *string         `json:"tool_call_id,omitempty"`
		Content   any             `json:"content"` // a text, a list, or null
		Reasoning *string         `json:"reasoning_content,omitempty"`
		Thought   *string         `json:"reasoning_text,omitempty"`
		Opaque    string          `json:"reasoning_opaque,omitempty"`
		Summary   string          `json:"reasoning,omitempty"`
		Details   json.RawMessage `json:"reasoning_details,omitempty"`
		Calls     []jsonCall      `json:"tool_calls,omitempty"`
		Name      *string         `json:"name,omitempty"`
	}
	jsonCall struct {
		ID       string       `json:"id"`
		Type     string       `json:"type"`
		Function jsonFunction `json:"function"`
	}
	jsonFunction struct {
		Name      string  `json:"name"`
		Arguments *string `json:"arguments,omitempty"`
	}
	jsonPart struct {
		Type     string   `json:"type"`
		Text     *string  `json:"text,omitempty"`
		ImageURL *jsonURL `json:"image_url,omitempty"`
		File     any      `json:"file,omitempty"`
	}
	jsonURL struct {
		URL string `json:"url"`
	}
)

// JSON implements [provider.Provider].
func (p Provider) JSON(q request.Request) []byte {
	out := jsonRequest{Model: q.Model.ModelID, Messages: []jsonMessage{}}
	for _, t := range q.Turns {
		out.Messages = append(out.Messages, p.encodeMessage(t))
	}
	return provider.Encode(out)
}

func (p Provider) encodeMessage(t request.Turn) jsonMessage {
	m := jsonMessage{Role: t.Role}
	switch t.Role {
	case request.RoleSystem:
		m.Content = request.SystemText
	case change.RoleAssistant:
		p.encodeAnswer(&m, t.Blocks)
	case request.RoleTool:
		for _, b := range t.Blocks {
			m.CallID, m.Content = &b.ToolID, b.OutputText()
			if b.Output == nil {
				m.Content = provider.EncodeBlocks(b.Content, encodePart)
			}
			if p.Flavor == OpenRouter {
				m.Name = &b.ToolName
			}
		}
	default:
		m.Content = provider.EncodeBlocks(t.Blocks, encodePart)
		if len(t.Blocks) == 1 && t.Blocks[0].Type == request.Text {
			m.Content = t.Blocks[0].Text
		}
	}
	return m
}

// encodeAnswer adds the blocks of an answer.
func (p Provider) encodeAnswer(m *jsonMessage, blocks []*request.Block) {
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
			c := jsonCall{ID: b.ToolID, Type: "function", Function: jsonFunction{Name: b.ToolName}}
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
	case Copilot:
		if text.Len() == 0 {
			m.Content = nil
		}
		if m.Opaque = opaque; opaque != "" && last != "" {
			m.Thought = &last
		}
	case OpenRouter:
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

func encodePart(b *request.Block) jsonPart {
	switch b.Type {
	case request.Image:
		return jsonPart{Type: "image_url", ImageURL: &jsonURL{b.DataURL()}}
	case request.Document:
		return jsonPart{Type: "file", File: map[string]string{"filename": b.Name, "file_data": b.DataURL()}}
	default:
		return jsonPart{Type: "text", Text: &b.Text}
	}
}
