package endpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"
)

// responsesAPI is OpenAI's Responses API.
type responsesAPI struct{}

// A responsesRequest is a request to /responses.
type responsesRequest struct {
	Model string            `json:"model"`
	Store *bool             `json:"store"`
	Tools []json.RawMessage `json:"tools"`
	Input []responsesItem   `json:"input"`

	server *Server
}

// A responsesItem is one item of the input; fields of other types are zero.
type responsesItem struct {
	Type      string          `json:"type"`
	ID        *string         `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"` // a string or a list of parts
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"` // a string or a list of parts
	Encrypted *string         `json:"encrypted_content"`

	parts []responsesPart // of content or output
}

// A responsesPart is a part of an item's content or output.
type responsesPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL string `json:"image_url"`
}

// contentParts returns a list of parts; a string is one part.
func contentParts(raw json.RawMessage) ([]responsesPart, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if raw[0] == '"' {
		var text string
		err := json.Unmarshal(raw, &text)
		return []responsesPart{{Type: "input_text", Text: text}}, err
	}
	var parts []responsesPart
	err := json.Unmarshal(raw, &parts)
	return parts, err
}

func (responsesAPI) parse(s *Server, _, path string, body []byte) (parsedRequest, error) {
	if !strings.HasSuffix(path, "responses") {
		return nil, fmt.Errorf("no such path: %s", path)
	}
	r := &responsesRequest{server: s}
	if err := json.Unmarshal(body, r); err != nil {
		return nil, err
	}
	for i := range r.Input {
		it := &r.Input[i]
		if it.Type == "" {
			it.Type = "message"
		}
		raw := it.Content
		if it.Type == "function_call_output" {
			raw = it.Output
		}
		var err error
		if it.parts, err = contentParts(raw); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *responsesRequest) IsTitle() bool { return len(r.Tools) == 0 }

func (r *responsesRequest) prompt() (text string, isResult bool) {
	if len(r.Input) == 0 {
		return "", false
	}
	last := r.Input[len(r.Input)-1]
	for _, p := range last.parts {
		text += p.Text
	}
	return text, last.Type == "function_call_output"
}

func (r *responsesRequest) violations() []Violation { return violations(responsesRules, r) }

// responsesRules are O1 to O14, the rules about ids first.
var responsesRules = []rule[*responsesRequest]{
	{"O10", "anomalyco/opencode#7724, #8987", itemUnknown},
	{"O4", "OpenRouterTeam/ai-sdk-provider#254, continuedev/continue#10723", itemTwice},
	{"O11", "derived from error texts in reports", itemPrefix},
	{"O3", "continuedev/continue#8933, #11138, openai/codex#1227, #33044", itemsApart},
	{"O1", "openai/codex#93, #5385", callWithoutOutput},
	{"O2", "continuedev/continue#8773", outputWithoutCall},
	{"O5", "NousResearch/hermes-agent#95021", badFunctionName},
	{"O6", "openai/codex#14355, nanobot#1623", badCallID},
	{"O13", "openai/codex#19661, #36551", noEncryptedContent},
	{"O14", "openai/codex#19661, #36551", reasoningWithContent},
	{"O8", "anomalyco/opencode#10585, #48773, openai/codex#3942, #8119, #13724", foreignEncrypted},
	{"O9", "anomalyco/opencode#4781, #23983, openai/codex#5346", badInputImage},
	{"O12", "openai/codex#13270", outputTooLong},
}

// id returns the item's id, "" for none.
func (it responsesItem) id() string {
	if it.ID == nil {
		return ""
	}
	return *it.ID
}

func itemUnknown(r *responsesRequest) string {
	for _, it := range r.Input {
		if it.Type == "item_reference" && r.server.response(it.id()) == nil {
			return fmt.Sprintf("Item with id '%s' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", it.id())
		}
	}
	return ""
}

func itemTwice(r *responsesRequest) string {
	seen := map[string]bool{"": true}
	for _, it := range r.Input {
		if id := it.id(); id != "" && seen[id] {
			return fmt.Sprintf("Duplicate item found with id %s. Remove duplicate items from your input and try again.", id)
		}
		seen[it.id()] = true
	}
	return ""
}

func itemPrefix(r *responsesRequest) string {
	prefixes := map[string]string{"message": "msg", "reasoning": "rs", "function_call": "fc"}
	for n, it := range r.Input {
		if prefix := prefixes[it.Type]; it.ID != nil && prefix != "" && !strings.HasPrefix(it.id(), prefix) {
			return fmt.Sprintf("Invalid 'input[%d].id': '%s'. Expected an ID that begins with '%s'.", n, it.id(), prefix)
		}
	}
	return ""
}

// itemsApart is O3: a reasoning item is followed by its successor in its response, and each message of a response
// follows its reasoning.
func itemsApart(r *responsesRequest) string {
	seen := map[string]bool{}
	for n, it := range r.Input {
		id := it.id()
		group := r.server.response(id)
		if id == "" || group == nil {
			continue
		}
		seen[id] = true
		switch {
		case id == group[0] && strings.HasPrefix(id, "rs_"):
			if len(group) > 1 && (n+1 >= len(r.Input) || !follows(r.Input[n+1], group[1])) { // otherwise it was interrupted
				return fmt.Sprintf("Item '%s' of type 'reasoning' was provided without its required following item.", id)
			}
		case strings.HasPrefix(group[0], "rs_") && !seen[group[0]]:
			kind := "message"
			if strings.HasPrefix(id, "fc_") {
				kind = "function_call"
			}
			return fmt.Sprintf("Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.", id, kind, group[0])
		}
	}
	return ""
}

// follows reports whether the item is the one with that id. A call may come without its id.
func follows(it responsesItem, id string) bool {
	return it.id() == id || it.Type == "function_call" && it.ID == nil && strings.HasPrefix(id, "fc_")
}

func callWithoutOutput(r *responsesRequest) string {
	answered := map[string]bool{}
	for _, it := range r.Input {
		if it.Type == "function_call_output" {
			answered[it.CallID] = true
		}
	}
	for _, it := range r.Input {
		if it.Type == "function_call" && !answered[it.CallID] {
			return "No tool output found for function call " + it.CallID + "."
		}
	}
	return ""
}

func outputWithoutCall(r *responsesRequest) string {
	called := map[string]bool{}
	for _, it := range r.Input {
		switch {
		case it.Type == "function_call":
			called[it.CallID] = true
		case it.Type == "item_reference":
			for _, id := range r.server.response(it.id()) {
				called[strings.Replace(id, "fc_", "call_", 1)] = true
			}
		case it.Type == "function_call_output" && !called[it.CallID]:
			return "No tool call found for function call output with call_id " + it.CallID + "."
		}
	}
	return ""
}

// isToolName reports whether a name has only letters, digits, _ and -, and at least one.
func isToolName(s string) bool {
	for _, c := range s {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return s != ""
}

const namePattern = "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."

func badFunctionName(r *responsesRequest) string {
	for n, it := range r.Input {
		if it.Type == "function_call" && !isToolName(it.Name) {
			return fmt.Sprintf("Invalid 'input[%d].name': %s", n, namePattern)
		}
	}
	return ""
}

// lengthProblem returns OpenAI's error for a string with a length other than 1 to 64.
func lengthProblem(field, s string) string {
	switch n := utf8.RuneCountInString(s); {
	case n == 0:
		return fmt.Sprintf("Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string instead.", field)
	case n > 64:
		return fmt.Sprintf("Invalid '%s': string too long. Expected a string with maximum length 64, but got a string with length %d instead.", field, n)
	}
	return ""
}

func badCallID(r *responsesRequest) string {
	for n, it := range r.Input {
		if it.Type == "function_call" || it.Type == "function_call_output" {
			if m := lengthProblem(fmt.Sprintf("input[%d].call_id", n), it.CallID); m != "" {
				return m
			}
		}
		if it.ID != nil && it.Type != "item_reference" {
			if m := lengthProblem(fmt.Sprintf("input[%d].id", n), *it.ID); m != "" {
				return m
			}
		}
	}
	return ""
}

func noEncryptedContent(r *responsesRequest) string {
	for n, it := range r.Input {
		if (it.Type == "reasoning" || it.Type == "compaction") && (it.Encrypted == nil || *it.Encrypted == "") && r.Store != nil && !*r.Store {
			return fmt.Sprintf("Missing required parameter: 'input[%d].encrypted_content'.", n)
		}
	}
	return ""
}

func reasoningWithContent(r *responsesRequest) string {
	for n, it := range r.Input {
		if it.Type == "reasoning" && len(it.parts) > 0 {
			return fmt.Sprintf("Invalid 'input[%d].content': array too long. Expected an array with maximum length 0, but got an array with length %d instead.", n, len(it.parts))
		}
	}
	return ""
}

func foreignEncrypted(r *responsesRequest) string {
	for _, it := range r.Input {
		if (it.Type == "reasoning" || it.Type == "compaction") && it.Encrypted != nil && *it.Encrypted != "" && !r.server.owns(r.server.known.Encrypted, *it.Encrypted) {
			value := *it.Encrypted
			return fmt.Sprintf("The encrypted content %s...%s could not be verified. Reason: Encrypted content could not be decrypted or parsed.", value[:min(4, len(value))], value[max(0, len(value)-4):])
		}
	}
	return ""
}

func badInputImage(r *responsesRequest) string {
	for n, it := range r.Input {
		for m, p := range it.parts {
			if p.Type != "input_image" {
				continue
			}
			switch empty, ok := decodes(p.ImageURL); {
			case empty:
				return fmt.Sprintf("Invalid 'input[%d].content[%d].image_url'. Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,...'), but got empty base64-encoded bytes.", n, m)
			case !ok:
				return "The image data you provided does not represent a valid image. Please check your input and try again with one of the supported image formats: ['image/jpeg', 'image/png', 'image/gif', 'image/webp']."
			}
		}
	}
	return ""
}

// largestString is the maximum number of characters in a string for OpenAI.
const largestString = 10485760

func outputTooLong(r *responsesRequest) string {
	for n, it := range r.Input {
		for _, p := range it.parts {
			if length := utf8.RuneCountInString(p.Text); it.Type == "function_call_output" && length > largestString {
				return fmt.Sprintf("Invalid 'input[%d].output': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", n, largestString, length)
			}
		}
	}
	return ""
}

// shell returns the name of the agent's tool that runs a command, and its arguments for a call.
func (r *responsesRequest) shell() (name string, arguments func(ToolCall) string) {
	const codex = "exec_command"
	for _, t := range r.Tools {
		if bytes.Contains(t, []byte(`"`+codex+`"`)) {
			return codex, func(c ToolCall) string {
				data, _ := json.Marshal(map[string]string{"cmd": c.Command}) // a string
				return string(data)
			}
		}
	}
	return "bash", ToolCall.input
}

func (r *responsesRequest) refuse(w http.ResponseWriter, v Violation) {
	status, kind, code := http.StatusBadRequest, "invalid_request_error", any(nil)
	switch v.Rule {
	case "O10":
		status = http.StatusNotFound
	case "O8":
		code = "invalid_encrypted_content"
	case "O6", "O12":
		code = "string_above_max_length"
	}
	reply(w, status, object{"error": object{"message": v.Message, "type": kind, "param": "input", "code": code}})
}

func (r *responsesRequest) answer(w http.ResponseWriter, s *Server, n int) {
	a := plainAnswer(r, n)
	e := newEvents(w)
	id := fmt.Sprintf("%010d%04d", n, len(r.Input))
	var output []object
	var ids []string
	store := r.Store == nil || *r.Store
	emit := func(item object, between func(index int, id string)) {
		index, itemID := len(output), item["id"].(string)
		ids = append(ids, itemID)
		e.send("response.output_item.added", object{"type": "response.output_item.added", "output_index": index, "item": item})
		between(index, itemID)
		e.send("response.output_item.done", object{"type": "response.output_item.done", "output_index": index, "item": item})
		output = append(output, item)
	}
	response := object{"id": "resp_" + id, "object": "response", "created_at": 1795361842, "model": r.Model, "status": "in_progress", "output": []object{}}
	e.send("response.created", object{"type": "response.created", "response": response})
	if a.Thinking != "" {
		item := object{"id": "rs_" + id, "type": "reasoning", "summary": []object{{"type": "summary_text", "text": a.Thinking}}}
		if !store {
			item["encrypted_content"] = s.issue(s.known.Encrypted, "gAAAA", "encrypted", id+a.Thinking)
		}
		emit(item, func(index int, itemID string) {
			e.send("response.reasoning_summary_part.added", object{"type": "response.reasoning_summary_part.added", "item_id": itemID, "output_index": index, "summary_index": 0, "part": object{"type": "summary_text", "text": ""}})
			e.send("response.reasoning_summary_text.delta", object{"type": "response.reasoning_summary_text.delta", "item_id": itemID, "output_index": index, "summary_index": 0, "delta": a.Thinking})
			e.send("response.reasoning_summary_part.done", object{"type": "response.reasoning_summary_part.done", "item_id": itemID, "output_index": index, "summary_index": 0, "part": object{"type": "summary_text", "text": a.Thinking}})
		})
	}
	emit(object{"id": "msg_" + id, "type": "message", "role": "assistant", "status": "completed", "content": []object{{"type": "output_text", "text": a.Text, "annotations": []any{}}}}, func(index int, itemID string) {
		e.send("response.content_part.added", object{"type": "response.content_part.added", "item_id": itemID, "output_index": index, "content_index": 0, "part": object{"type": "output_text", "text": "", "annotations": []any{}}})
		e.send("response.output_text.delta", object{"type": "response.output_text.delta", "item_id": itemID, "output_index": index, "content_index": 0, "delta": a.Text})
		e.send("response.output_text.done", object{"type": "response.output_text.done", "item_id": itemID, "output_index": index, "content_index": 0, "text": a.Text})
	})
	name, arguments := r.shell()
	for i, c := range a.Calls {
		item := object{"id": fmt.Sprintf("fc_%s%d", id, i), "type": "function_call", "call_id": fmt.Sprintf("call_%s%d", id, i), "name": name, "arguments": arguments(c), "status": "completed"}
		emit(item, func(index int, itemID string) {
			e.send("response.function_call_arguments.delta", object{"type": "response.function_call_arguments.delta", "item_id": itemID, "output_index": index, "delta": arguments(c)})
			e.send("response.function_call_arguments.done", object{"type": "response.function_call_arguments.done", "item_id": itemID, "output_index": index, "arguments": arguments(c)})
		})
	}
	s.issueItems(ids)
	response["status"], response["output"] = "completed", output
	response["usage"] = object{"input_tokens": 10, "output_tokens": 20, "total_tokens": 30, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 5}}
	e.send("response.completed", object{"type": "response.completed", "response": response})
}
