package sessionfile

import (
	"bytes"

	"mend/change"
)

// Apply returns the content of a session's file after changes. A redo, which writes an older line again, may order
// the added lines differently.
func Apply(data []byte, changes []change.Op) []byte {
	for _, op := range changes {
		switch {
		case op.Ref.Kind == change.KindSession && op.Post != nil:
			data = op.Post.Data
		case op.Ref.Kind != change.KindMessage:
		case op.Pre == nil && op.Post != nil:
			data = append(bytes.TrimSuffix(bytes.Clone(data), []byte("\n")), "\n"+string(op.Post.Data)+"\n"...)
		case op.Pre != nil:
			line := append(bytes.Clone(op.Pre.Data), '\n')
			if at := bytes.LastIndex(data, line); at >= 0 {
				rest := data[at+len(line):]
				data = bytes.Clone(data[:at])
				if op.Post != nil {
					data = append(append(data, op.Post.Data...), '\n')
				}
				data = append(data, rest...)
			}
		}
	}
	return data
}
