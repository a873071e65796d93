package endpoint

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// object is a JSON object of an answer.
type object = map[string]any

// usage is the number of tokens that every answer reports.
var usage = object{"input_tokens": 10, "output_tokens": 20}

// stopReason returns why the model stopped after the answer.
func (c Content) stopReason() string {
	for _, b := range c {
		if b.Type == "tool_use" {
			return "tool_use"
		}
	}
	return "end_turn"
}

// message returns the answer as the provider sends it without streaming.
func message(n int, model string, answer Content) object {
	return object{
		"id": fmt.Sprintf("msg_%04d%x", n, time.Now().UnixNano()), "type": "message", "role": "assistant", "model": model,
		"content": answer, "stop_reason": answer.stopReason(), "stop_sequence": nil, "usage": usage,
	}
}

// stream writes the answer as the provider's server-sent events.
func stream(w io.Writer, n int, model string, answer Content) error {
	start := message(n, model, answer)
	start["content"], start["stop_reason"] = Content{}, nil
	events := []object{{"type": "message_start", "message": start}}
	for i, b := range answer {
		events = append(events, b.events(i)...)
	}
	events = append(events,
		object{"type": "message_delta", "delta": object{"stop_reason": answer.stopReason(), "stop_sequence": nil}, "usage": usage},
		object{"type": "message_stop"})
	for _, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("encoding %v event: %w", e["type"], err)
		}
		if _, err := fmt.Fprintf(w, "event: %v\ndata: %s\n\n", e["type"], data); err != nil {
			return fmt.Errorf("sending %v event: %w", e["type"], err)
		}
	}
	return nil
}

// events returns the events of block i of the answer: its start, its deltas and its end.
func (b Block) events(i int) []object {
	var empty object
	var deltas []object
	switch b.Type {
	case "thinking":
		empty = object{"type": b.Type, "thinking": "", "signature": ""}
		deltas = []object{{"type": "thinking_delta", "thinking": b.Thinking}}
		if b.Signature != nil {
			deltas = append(deltas, object{"type": "signature_delta", "signature": *b.Signature})
		}
	case "redacted_thinking":
		empty = object{"type": b.Type, "data": b.Data}
	case "tool_use":
		empty = object{"type": b.Type, "id": b.ID, "name": b.Name, "input": object{}}
		deltas = []object{{"type": "input_json_delta", "partial_json": string(b.Input)}}
	default:
		empty = object{"type": b.Type, "text": ""}
		deltas = []object{{"type": "text_delta", "text": b.Text}}
	}
	events := []object{{"type": "content_block_start", "index": i, "content_block": empty}}
	for _, d := range deltas {
		events = append(events, object{"type": "content_block_delta", "index": i, "delta": d})
	}
	return append(events, object{"type": "content_block_stop", "index": i})
}
