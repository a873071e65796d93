package encode

import (
	"encoding/json"
	"path"
	"strings"

	"mend/internal/request"
)

// The JSON form of a request. The model is part of the path.
type (
	bedrockRequest struct {
		Messages []bedrockMessage `json:"messages"`
	}
	bedrockMessage struct {
		Role    string         `json:"role"`
		Content []bedrockBlock `json:"content"`
	}
	bedrockBlock struct {
		Text      *string           `json:"text,omitempty"`
		Reasoning *bedrockReasoning `json:"reasoningContent,omitempty"`
		Use       *bedrockUse       `json:"toolUse,omitempty"`
		Result    *bedrockResult    `json:"toolResult,omitempty"`
		Image     *bedrockFile      `json:"image,omitempty"`
		Document  *bedrockFile      `json:"document,omitempty"`
	}
	bedrockReasoning struct {
		Text     *bedrockThought `json:"reasoningText,omitempty"`
		Redacted *string         `json:"redactedContent,omitempty"`
	}
	bedrockThought struct {
		Text      string `json:"text"`
		Signature string `json:"signature"`
	}
	bedrockUse struct {
		ID    string          `json:"toolUseId"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	bedrockResult struct {
		ID      string         `json:"toolUseId"`
		Content []bedrockBlock `json:"content"`
	}
	bedrockFile struct {
		Format string        `json:"format"`
		Name   string        `json:"name,omitempty"`
		Source bedrockSource `json:"source"`
	}
	bedrockSource struct {
		Bytes string `json:"bytes"`
	}
)

func bedrockJSON(q request.Request) []byte {
	out := bedrockRequest{Messages: []bedrockMessage{}}
	for _, t := range q.Turns {
		out.Messages = append(out.Messages, bedrockMessage{t.Role, encodeBlocks(t.Blocks, bedrockBlockOf)})
	}
	return encode(out)
}

func bedrockBlockOf(b *request.Block) bedrockBlock {
	switch b.Type {
	case request.Thinking:
		return bedrockBlock{Reasoning: &bedrockReasoning{Text: &bedrockThought{b.Text, b.Signature}}}
	case request.RedactedThinking:
		return bedrockBlock{Reasoning: &bedrockReasoning{Redacted: &b.Signature}}
	case request.ToolUse:
		return bedrockBlock{Use: &bedrockUse{b.ToolID, b.ToolName, b.Input}}
	case request.ToolResult:
		r := &bedrockResult{b.ToolID, encodeBlocks(b.Content, bedrockBlockOf)}
		if b.Output != nil {
			text := b.OutputText()
			r.Content = []bedrockBlock{{Text: &text}}
		}
		return bedrockBlock{Result: r}
	case request.Image:
		return bedrockBlock{Image: &bedrockFile{Format: path.Base(b.Mime), Source: bedrockSource{string(b.Data)}}}
	case request.Document:
		name, _, _ := strings.Cut(b.Name, ".")
		return bedrockBlock{Document: &bedrockFile{Format: path.Base(b.Mime), Name: name, Source: bedrockSource{string(b.Data)}}}
	default:
		return bedrockBlock{Text: &b.Text}
	}
}
