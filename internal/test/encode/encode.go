// Package encode writes a request in the form of a provider's API, for comparison with an agent's request.
//
// It may import change, internal/provider, internal/provider/anthropic, internal/provider/bedrock,
// internal/provider/chat, internal/provider/gemini, internal/provider/openai and internal/request. Read [JSON] first.
package encode

import (
	"encoding/json"

	"mend/internal/provider"
	"mend/internal/provider/anthropic"
	"mend/internal/provider/bedrock"
	"mend/internal/provider/chat"
	"mend/internal/provider/gemini"
	"mend/internal/provider/openai"
	"mend/internal/request"
)

// systemText stands for a system prompt.
const systemText = "(the system prompt)"

// dataURL returns an image or a document as a URL: the link, or its data.
func dataURL(b *request.Block) string {
	if b.URL != "" {
		return b.URL
	}
	return "data:" + b.Mime + ";base64," + string(b.Data)
}

// encode returns the JSON of a request in the form of an API.
func encode(form any) []byte {
	data, err := json.Marshal(form)
	if err != nil {
		return nil // impossible: only strings and valid JSON
	}
	return data
}

func encodeBlocks[T any](blocks []*request.Block, one func(b *request.Block) T) []T {
	out := make([]T, 0, len(blocks))
	for _, b := range blocks {
		out = append(out, one(b))
	}
	return out
}

// JSON returns a request in the form of a provider's API, without system prompts and tools, which do not
// depend on the session.
func JSON(p provider.Provider, q request.Request) []byte {
	switch p := p.(type) {
	case anthropic.Provider:
		return anthropicJSON(q)
	case openai.Provider:
		return openaiJSON(q)
	case chat.Provider:
		return chatJSON(p, q)
	case gemini.Provider:
		return geminiJSON(q)
	case bedrock.Provider:
		return bedrockJSON(q)
	}
	return nil
}
