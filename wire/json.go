package wire

import (
	"encoding/json"

	"mend/session"
)

// The request in the provider's form.
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
		Type      BlockType       `json:"type"`
		Text      *string         `json:"text,omitempty"`
		Thinking  *string         `json:"thinking,omitempty"`
		Signature *string         `json:"signature,omitempty"`
		Redacted  *string         `json:"data,omitempty"`
		ID        *string         `json:"id,omitempty"`
		Name      *string         `json:"name,omitempty"`
		Input     json.RawMessage `json:"input,omitempty"`
		Source    *jsonSource     `json:"source,omitempty"`
		Title     string          `json:"title,omitempty"`
		ToolUseID *string         `json:"tool_use_id,omitempty"`
		Content   any             `json:"content,omitempty"`
		IsError   bool            `json:"is_error,omitempty"`
	}
	jsonSource struct {
		Type      string  `json:"type"`
		MediaType string  `json:"media_type,omitempty"`
		Data      *string `json:"data,omitempty"`
		URL       string  `json:"url,omitempty"`
	}
)

// JSON is the request as it is sent, as far as it comes from the session: model
// and messages.
func (r Request) JSON() []byte {
	out := jsonRequest{Model: r.Model.ModelID, Messages: []jsonTurn{}}
	for _, t := range r.Turns {
		out.Messages = append(out.Messages, jsonTurn{t.Role, jsonBlocks(t.Blocks)})
	}
	data, err := json.Marshal(out)
	if err != nil {
		return nil // never: strings, and JSON that was read as JSON
	}
	return data
}

func jsonBlocks(blocks []*Block) []jsonBlock {
	out := make([]jsonBlock, 0, len(blocks))
	for _, b := range blocks {
		out = append(out, b.json())
	}
	return out
}

func (b *Block) json() jsonBlock {
	out := jsonBlock{Type: b.Type}
	switch b.Type {
	case Text:
		out.Text = &b.Text
	case Thinking:
		if out.Thinking = &b.Text; !b.Unsigned {
			out.Signature = &b.Signature
		}
	case RedactedThinking:
		out.Redacted = &b.Signature
	case ToolUse:
		out.ID, out.Name, out.Input = &b.ToolID, &b.ToolName, b.Input
	case ToolResult:
		out.ToolUseID, out.IsError = &b.ToolID, b.Error
		if out.Content = jsonBlocks(b.Content); b.Output != nil {
			out.Content = b.OutputText()
		}
	case Image, Document:
		out.Source, out.Title = b.source(), b.Name
	}
	return out
}

// OutputText is what the block's Output says.
func (b *Block) OutputText() string {
	return session.Unquote(b.Output)
}

func (b *Block) source() *jsonSource {
	data := string(b.Data)
	switch {
	case b.URL != "":
		return &jsonSource{Type: "url", URL: b.URL}
	case b.Mime == "text/plain":
		return &jsonSource{Type: "text", MediaType: b.Mime, Data: &data}
	}
	return &jsonSource{Type: "base64", MediaType: b.Mime, Data: &data}
}
