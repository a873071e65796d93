package encode

import (
	"encoding/json"
	"strings"

	"mend/change"
	"mend/internal/request"
)

// The JSON form of a request. The model is part of the path.
type (
	geminiRequest struct {
		Contents []geminiContent `json:"contents"`
	}
	geminiContent struct {
		Role  string       `json:"role"`
		Parts []geminiPart `json:"parts"`
	}
	geminiPart struct {
		Text      *string         `json:"text,omitempty"`
		Thought   bool            `json:"thought,omitempty"`
		Inline    *geminiData     `json:"inlineData,omitempty"`
		File      *geminiFile     `json:"fileData,omitempty"`
		Call      *geminiCall     `json:"functionCall,omitempty"`
		Response  *geminiResponse `json:"functionResponse,omitempty"`
		Signature string          `json:"thoughtSignature,omitempty"`
	}
	geminiData struct {
		Mime string `json:"mimeType"`
		Data string `json:"data"`
	}
	geminiFile struct {
		Mime string `json:"mimeType"`
		URI  string `json:"fileUri"`
	}
	geminiCall struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args,omitempty"`
	}
	geminiResponse struct {
		Name     string       `json:"name"`
		Response geminiOutput `json:"response"`
		Parts    []geminiPart `json:"parts,omitempty"`
	}
	geminiOutput struct {
		Name    string `json:"name"`
		Content string `json:"content"`
	}
)

func geminiJSON(q request.Request) []byte {
	out := geminiRequest{Contents: []geminiContent{}}
	for _, t := range q.Turns {
		c := geminiContent{Role: t.Role, Parts: encodeBlocks(t.Blocks, geminiPartOf)}
		if t.Role == change.RoleAssistant {
			c.Role = "model"
		}
		out.Contents = append(out.Contents, c)
	}
	return encode(out)
}

func geminiPartOf(b *request.Block) geminiPart {
	p := geminiPart{Signature: b.Signature}
	switch b.Type {
	case request.ToolUse:
		p.Call = &geminiCall{Name: b.ToolName, Args: b.Input}
	case request.ToolResult:
		p.Response = geminiResponseOf(b)
	case request.Image, request.Document:
		if b.URL != "" {
			p.File = &geminiFile{Mime: b.Mime, URI: b.URL}
		} else {
			p.Inline = &geminiData{Mime: b.Mime, Data: string(b.Data)}
		}
	default:
		p.Text, p.Thought = &b.Text, b.IsThinking()
	}
	return p
}

func geminiResponseOf(b *request.Block) *geminiResponse {
	r := &geminiResponse{Name: b.ToolName, Response: geminiOutput{Name: b.ToolName, Content: b.OutputText()}}
	if b.Output != nil {
		return r
	}
	var texts []string
	for _, c := range b.Content {
		if c.Type == request.Text {
			texts = append(texts, c.Text)
		} else {
			r.Parts = append(r.Parts, geminiPartOf(c))
		}
	}
	r.Response.Content = "Tool executed successfully."
	if len(texts) > 0 {
		r.Response.Content = strings.Join(texts, "\n")
	}
	return r
}
