package openai

import (
	"cmp"

	"mend/change"
	"mend/internal/provider"
	"mend/internal/request"
)

// The JSON form of a request.
type (
	jsonRequest struct {
		Model string     `json:"model,omitempty"`
		Input []jsonItem `json:"input"`
	}
	jsonItem struct {
		Type      string      `json:"type,omitempty"`
		ID        string      `json:"id,omitempty"`
		Role      string      `json:"role,omitempty"`
		Encrypted *string     `json:"encrypted_content,omitempty"`
		Summary   *[]jsonPart `json:"summary,omitempty"`
		CallID    *string     `json:"call_id,omitempty"`
		Name      *string     `json:"name,omitempty"`
		Arguments *string     `json:"arguments,omitempty"`
		Output    any         `json:"output,omitempty"`
		Content   any         `json:"content,omitempty"`
	}
	jsonPart struct {
		Type     string  `json:"type"`
		Text     *string `json:"text,omitempty"`
		ImageURL string  `json:"image_url,omitempty"`
		FileURL  string  `json:"file_url,omitempty"`
		FileName string  `json:"filename,omitempty"`
		FileData string  `json:"file_data,omitempty"`
	}
)

// JSON implements [provider.Provider].
func (Provider) JSON(q request.Request) []byte {
	out := jsonRequest{Model: q.Model.ModelID, Input: []jsonItem{}}
	for _, t := range q.Turns {
		out.Input = append(out.Input, encodeItem(t))
	}
	return provider.Encode(out)
}

func encodeItem(t request.Turn) jsonItem {
	switch {
	case t.Role == request.RoleSystem && len(t.Blocks) == 0:
		return jsonItem{Role: "developer", Content: request.SystemText}
	case t.Role == request.RoleSystem:
		return jsonItem{Role: "developer", ID: t.Blocks[0].ItemID, Content: provider.EncodeBlocks(t.Blocks, encodePart)}
	case t.Role == change.RoleUser:
		id := ""
		if len(t.Blocks) > 0 {
			id = t.Blocks[0].ItemID
		}
		return jsonItem{Role: t.Role, ID: id, Content: provider.EncodeBlocks(t.Blocks, encodePart)}
	case len(t.Blocks) == 0:
		return jsonItem{Role: t.Role, Content: []jsonPart{}}
	}
	b := t.Blocks[0]
	if b.Reference {
		return jsonItem{Type: "item_reference", ID: b.ItemID}
	}
	switch b.Type {
	case request.Thinking, request.RedactedThinking:
		item := jsonItem{Type: "reasoning", ID: b.ItemID, Summary: &[]jsonPart{}}
		if !b.Unsigned {
			item.Encrypted = &b.Signature
		}
		if b.Text != "" {
			*item.Summary = append(*item.Summary, jsonPart{Type: "summary_text", Text: &b.Text})
		}
		return item
	case request.ToolUse:
		arguments := b.InputText()
		if b.Input == nil {
			arguments = "{}"
		}
		return jsonItem{Type: "function_call", ID: b.ItemID, CallID: &b.ToolID, Name: &b.ToolName, Arguments: &arguments}
	case request.ToolResult:
		item := jsonItem{Type: "function_call_output", ID: b.ItemID, CallID: &b.ToolID, Output: b.OutputText()}
		if b.Output == nil {
			item.Output = provider.EncodeBlocks(b.Content, encodePart)
		}
		return item
	case request.Summary:
		return jsonItem{Type: "compaction", ID: b.ItemID, Encrypted: &b.Signature}
	case request.Text, request.Image, request.Document:
		return jsonItem{Role: change.RoleAssistant, ID: b.ItemID, Content: []jsonPart{{Type: "output_text", Text: &b.Text}}}
	default: // of a type that mend does not look into
		return jsonItem{Type: string(b.Type), ID: b.ItemID}
	}
}

func encodePart(b *request.Block) jsonPart {
	switch b.Type {
	case request.Image:
		return jsonPart{Type: "input_image", ImageURL: b.DataURL()}
	case request.Document:
		p := jsonPart{Type: "input_file", FileURL: b.URL}
		if b.URL == "" {
			p.FileName, p.FileData = cmp.Or(b.Name, "data"), b.DataURL()
		}
		return p
	default:
		return jsonPart{Type: "input_text", Text: &b.Text}
	}
}
