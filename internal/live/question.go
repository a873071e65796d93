package live

import (
	"context"
	"encoding/json"
	"time"
)

// A Question comes from an agent that waits for the answer before it makes a request or runs a tool.
type Question struct {
	Hook      HookPoint
	Session   string // its id; "" for all sessions of the directory
	Directory string // the one that the agent was started in
	Version   string // of the agent; "" if unknown
	Model     *Model // of the prompt; nil if unknown
	Named     bool   // the prompt names the model; otherwise it is the previous prompt's
	Agent     string // of the prompt

	Call   *ToolCall    // the call that will run, with [HookTool]
	Failed []FailedCall // in the messages that will be sent, with [HookRequest]

	// Deadline is the time after which the agent stops waiting. No change of the store begins after that.
	Deadline time.Duration
	// Begin reports whether the agent still waits. If so, the agent then waits for the answer without a time limit.
	// Begin is nil if no agent waits.
	Begin func(ctx context.Context) (bool, error)
}

// A ToolCall is a call of a tool as the agent reports it before and after it runs.
type ToolCall struct {
	Session string          `json:"sessionID"`
	ID      string          `json:"callID"`
	Tool    string          `json:"tool"`
	Time    int64           `json:"time"` // of the report, in milliseconds since 1970
	Args    json.RawMessage `json:"args,omitempty"`

	// Only after the call: the output that the model gets, and whether the tool cut it. The call succeeded: a failed
	// call is not reported.
	Output    string `json:"output,omitempty"`
	Truncated *bool  `json:"truncated,omitempty"`
}

// A FailedCall is a stored tool call that failed, as the agent will send it.
type FailedCall struct {
	Part   string `json:"part"` // its id
	Tool   string `json:"tool"`
	Status string `json:"status"` // of the call: error or completed
	Text   string `json:"text"`   // the beginning of the output that the model gets
}

// Appended is a text that is appended to the result of a tool call in a request.
type Appended struct {
	Part string `json:"part"`
	Text string `json:"text"`
}

// A HookPoint is a point at which an agent asks a question.
type HookPoint string

// The hook points.
const (
	HookPrompt  HookPoint = "" // before the agent reads the session for a new prompt
	HookTool    HookPoint = "tool.execute.before"
	HookRequest HookPoint = "experimental.chat.messages.transform"
)

// A Reply is the answer to a [Question].
type Reply struct {
	Repair string     // the id of the repair if the store was changed
	Model  *Model     // the model to which the prompt is to be sent instead of its own
	Refuse string     // the reason why the tool must not run, with [HookTool]
	Append []Appended // with [HookRequest]
}
