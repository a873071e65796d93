package render

import (
	"mend/change"
	"mend/internal/request"
)

// subtaskResult stands for the result of a subtask that the agent runs before it answers.
const subtaskResult = "(the result of the subtask)"

// subtaskMessages returns the messages that the subtask of m adds to the request: a call without
// thinking, and its result.
func subtaskMessages(m *message) []draftMessage {
	call := request.Block{
		Type: request.ToolUse, ToolID: "subtask", ToolName: "task", Input: []byte("{}"),
		Source: &m.task.Ref,
	}
	result := textResult([]byte(`"`+subtaskResult+`"`), false)
	result.Type, result.ToolID, result.ToolName, result.Source = request.ToolResult, call.ToolID, call.ToolName,
		call.Source
	all := []draftMessage{
		{role: change.RoleAssistant, source: &m.Ref, blocks: []draftBlock{{Block: &call}}},
		{role: change.RoleUser, source: &m.Ref, blocks: []draftBlock{{Block: &result}}},
	}
	if m.task.JSON.Get("command").Truthy() {
		next := request.Block{
			Type: request.Text, Text: "Summarize the task tool output above and continue with your task.",
			Source: call.Source,
		}
		all = append(all, draftMessage{role: change.RoleUser, source: &m.Ref, blocks: []draftBlock{{Block: &next}}})
	}
	return all
}
