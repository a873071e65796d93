package diagnose

import (
	"strings"

	"mend/agent/opencode/record"
	"mend/change"
)

// rebuiltMessage returns the message with other data and the same parts.
func rebuiltMessage(m *record.Message, data string) record.Message {
	n := record.NewMessage(change.Record{Ref: m.Ref, Data: []byte(data), Mode: m.Mode})
	n.Parts = m.Parts
	return n
}

// complete gives an answer an end time, if it has none.
func complete(m *record.Message) {
	if m.Role == change.RoleAssistant && m.Completed == 0 {
		*m = rebuiltMessage(m, strings.Replace(string(m.Data), `"time":{`, `"time":{"completed":9000,`, 1))
	}
}
