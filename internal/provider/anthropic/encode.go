package anthropic

import (
	"encoding/json"

	"mend/internal/provider"
	"mend/internal/request"
)

// The JSON form of a request.
type (
	jsonRequest struct {
		Model    string     `json:"model,omitempty"`
		Messages []jsonTurn `json:"messages"`
	}
	jsonTurn struct {
		Role    string      `json:"role"`
		Content []jsonBlock `json:"content"`
	}
	jsonBlock struct {
		Type      request.BlockType `json:"type"`
		Text      *string           `json:"text,omitempty"`
		Thinking  *string           `json:"thinking,omitempty"`
		Signature *string           `json:"signature,omitempty"`
		Redacted  *string           `json:"data,omitempty"`
		ID        *string           `json:"id,omitempty"`
		Name      *string           `json:"name,omitempty"`
		Input     json.RawMessage   `json:"input,omitempty"`
		Source    *jsonSource       `json:"source,omitempty"`
		Title     string            `json:"title,omitempty"`
		ToolUseID *string           `json:"tool_use_id,omitempty"`
		Content   any               `json:"content,omitempty"`
		Citations json.RawMessage   `json:"citations,omitempty"`
		IsError   bool              `json:"is_error,omitempty"`
	}
	jsonSource struct {
		Type      string  `json:"type"`
		MediaType string  `json:"media_type,omitempty"`
		Data      *string `json:"data,omitempty"`
		URL       string  `json:"url,omitempty"`
	}
)

// JSON implements [provider.Provider].
func (Provider) JSON(r request.Request) []byte { return JSON(r) }

// JSON returns the request in the API's form: only the model and the messages, which
// are what a session determines.
func JSON(r request.Request) []byte {
	out := jsonRequest{Model: r.Model.ModelID, Messages: []jsonTurn{}}
	for _, t := range r.Turns {
		out.Messages = append(out.Messages, jsonTurn{t.Role, provider.EncodeBlocks(t.Blocks, encodeBlock)})
	}
	return provider.Encode(out)
}

func encodeBlock(b *request.Block) jsonBlock {
	out := jsonBlock{Type: b.Type}
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
		if out.Content = provider.EncodeBlocks(b.Content, encodeBlock); b.Output != nil {
			out.Content = b.OutputText()
		}
	case request.Image, request.Document:
		out.Source, out.Title = encodeSource(b), b.Name
	}
	return out
}

func encodeSource(b *request.Block) *jsonSource {
	data := string(b.Data)
	switch {
	case b.URL != "":
		return &jsonSource{Type: "url", URL: b.URL}
	case b.Mime == "text/plain":
		return &jsonSource{Type: "text", MediaType: b.Mime, Data: &data}
	}
	return &jsonSource{Type: "base64", MediaType: b.Mime, Data: &data}
}
