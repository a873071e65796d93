package record

import "mend/agent/opencode/js"

// The types of parts that rules use. Parts of other types are kept unchanged. The last four come from other tools, not
// from OpenCode.
const (
	TypeText       = "text"
	TypeReasoning  = "reasoning"
	TypeTool       = "tool"
	TypeFile       = "file"
	TypeStepStart  = "step-start"
	TypeStepFinish = "step-finish"

	TypeThinking         = "thinking"
	TypeRedactedThinking = "redacted_thinking"
	TypeToolUse          = "tool_use"
	TypeToolResult       = "tool_result"
)

// The states of a tool part.
const (
	StatusPending   = "pending"
	StatusRunning   = "running"
	StatusCompleted = "completed"
	StatusError     = "error"
)

// IsThinking reports whether the part is thinking, of any type.
func (p *Part) IsThinking() bool {
	switch p.Type {
	case TypeThinking, TypeRedactedThinking, TypeReasoning:
		return true
	}
	return false
}

// IsTool reports whether the part is a tool call.
func (p *Part) IsTool() bool {
	return p.Type == TypeTool || p.Type == TypeToolUse
}

// IsUnfinished reports whether the part is a tool call that never got a result.
func (p *Part) IsUnfinished() bool {
	return p.Type == TypeTool && (p.Status == StatusPending || p.Status == StatusRunning)
}

// Sent reports whether the part has content that is sent to the model: a text that is not blank, a tool call or a tool
// result. Thinking, step markers and other types do not count.
func (p *Part) Sent() bool {
	switch p.Type {
	case TypeText:
		return !js.Blank(p.Text) && !p.Ignored
	case TypeTool, TypeToolUse, TypeToolResult:
		return !p.Ignored
	}
	return false
}
