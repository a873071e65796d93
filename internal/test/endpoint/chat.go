package endpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"
)

// chatAPI is chat completions: OpenAI's own rules, and rules of single vendors.
type chatAPI struct{}

// A chatRequest is a request to /chat/completions.
type chatRequest struct {
	Model    string            `json:"model"`
	Tools    []json.RawMessage `json:"tools"`
	Messages []chatMessage     `json:"messages"`

	setting string
}

// A chatMessage is one message; fields of other roles are zero.
type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"` // null, a string, or a list of parts
	ToolCalls  []chatCall      `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
	Reasoning  *string         `json:"reasoning_content"`

	text  *string // of string content
	parts []chatPart
}

type chatCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type chatPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

func (chatAPI) parse(_ *Server, setting, path string, body []byte) (parsedRequest, error) {
	if !strings.HasSuffix(path, "chat/completions") {
		return nil, fmt.Errorf("no such path: %s", path)
	}
	r := &chatRequest{setting: setting}
	if err := json.Unmarshal(body, r); err != nil {
		return nil, err
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		var err error
		switch {
		case bytes.HasPrefix(m.Content, []byte(`"`)):
			err = json.Unmarshal(m.Content, &m.text)
		case bytes.HasPrefix(m.Content, []byte("[")):
			err = json.Unmarshal(m.Content, &m.parts)
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *chatRequest) IsTitle() bool { return len(r.Tools) == 0 }

func (r *chatRequest) prompt() (text string, isResult bool) {
	if len(r.Messages) == 0 {
		return "", false
	}
	last := r.Messages[len(r.Messages)-1]
	if last.text != nil {
		text = *last.text
	}
	for _, p := range last.parts {
		text += p.Text
	}
	return text, last.Role == "tool"
}

func (r *chatRequest) violations() []Violation { return violations(chatRules, r) }

// chatRules are C1 to C9 of OpenAI and V1 to V4 of single vendors. All apply to every setting, although no
// vendor has them all.
var chatRules = []rule[*chatRequest]{
	{"C1", "QwenLM/qwen-code#199, OpenManus#227", callsUnanswered},
	{"C2", "TuriX#15", answerWithoutCall},
	{"C3", "agno-agi/agno#5116", callTwiceInStep},
	{"C4", "langmanus#119", badChatCallID},
	{"C5", "derived from O5", badChatName},
	{"C6", "MoonshotAI/kimi-code#3052", noChatContent},
	{"C8", "reports of users", badChatImage},
	{"C9", "derived from O12", longChatText},
	{"V1", "Moonshot and DeepSeek: anomalyco/opencode#37887, MoonshotAI/kimi-code#1985, lobehub#8419", emptyAnswer},
	{"V2", "Qwen: nanobot#2469", badArguments},
	{"V3", "DeepSeek and Moonshot: pi#4178, gptme#918", noReasoning},
	{"V4", "DeepSeek: craft-agents#630, #621, pi#6796", callTwice},
}

func callsUnanswered(r *chatRequest) string {
	for n, m := range r.Messages {
		if len(m.ToolCalls) == 0 {
			continue
		}
		answered := map[string]bool{}
		for _, next := range r.Messages[n+1:] {
			if next.Role != "tool" {
				break
			}
			answered[next.ToolCallID] = true
		}
		var missing []string
		for _, c := range m.ToolCalls {
			if !answered[c.ID] {
				missing = append(missing, c.ID)
			}
		}
		if len(missing) > 0 {
			return "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: " + strings.Join(missing, ", ")
		}
	}
	return ""
}

func answerWithoutCall(r *chatRequest) string {
	called := map[string]bool{}
	for _, m := range r.Messages {
		switch {
		case m.Role == "tool" && !called[m.ToolCallID]:
			return "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
		case m.Role != "tool":
			clear(called)
			for _, c := range m.ToolCalls {
				called[c.ID] = true
			}
		}
	}
	return ""
}

func callTwiceInStep(r *chatRequest) string {
	at := map[string]int{}
	for n, m := range r.Messages {
		if m.Role != "tool" {
			clear(at)
			continue
		}
		if first, ok := at[m.ToolCallID]; ok {
			return fmt.Sprintf("Invalid parameter: Duplicate value for 'tool_call_id' of '%s', in messages[%d] and messages[%d].", m.ToolCallID, first, n)
		}
		at[m.ToolCallID] = n
	}
	return ""
}

// eachCall calls f for every tool call, until it returns a text.
func (r *chatRequest) eachCall(f func(n, i int, c chatCall) string) string {
	for n, m := range r.Messages {
		for i, c := range m.ToolCalls {
			if text := f(n, i, c); text != "" {
				return text
			}
		}
	}
	return ""
}

func badChatCallID(r *chatRequest) string {
	return r.eachCall(func(n, i int, c chatCall) string {
		return lengthProblem(fmt.Sprintf("messages[%d].tool_calls[%d].id", n, i), c.ID)
	})
}

func badChatName(r *chatRequest) string {
	return r.eachCall(func(n, i int, c chatCall) string {
		if isToolName(c.Function.Name) {
			return ""
		}
		return fmt.Sprintf("Invalid 'messages[%d].tool_calls[%d].function.name': %s", n, i, namePattern)
	})
}

func noChatContent(r *chatRequest) string {
	for _, m := range r.Messages {
		if m.Role == "assistant" && len(m.ToolCalls) == 0 && m.text == nil && m.parts == nil {
			return "Invalid value for 'content': expected a string, got null."
		}
	}
	return ""
}

func badChatImage(r *chatRequest) string {
	for _, m := range r.Messages {
		for _, p := range m.parts {
			if p.Type == "image_url" {
				if _, ok := decodes(p.ImageURL.URL); !ok {
					return "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp']."
				}
			}
		}
	}
	return ""
}

func longChatText(r *chatRequest) string {
	for n, m := range r.Messages {
		if m.text != nil && utf8.RuneCountInString(*m.text) > largestString {
			return fmt.Sprintf("Invalid 'messages[%d].content': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", n, largestString, utf8.RuneCountInString(*m.text))
		}
	}
	return ""
}

func emptyAnswer(r *chatRequest) string {
	for n, m := range r.Messages {
		if m.Role == "assistant" && len(m.ToolCalls) == 0 && m.text != nil && *m.text == "" {
			return fmt.Sprintf("Invalid request: the message at position %d with role 'assistant' must not be empty", n)
		}
	}
	return ""
}

func badArguments(r *chatRequest) string {
	return r.eachCall(func(_, _ int, c chatCall) string {
		var v map[string]any
		if json.Unmarshal([]byte(c.Function.Arguments), &v) != nil || v == nil {
			return `<400> InternalError.Algo.InvalidParameter: The "function.arguments" parameter of the code model must be in JSON format.`
		}
		return ""
	})
}

func noReasoning(r *chatRequest) string {
	if r.setting != "kimi" {
		return ""
	}
	for n, m := range r.Messages {
		if len(m.ToolCalls) > 0 && m.Reasoning == nil {
			return fmt.Sprintf("thinking is enabled but reasoning_content is missing in assistant tool call message at index %d", n)
		}
	}
	return ""
}

func callTwice(r *chatRequest) string {
	seen := map[string]bool{}
	for n, m := range r.Messages {
		if m.Role != "tool" {
			continue
		}
		if seen[m.ToolCallID] {
			return fmt.Sprintf("Duplicate value for 'tool_call_id' of %s in message[%d]", m.ToolCallID, n)
		}
		seen[m.ToolCallID] = true
	}
	return ""
}

func (r *chatRequest) refuse(w http.ResponseWriter, v Violation) {
	reply(w, http.StatusBadRequest, object{"error": object{"message": v.Message, "type": "invalid_request_error", "param": "messages", "code": nil}})
}

func (r *chatRequest) answer(w http.ResponseWriter, _ *Server, n int) {
	a := plainAnswer(r, n)
	e := newEvents(w)
	chunk := func(delta object, reason any) {
		e.send("", object{
			"id": fmt.Sprintf("chatcmpl-%d", n), "object": "chat.completion.chunk", "created": 1795361842, "model": r.Model,
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": reason}},
		})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	switch r.setting {
	case "copilot": // it shows no reasoning
	case "openrouter":
		chunk(object{"reasoning": a.Thinking}, nil)
	default:
		chunk(object{"reasoning_content": a.Thinking}, nil)
	}
	chunk(object{"content": a.Text}, nil)
	reason := "stop"
	for i, c := range a.Calls {
		reason = "tool_calls"
		chunk(object{"tool_calls": []object{{
			"index": i, "id": fmt.Sprintf("call_%04d%d", n, i), "type": "function",
			"function": object{"name": "bash", "arguments": c.input()},
		}}}, nil)
	}
	chunk(object{}, reason)
	e.send("", object{
		"id": fmt.Sprintf("chatcmpl-%d", n), "object": "chat.completion.chunk", "created": 1795361842, "model": r.Model,
		"choices": []object{}, "usage": object{"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30},
	})
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n") // an error: the client has disconnected
}
