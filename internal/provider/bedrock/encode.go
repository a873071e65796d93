package bedrock

import (
	"encoding/json"
	"path"
	"strings"

	"mend/internal/provider"
	"mend/internal/request"
)

// The JSON form of a request. The model is part of the path.
type (
	jsonRequest struct {
		Messages []jsonMessage `json:"messages"`
	}
	jsonMessage struct {
		Role    string      `json:"role"`
		Content []jsonBlock `json:"content"`
	}
	jsonBlock struct {
		Text      *string        `json:"text,omitempty"`
		Reasoning *jsonReasoning `json:"reasoningContent,omitempty"`
		Use       *jsonUse       `json:"toolUse,omitempty"`
		Result    *jsonResult    `json:"toolResult,omitempty"`
		Image     *jsonFile      `json:"image,omitempty"`
		Document  *jsonFile      `json:"document,omitempty"`
	}
	jsonReasoning struct {
		Text     *jsonThought `json:"reasoningText,omitempty"`
		Redacted *string      `json:"redactedContent,omitempty"`
	}
	jsonThought struct {
		Text      string `json:"text"`
		Signature string `json:"signature"`
	}
	jsonUse struct {
		ID    string          `json:"toolUseId"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	jsonResult struct {
		ID      string      `json:"toolUseId"`
		Content []jsonBlock `json:"content"`
	}
	jsonFile struct {
		Format string     `json:"format"`
		Name   string     `json:"name,omitempty"`
		Source jsonSource `json:"source"`
	}
	jsonSource struct {
		Bytes string `json:"bytes"`
	}
)

// JSON implements [provider.Provider].
func (Provider) JSON(q request.Request) []byte {
	out := jsonRequest{Messages: []jsonMessage{}}
	for _, t := range q.Turns {
		out.Messages = append(out.Messages, jsonMessage{t.Role, provider.EncodeBlocks(t.Blocks, encodeBlock)})
	}
	return provider.Encode(out)
}

func encodeBlock(b *request.Block) jsonBlock {
	switch b.Type {
	case request.Thinking:
		return jsonBlock{Reasoning: &jsonReasoning{Text: &jsonThought{b.Text, b.Signature}}}
	case request.RedactedThinking:
		return jsonBlock{Reasoning: &jsonReasoning{Redacted: &b.Signature}}
	case request.ToolUse:
		return jsonBlock{Use: &jsonUse{b.ToolID, b.ToolName, b.Input}}
	case request.ToolResult:
		r := &jsonResult{b.ToolID, provider.EncodeBlocks(b.Content, encodeBlock)}
		if b.Output != nil {
			text := b.OutputText()
			r.Content = []jsonBlock{{Text: &text}}
		}
		return jsonBlock{Result: r}
	case request.Image:
		return jsonBlock{Image: &jsonFile{Format: path.Base(b.Mime), Source: jsonSource{string(b.Data)}}}
	case request.Document:
		name, _, _ := strings.Cut(b.Name, ".")
		return jsonBlock{Document: &jsonFile{Format: path.Base(b.Mime), Name: name, Source: jsonSource{string(b.Data)}}}
	default:
		return jsonBlock{Text: &b.Text}
	}
}
