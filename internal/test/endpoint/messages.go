package endpoint

import (
	"fmt"
	"net/http"
	"time"
)

// messagesAPI is Anthropic's Messages API.
type messagesAPI struct{}

func (messagesAPI) parse(s *Server, _, _ string, body []byte) (parsedRequest, error) {
	r, err := Parse(body)
	if err != nil {
		return conversation{}, err
	}
	c := newConversation(r, s.answers())
	s.mu.Lock()
	defer s.mu.Unlock()
	c.unbound = s.bindings.invalid(r)
	return c, nil
}

// prompt returns the text of the request's last block, and whether it is a tool's result.
func (c conversation) prompt() (text string, isResult bool) {
	for n := len(c.Messages) - 1; n >= 0; n-- {
		if blocks := c.Messages[n].Content; len(blocks) > 0 {
			last := blocks[len(blocks)-1]
			return last.Text, last.Type == "tool_result"
		}
	}
	return "", false
}

func (c conversation) refuse(w http.ResponseWriter, v Violation) {
	if v.Rule == tooLarge {
		refuse(w, http.StatusRequestEntityTooLarge, "request_too_large", v.Message)
		return
	}
	refuse(w, http.StatusBadRequest, "invalid_request_error", v.Message)
}

// answer records the script's answer, then sends it. Until the script returns, the call has no answer.
func (c conversation) answer(w http.ResponseWriter, s *Server, n int) {
	content := s.script(n, c.Request)
	s.mu.Lock()
	s.calls[n-1].Answer = content
	if binds(c.Model) {
		s.bindings.issue(c.Request, content)
	}
	s.mu.Unlock()
	if !c.Stream {
		reply(w, http.StatusOK, message(n, c.Model, content))
		return
	}
	start := message(n, c.Model, content)
	start["content"], start["stop_reason"] = Content{}, nil
	e := newEvents(w)
	e.send("message_start", object{"type": "message_start", "message": start})
	for i, b := range content {
		b.send(e, i)
	}
	e.send("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": content.stopReason(), "stop_sequence": nil}, "usage": usage})
	e.send("message_stop", object{"type": "message_stop"})
}

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

// message returns the answer in the provider's form without streaming.
func message(n int, model string, answer Content) object {
	return object{
		"id": fmt.Sprintf("msg_%04d%x", n, time.Now().UnixNano()), "type": "message", "role": "assistant", "model": model,
		"content": answer, "stop_reason": answer.stopReason(), "stop_sequence": nil, "usage": usage,
	}
}

// send writes the events of block i of an answer: its start, its deltas and its end.
func (b Block) send(e events, i int) {
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
	e.send("content_block_start", object{"type": "content_block_start", "index": i, "content_block": empty})
	for _, d := range deltas {
		e.send("content_block_delta", object{"type": "content_block_delta", "index": i, "delta": d})
	}
	e.send("content_block_stop", object{"type": "content_block_stop", "index": i})
}
