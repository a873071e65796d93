package encode

import (
	"cmp"

	"mend/change"
	"mend/internal/request"
)

// The JSON form of a request.
type (
	openaiRequest struct {
		Model string       `json:"model,omitempty"`
		Input []openaiItem `json:"input"`
	}
	openaiItem struct {
		Type      string        `json:"type,omitempty"`
		ID        string        `json:"id,omitempty"`
		Role      string        `json:"role,omitempty"`
		Encrypted *string       `json:"encrypted_content,omitempty"`
		Summary   *[]openaiPart `json:"summary,omitempty"`
		CallID    *string       `json:"call_id,omitempty"`
		Name      *string       `json:"name,omitempty"`
		Arguments *string       `json:"arguments,omitempty"`
		Output    any           `json:"output,omitempty"`
		Content   any           `json:"content,omitempty"`
	}
	openaiPart struct {
		Type     string  `json:"type"`
		Text     *string `json:"text,omitempty"`
		ImageURL string  `json:"image_url,omitempty"`
		FileURL  string  `json:"file_url,omitempty"`
		FileName string  `json:"filename,omitempty"`
		FileData string  `json:"file_data,omitempty"`
	}
)

func openaiJSON(q request.Request) []byte {
	out := openaiRequest{Model: q.Model.ModelID, Input: []openaiItem{}}
	for _, t := range q.Turns {
		out.Input = append(out.Input, openaiItemOf(t))
	}
	return encode(out)
}

func openaiItemOf(t request.Turn) openaiItem {
	switch {
	case t.Role == request.RoleSystem && len(t.Blocks) == 0:
		return openaiItem{Role: "developer", Content: systemText}
	case t.Role == request.RoleSystem:
		return openaiItem{Role: "developer", ID: t.Blocks[0].ItemID, Content: encodeBlocks(t.Blocks, openaiPartOf)}
	case t.Role == change.RoleUser:
		id := ""
		if len(t.Blocks) > 0 {
			id = t.Blocks[0].ItemID
		}
		return openaiItem{Role: t.Role, ID: id, Content: encodeBlocks(t.Blocks, openaiPartOf)}
	case len(t.Blocks) == 0:
		return openaiItem{Role: t.Role, Content: []openaiPart{}}
	}
	b := t.Blocks[0]
	if b.Reference {
		return openaiItem{Type: "item_reference", ID: b.ItemID}
	}
	switch b.Type {
	case request.Thinking, request.RedactedThinking:
		item := openaiItem{Type: "reasoning", ID: b.ItemID, Summary: &[]openaiPart{}}
		if !b.Unsigned {
			item.Encrypted = &b.Signature
		}
		if b.Text != "" {
			*item.Summary = append(*item.Summary, openaiPart{Type: "summary_text", Text: &b.Text})
		}
		return item
	case request.ToolUse:
		arguments := b.InputText()
		if b.Input == nil {
			arguments = "{}"
		}
		return openaiItem{Type: "function_call", ID: b.ItemID, CallID: &b.ToolID, Name: &b.ToolName, Arguments: &arguments}
	case request.ToolResult:
		item := openaiItem{Type: "function_call_output", ID: b.ItemID, CallID: &b.ToolID, Output: b.OutputText()}
		if b.Output == nil {
			item.Output = encodeBlocks(b.Content, openaiPartOf)
		}
		return item
	case request.Summary:
		return openaiItem{Type: "compaction", ID: b.ItemID, Encrypted: &b.Signature}
	case request.Text, request.Image, request.Document:
		return openaiItem{Role: change.RoleAssistant, ID: b.ItemID, Content: []openaiPart{{Type: "output_text", Text: &b.Text}}}
	default: // a type that mend does not interpret
		return openaiItem{Type: string(b.Type), ID: b.ItemID}
	}
}

func openaiPartOf(b *request.Block) openaiPart {
	switch b.Type {
	case request.Image:
		return openaiPart{Type: "input_image", ImageURL: dataURL(b)}
	case request.Document:
		p := openaiPart{Type: "input_file", FileURL: b.URL}
		if b.URL == "" {
			p.FileName, p.FileData = cmp.Or(b.Name, "data"), dataURL(b)
		}
		return p
	default:
		return openaiPart{Type: "input_text", Text: &b.Text}
	}
}
