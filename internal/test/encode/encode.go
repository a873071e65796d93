// Package encode writes a request in the form of a provider's API, for comparison with an agent's request.
//
// It may import change, internal/provider, internal/provider/anthropic, internal/provider/bedrock,
// internal/provider/chat, internal/provider/gemini, internal/provider/openai and internal/request. Read [JSON] first.
package encode

import (
	"encoding/json"
	"reflect"

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

type object map[string]any

// set adds a member unless the value is the zero value of its type.
func (o object) set(name string, value any) object {
	if v := reflect.ValueOf(value); v.IsValid() && !v.IsZero() {
		o[name] = value
	}
	return o
}

func encodeAll[T any](all []T, one func(T) object) []object {
	out := make([]object, 0, len(all))
	for _, v := range all {
		out = append(out, one(v))
	}
	return out
}

// JSON returns a request in the form of a provider's API, without system prompts and tools, which do not
// depend on the session. Its members are sorted by name.
func JSON(p provider.Provider, q request.Request) []byte {
	var form object
	switch p := p.(type) {
	case anthropic.Provider:
		form = object{"messages": encodeAll(q.Turns, anthropicTurn)}.set("model", q.Model.ModelID)
	case openai.Provider:
		form = object{"input": encodeAll(q.Turns, openaiItem)}.set("model", q.Model.ModelID)
	case chat.Provider:
		form = object{"messages": encodeAll(q.Turns, func(t request.Turn) object { return chatMessage(p, t) })}.set("model", q.Model.ModelID)
	case gemini.Provider: // the model is part of the path
		form = object{"contents": encodeAll(q.Turns, geminiContent)}
	case bedrock.Provider: // as well
		form = object{"messages": encodeAll(q.Turns, bedrockMessage)}
	default:
		return nil
	}
	data, err := json.Marshal(form)
	if err != nil {
		return nil // impossible: only strings and valid JSON
	}
	return data
}
