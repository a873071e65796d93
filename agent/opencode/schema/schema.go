// Package schema describes the records of OpenCode: the one table of the fields that a
// message, a part, a session and a project have, with the type of each, whether a record
// needs it, and the source of a missing value. Newer versions of OpenCode validate a record
// before they show it, and an invalid one hides the whole session.
//
// Two things are derived from the table: which records are invalid ([CheckMessage],
// [CheckPart], [SessionFaults], [ProjectFaults]), and how a record is completed
// ([Complete]). Fields that are not in the table are kept.
//
// The table is that of 1.18.33, observed on the running program field by field; where
// older versions differ, it says so. Messages and parts have the same fields in a file
// and in a row, except for their ids.
package schema

import (
	"strings"

	"mend/agent/opencode/js"
)

// CheckMessage returns why 1.18.33 cannot show a message with this id and this content,
// or "" if it can. The id is an argument because in a database it is a column.
func CheckMessage(id string, v js.Value) string { return check("msg", id, &Message, v) }

// CheckPart is CheckMessage for a part.
func CheckPart(id string, v js.Value) string { return check("prt", id, &Part, v) }

// IsUnknown reports whether a check has failed because of a kind that the table does not have: a version to come may have it.
func IsUnknown(why string) bool {
	return strings.HasSuffix(why, isUnknown) || strings.Contains(why, isNotOneOf)
}

// check returns why a record with this id and this content is invalid, or "".
func check(prefix, id string, t *Type, v js.Value) string {
	if why := checkPrefix(id, prefix); why != "" {
		return "id" + why
	}
	return strings.TrimPrefix(strings.TrimSpace(t.Check(v)), ".")
}
