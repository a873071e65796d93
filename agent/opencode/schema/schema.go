// Package schema describes the records of OpenCode: which fields a message, a part, a
// session and a project have, and of which type. From some version on OpenCode validates
// a record before it shows it, and an invalid one hides the whole session.
//
// The tables are those of 1.18.33, observed on the running program field by field; where
// older versions differ, they say so. Messages and parts have the same fields in a file
// and in a row, except for their ids.
package schema

import (
	"strings"

	"mend/agent/opencode/js"
)

// check returns why a record with this id and this content is invalid, or "".
func check(prefix id, recordID string, t valueType, v js.Value) string {
	if why := prefix.mismatchText(recordID); why != "" {
		return "id" + why
	}
	return strings.TrimPrefix(strings.TrimSpace(t.mismatch(v)), ".")
}
