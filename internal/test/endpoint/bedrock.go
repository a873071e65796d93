package endpoint

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// bedrockAPI is Amazon Bedrock's Converse API with Claude.
type bedrockAPI struct{}

// A bedrockRequest is a request to /converse-stream.
type bedrockRequest struct {
	Messages []bedrockMessage `json:"messages"`
	Tools    struct {
		Tools []json.RawMessage `json:"tools"`
	} `json:"toolConfig"`

	server *Server
}

type bedrockMessage struct {
	Role    string         `json:"role"`
	Content []bedrockBlock `json:"content"`
}

// A bedrockBlock is one block: the content is in one of its fields.
type bedrockBlock struct {
	Text    *string `json:"text"`
	ToolUse *struct {
		ID    string          `json:"toolUseId"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	} `json:"toolUse"`
	ToolResult *struct {
		ID      string         `json:"toolUseId"`
		Content []bedrockBlock `json:"content"`
	} `json:"toolResult"`
	Reasoning *struct {
		Text *struct {
			Text      string `json:"text"`
			Signature string `json:"signature"`
		} `json:"reasoningText"`
		Redacted json.RawMessage `json:"redactedContent"`
	} `json:"reasoningContent"`
	Image *struct {
		Format string `json:"format"`
		Source struct {
			Bytes string `json:"bytes"`
		} `json:"source"`
	} `json:"image"`
	CachePoint json.RawMessage `json:"cachePoint"`
}

func (bedrockAPI) parse(s *Server, _, path string, body []byte) (parsedRequest, error) {
	if !strings.HasSuffix(path, "/converse-stream") {
		return nil, fmt.Errorf("no such path: %s", path)
	}
	r := &bedrockRequest{server: s}
	if err := json.Unmarshal(body, r); err != nil {
		return nil, err
	}
	for i := range r.Messages { // a cache point is not content
		m := &r.Messages[i]
		var kept []bedrockBlock
		for _, b := range m.Content {
			if b.CachePoint == nil {
				kept = append(kept, b)
			}
		}
		m.Content = kept
	}
	return r, nil
}

func (r *bedrockRequest) IsTitle() bool { return len(r.Tools.Tools) == 0 }

func (r *bedrockRequest) prompt() (text string, isResult bool) {
	if len(r.Messages) == 0 {
		return "", false
	}
	for _, b := range r.Messages[len(r.Messages)-1].Content {
		if b.Text != nil {
			text = *b.Text
		}
		isResult = b.ToolResult != nil
	}
	return text, isResult
}

func (r *bedrockRequest) violations() []Violation { return violations(bedrockRules, r) }

// bedrockRules are B1 to B11. The rules from B5 on, except for the decoding of B10, are Claude's rules in another API.
var bedrockRules = []rule[*bedrockRequest]{
	{"B1", "reports of users", bedrockAssistantFirst},
	{"B3", "reports of users", noBedrockContent},
	{"B4", "OpenHands#5722, continuedev/continue#9767, anomalyco/opencode#15715, #17381", blankBedrockText},
	{"B5", "derived from Claude's rules", badToolUseID},
	{"B7", "derived from Claude's rules", toolUseTwice},
	{"B8", "derived from Claude's rules", toolUseUnanswered},
	{"B9", "derived from Claude's rules", badThinking},
	{"B10", "derived from Claude's rules; hermes-agent#55429 for types", badBedrockImage},
	{"B11", "derived from Claude's rules", reasoningLast},
}

func bedrockAssistantFirst(r *bedrockRequest) string {
	if len(r.Messages) > 0 && r.Messages[0].Role != "user" {
		return "A conversation must start with a user message. Try again with a conversation that starts with a user message."
	}
	return ""
}

func noBedrockContent(r *bedrockRequest) string {
	for n, m := range r.Messages {
		if len(m.Content) == 0 {
			return fmt.Sprintf("The content field in the Message object at messages.%d is empty. Add a ContentBlock object to the content field and try again.", n)
		}
	}
	return ""
}

func (b bedrockBlock) isBlank() bool { return b.Text != nil && strings.TrimSpace(*b.Text) == "" }

func blankBedrockText(r *bedrockRequest) string {
	for at, b := range r.blocks {
		if b.isBlank() {
			return fmt.Sprintf("The text field in the ContentBlock object at messages.%d.content.%d is blank. Add text to the text field, and try again.", at[0], at[1])
		}
		if b.ToolResult == nil {
			continue
		}
		for j, in := range b.ToolResult.Content {
			if in.isBlank() {
				return fmt.Sprintf("The text field in the ContentBlock object at messages.%d.content.%d.toolResult.content.%d is blank. Add text to the text field, and try again.", at[0], at[1], j)
			}
		}
	}
	return ""
}

// blocks yields every block with the numbers of its message and of the block in it.
func (r *bedrockRequest) blocks(yield func(at [2]int, b bedrockBlock) bool) {
	for n, m := range r.Messages {
		for i, b := range m.Content {
			if !yield([2]int{n, i}, b) {
				return
			}
		}
	}
}

func badToolUseID(r *bedrockRequest) string {
	for at, b := range r.blocks {
		if b.ToolUse != nil && (!isToolName(b.ToolUse.ID) || len(b.ToolUse.ID) > 64) {
			return fmt.Sprintf("1 validation error detected: Value '%s' at 'messages.%d.member.content.%d.member.toolUse.toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+", b.ToolUse.ID, at[0]+1, at[1]+1)
		}
	}
	return ""
}

func toolUseTwice(r *bedrockRequest) string {
	seen := map[string]bool{}
	for at, b := range r.blocks {
		if b.ToolUse != nil && seen[b.ToolUse.ID] {
			return fmt.Sprintf("The toolUse blocks at messages.%d.content contain duplicate Ids: %s", at[0], b.ToolUse.ID)
		}
		if b.ToolUse != nil {
			seen[b.ToolUse.ID] = true
		}
	}
	return ""
}

// toolUseUnanswered is B8: after a tool use its message has only tool uses, and its results begin the next
// one.
func toolUseUnanswered(r *bedrockRequest) string {
	for n, m := range r.Messages {
		answered := map[string]bool{}
		if n+1 < len(r.Messages) {
			for _, b := range r.Messages[n+1].Content {
				if b.ToolResult == nil {
					break
				}
				answered[b.ToolResult.ID] = true
			}
		}
		called := false
		for _, b := range m.Content {
			switch {
			case b.ToolUse == nil && called:
				return fmt.Sprintf("The model returned the following errors: messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", n)
			case b.ToolUse != nil && !answered[b.ToolUse.ID]:
				return fmt.Sprintf("Expected toolResult blocks at messages.%d.content for the following Ids: %s", n+1, b.ToolUse.ID)
			}
			called = called || b.ToolUse != nil
		}
	}
	return ""
}

func badThinking(r *bedrockRequest) string {
	for at, b := range r.blocks {
		if b.Reasoning != nil && b.Reasoning.Text != nil && !r.server.signed(b.Reasoning.Text.Signature, b.Reasoning.Text.Text) {
			return fmt.Sprintf("The model returned the following errors: messages.%d.content.%d: Invalid `signature` in `thinking` block", at[0], at[1])
		}
	}
	return ""
}

// largestBedrockImage is the limit on the bytes of an image.
const largestBedrockImage = 3932160

func badBedrockImage(r *bedrockRequest) string {
	for at, b := range r.blocks {
		blocks := []bedrockBlock{b}
		if b.ToolResult != nil {
			blocks = b.ToolResult.Content
		}
		for _, b := range blocks {
			if b.Image == nil {
				continue
			}
			place := fmt.Sprintf("messages.%d.content.%d", at[0], at[1])
			p := decodePicture(b.Image.Source.Bytes)
			switch size := base64.StdEncoding.DecodedLen(len(b.Image.Source.Bytes)); {
			case size > largestBedrockImage:
				return fmt.Sprintf("The model returned the following errors: %s.image.source.base64: image exceeds 3.75 MB maximum: %d bytes > %d bytes", place, size, largestBedrockImage)
			case p.Empty:
				return fmt.Sprintf("The model returned the following errors: %s.image.source.base64: image cannot be empty", place)
			case p.Kind == "":
				return "The model returned the following errors: Could not process image"
			case p.Kind != b.Image.Format:
				return fmt.Sprintf("The model returned the following errors: %s.image.source.base64: The image was specified using the image/%s media type, but the image appears to be a image/%s image", place, b.Image.Format, p.Kind)
			}
		}
	}
	return ""
}

func reasoningLast(r *bedrockRequest) string {
	for n, m := range r.Messages {
		if last := len(m.Content) - 1; m.Role == "assistant" && last >= 0 && m.Content[last].Reasoning != nil {
			return fmt.Sprintf("The model returned the following errors: messages.%d: The final block in an assistant message cannot be `thinking`.", n)
		}
	}
	return ""
}

func (r *bedrockRequest) refuse(w http.ResponseWriter, v Violation) {
	w.Header().Set("x-amzn-ErrorType", "ValidationException")
	reply(w, http.StatusBadRequest, object{"message": v.Message})
}

func (r *bedrockRequest) answer(w http.ResponseWriter, s *Server, n int) {
	a := plainAnswer(r, n)
	w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
	send := func(kind string, payload object) {
		data, _ := json.Marshal(payload) // only strings and numbers
		_, _ = w.Write(eventMessage(kind, data))
	}
	index := 0
	block := func(start object, deltas ...object) {
		if start != nil {
			send("contentBlockStart", object{"contentBlockIndex": index, "start": start})
		}
		for _, d := range deltas {
			send("contentBlockDelta", object{"contentBlockIndex": index, "delta": d})
		}
		send("contentBlockStop", object{"contentBlockIndex": index})
		index++
	}
	send("messageStart", object{"role": "assistant"})
	block(nil, object{"reasoningContent": object{"text": a.Thinking}}, object{"reasoningContent": object{"signature": s.issueThinking(a.Thinking)}})
	block(nil, object{"text": a.Text})
	reason := "end_turn"
	for i, c := range a.Calls {
		reason = "tool_use"
		block(object{"toolUse": object{"toolUseId": fmt.Sprintf("tooluse_%04d%d", n, i), "name": "bash"}}, object{"toolUse": object{"input": c.input()}})
	}
	send("messageStop", object{"stopReason": reason})
	send("metadata", object{"usage": object{"inputTokens": 10, "outputTokens": 20, "totalTokens": 30}, "metrics": object{"latencyMs": 1}})
}
