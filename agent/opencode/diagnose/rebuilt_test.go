package diagnose

import (
	"mend/agent/opencode/record"
	"mend/change"
)

// rebuiltMessage returns the message with other data and the same parts.
func rebuiltMessage(m *record.Message, data string) record.Message {
	n := record.NewMessage(change.Record{Ref: m.Ref, Data: []byte(data), Mode: m.Mode})
	n.Parts = m.Parts
	return n
}
