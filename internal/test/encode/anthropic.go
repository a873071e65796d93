package encode

import (
	"encoding/json"

	"mend/internal/request"
)

// The JSON form of a request.
type (
	anthropicRequest struct {
		Model    string          `json:"model,omitempty"`
		Messages []anthropicTurn `json:"messages"`
	}
	anthropicTurn struct {
		Role    string           `json:"role"`
		Content []anthropicBlock `json:"content"`
	}
	anthropicBlock struct {
		Type      request.BlockType `json:"type"`
		Text      *string           `json:"text,omitempty"`
		Thinking  *string           `json:"thinking,omitempty"`
		Signature *string           `json:"signature,omitempty"`
		Redacted  *string           `json:"data,omitempty"`
		ID        *string           `json:"id,omitempty"`
		Name      *string           `json:"name,omitempty"`
		Input     json.RawMessage   `json:"input,omitempty"`
		Source    *anthropicSource  `json:"source,omitempty"`
		Title     string            `json:"title,omitempty"`
		ToolUseID *string           `json:"tool_use_id,omitempty"`
		Content   any               `json:"content,omitempty"`
		Citations json.RawMessage   `json:"citations,omitempty"`
		IsError   bool              `json:"is_error,omitempty"`
	}
	anthropicSource struct {
		Type      string  `json:"type"`
		MediaType string  `json:"media_type,omitempty"`
		Data      *string `json:"data,omitempty"`
		URL       string  `json:"url,omitempty"`
	}
)

// anthropicJSON returns the request in the API's form: only the model and the messages, which depend on the
// session.
func anthropicJSON(r request.Request) []byte {
	out := anthropicRequest{Model: r.Model.ModelID, Messages: []anthropicTurn{}}
	for _, t := range r.Turns {
		out.Messages = append(out.Messages, anthropicTurn{t.Role, encodeBlocks(t.Blocks, anthropicBlockOf)})
	}
	return encode(out)
}

func anthropicBlockOf(b *request.Block) anthropicBlock {
	out := anthropicBlock{Type: b.Type}
	switch b.Type {
	case request.Text:
		out.Text, out.Citations = &b.Text, b.Citations
	case request.Summary:
		out.Content = b.Text
	case request.Thinking:
		if out.Thinking = &b.Text; !b.Unsigned {
			out.Signature = &b.Signature
		}
	case request.RedactedThinking:
		out.Redacted = &b.Signature
	case request.ToolUse:
		out.ID, out.Name, out.Input = &b.ToolID, &b.ToolName, b.Input
	case request.ToolResult:
		out.ToolUseID, out.IsError = &b.ToolID, b.Error
		if out.Content = encodeBlocks(b.Content, anthropicBlockOf); b.Output != nil {
			out.Content = b.OutputText()
		}
	case request.Image, request.Document:
		out.Source, out.Title = anthropicSourceOf(b), b.Name
	}
	return out
}

func anthropicSourceOf(b *request.Block) *anthropicSource {
	data := string(b.Data)
	switch {
	case b.URL != "":
		return &anthropicSource{Type: "url", URL: b.URL}
	case b.Mime == "text/plain":
		return &anthropicSource{Type: "text", MediaType: b.Mime, Data: &data}
	}
	return &anthropicSource{Type: "base64", MediaType: b.Mime, Data: &data}
}
