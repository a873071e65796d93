package endpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// A Request has the members of a Messages API request that the rules check.
type Request struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	Thinking Thinking          `json:"thinking"`
	Tools    []json.RawMessage `json:"tools"`
	Messages []Message         `json:"messages"`
}

// Thinking is the setting of a request; its zero value means off.
type Thinking struct {
	Type         string `json:"type"`
	BlockBinding struct {
		PrefixMismatchBehavior string `json:"prefix_mismatch_behavior,omitempty"`
	} `json:"block_binding,omitzero"`
}

// On reports whether thinking is on.
func (t Thinking) On() bool { return t.Type == "enabled" || t.Type == "adaptive" }

// A Message is one message of a request.
type Message struct {
	Role    string  `json:"role"`
	Content Content `json:"content"`
}

// Content is a list of blocks. In JSON it may also be a string, which means one text block, or none if it is
// empty.
type Content []Block

// A Block is one content block of any type; fields of other types are zero.
type Block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`        // text
	Thinking  string          `json:"thinking,omitempty"`    // thinking
	Signature *string         `json:"signature,omitempty"`   // thinking; nil: the field is absent
	Data      string          `json:"data,omitempty"`        // redacted_thinking
	ID        string          `json:"id,omitempty"`          // tool_use
	Name      string          `json:"name,omitempty"`        // tool_use
	Input     json.RawMessage `json:"input,omitempty"`       // tool_use
	ToolUseID string          `json:"tool_use_id,omitempty"` // tool_result
	Content   Content         `json:"content,omitempty"`     // tool_result
	Source    Source          `json:"source,omitzero"`       // image
}

// A Source holds the bytes of an image.
type Source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data"`
}

// Parse decodes the body of a request.
func Parse(body []byte) (Request, error) {
	var r Request
	if err := json.Unmarshal(body, &r); err != nil {
		return Request{}, fmt.Errorf("reading request: %w", err)
	}
	return r, nil
}

// IsTitle reports whether the request is for a session's title and not part of the conversation: only such a
// request offers no tools.
func (r Request) IsTitle() bool { return len(r.Tools) == 0 }

// UnmarshalJSON reads a list of blocks or a string.
func (c *Content) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte(`"`)) {
		return json.Unmarshal(data, (*[]Block)(c))
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	*c = nil
	if text != "" {
		*c = Content{{Type: "text", Text: text}}
	}
	return nil
}

func (b Block) isThinking() bool { return b.Type == "thinking" || b.Type == "redacted_thinking" }

// thinking returns only the thinking blocks.
func (c Content) thinking() Content {
	var out Content
	for _, b := range c {
		if b.isThinking() {
			out = append(out, b)
		}
	}
	return out
}
