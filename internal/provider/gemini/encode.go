package gemini

import (
	"encoding/json"
	"strings"

	"mend/change"
	"mend/internal/provider"
	"mend/internal/request"
)

// The JSON form of a request. The model is part of the path.
type (
	jsonRequest struct {
		Contents []jsonContent `json:"contents"`
	}
	jsonContent struct {
		Role  string     `json:"role"`
		Parts []jsonPart `json:"parts"`
	}
	jsonPart struct {
		Text      *string       `json:"text,omitempty"`
		Thought   bool          `json:"thought,omitempty"`
		Inline    *jsonData     `json:"inlineData,omitempty"`
		File      *jsonFile     `json:"fileData,omitempty"`
		Call      *jsonCall     `json:"functionCall,omitempty"`
		Response  *jsonResponse `json:"functionResponse,omitempty"`
		Signature string        `json:"thoughtSignature,omitempty"`
	}
	jsonData struct {
		Mime string `json:"mimeType"`
		Data string `json:"data"`
	}
	jsonFile struct {
		Mime string `json:"mimeType"`
		URI  string `json:"fileUri"`
	}
	jsonCall struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args,omitempty"`
	}
	jsonResponse struct {
		Name     string     `json:"name"`
		Response jsonOutput `json:"response"`
		Parts    []jsonPart `json:"parts,omitempty"`
	}
	jsonOutput struct {
		Name    string `json:"name"`
		Content string `json:"content"`
	}
)

// JSON implements [provider.Provider].
func (Provider) JSON(q request.Request) []byte {
	out := jsonRequest{Contents: []jsonContent{}}
	for _, t := range q.Turns {
		c := jsonContent{Role: t.Role, Parts: provider.EncodeBlocks(t.Blocks, encodePart)}
		if t.Role == change.RoleAssistant {
			c.Role = "model"
		}
		out.Contents = append(out.Contents, c)
	}
	return provider.Encode(out)
}

func encodePart(b *request.Block) jsonPart {
	p := jsonPart{Signature: b.Signature}
	switch b.Type {
	case request.ToolUse:
		p.Call = &jsonCall{Name: b.ToolName, Args: b.Input}
	case request.ToolResult:
		p.Response = encodeResponse(b)
	case request.Image, request.Document:
		if b.URL != "" {
			p.File = &jsonFile{Mime: b.Mime, URI: b.URL}
		} else {
			p.Inline = &jsonData{Mime: b.Mime, Data: string(b.Data)}
		}
	default:
		p.Text, p.Thought = &b.Text, b.IsThinking()
	}
	return p
}

func encodeResponse(b *request.Block) *jsonResponse {
	r := &jsonResponse{Name: b.ToolName, Response: jsonOutput{Name: b.ToolName, Content: b.OutputText()}}
	if b.Output != nil {
		return r
	}
	var texts []string
	for _, c := range b.Content {
		if c.Type == request.Text {
			texts = append(texts, c.Text)
		} else {
			r.Parts = append(r.Parts, encodePart(c))
		}
	}
	r.Response.Content = "Tool executed successfully."
	if len(texts) > 0 {
		r.Response.Content = strings.Join(texts, "\n")
	}
	return r
}
