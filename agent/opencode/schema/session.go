package schema

import (
	"bytes"
	"slices"
	"strings"

	"mend/agent/opencode/js"
	"mend/session"
)

// A column is a column of a session's or a project's row. A name may have several rows:
// the value must be valid for each of them.
type column struct {
	name string
	is   valueType
	json bool // every version that has the column parses it

	required    bool // versions that validate records need a value
	falseIsNull bool // a falsy value counts as NULL
	listOnly    bool // an invalid value breaks only the list of sessions
	always      bool // versions that do not validate records also use it
}

// sessionColumns are the columns of a session's row. They were observed one by one
// (internal/opencode, TestSessionRow).
var sessionColumns = []column{
	{name: "id", required: true, is: sessionID},
	{name: "workspace_id", is: workspaceID},
	{name: "parent_id", is: sessionID},
	{name: "slug", required: true, is: text},
	{name: "directory", required: true, is: directory},
	{name: "path", is: text},
	{name: "title", required: true, is: text},
	{name: "version", required: true, is: text},
	{name: "share_url", is: text},
	{name: "summary_diffs", json: true, always: true, is: list{sessionDiffType}},
	{name: "metadata", json: true, is: object{}},
	{name: "revert", json: true, falseIsNull: true, always: true, is: object{required("messageID", messageID), optional("partID", partID)}},
	{name: "revert", json: true, falseIsNull: true, is: object{optional("snapshot", text), optional("diff", text)}, listOnly: true},
	{name: "permission", json: true, falseIsNull: true, always: true, is: list{permissionType}},
	{name: "agent", is: text, listOnly: true},
	{name: "model", json: true, falseIsNull: true, is: object{required("id", nonEmptyText), required("providerID", nonEmptyText)}},
	{name: "model", json: true, falseIsNull: true, is: object{optional("variant", text)}, listOnly: true},
	{name: "time_created", required: true, is: count},
	{name: "time_updated", required: true, is: count, listOnly: true},
	{name: "time_compacting", is: count},
	{name: "time_archived", is: number},
	{name: "summary_additions", is: number},
	{name: "summary_deletions", is: number},
	{name: "summary_files", is: number},
	{name: "cost", required: true, is: number},
	{name: "tokens_input", required: true, is: number},
	{name: "tokens_output", required: true, is: number},
	{name: "tokens_reasoning", required: true, is: number},
	{name: "tokens_cache_read", required: true, is: number},
	{name: "tokens_cache_write", required: true, is: number},
}

var sessionDiffType = object{
	optional("file", text), optional("patch", text), required("additions", finite), required("deletions", finite),
	optional("status", enum{"added", "deleted", "modified"}),
}

var permissionType = object{required("permission", text), required("pattern", text), required("action", enum{"allow", "deny", "ask"})}

// A Fault is an invalid value of a session's or a project's record.
type Fault struct {
	Field string // the column of a row, or the path of a member of a file
	Why   string // the end of a sentence that starts with Field

	// BlocksPrompts reports whether a prompt fails. Otherwise only the list of sessions
	// and the session's page fail.
	BlocksPrompts bool
}

// String returns the fault as a part of a sentence.
func (f Fault) String() string { return f.Field + f.Why }

// faults are the faults of a record, one for each field.
type faults []Fault

func (all *faults) add(field, why string, blocksPrompts bool) {
	if !slices.ContainsFunc(*all, func(f Fault) bool { return f.Field == field }) {
		*all = append(*all, Fault{field, why, blocksPrompts})
	}
}

// SessionFaults returns the invalid values of the session's own record, for versions
// that validate records or for those that do not.
func SessionFaults(s *session.Session, strict bool) []Fault {
	switch {
	case s.Info.Ref.Kind == 0 || s.Info.Malformed():
		return nil
	case s.Info.Cols == nil:
		return sessionFileFaults(s)
	}
	var all faults
	for _, want := range sessionColumns {
		c, has := s.Info.Col(want.name)
		if !has || !strict && !want.always {
			continue
		}
		v, ok := js.ParseColumn(c, want.json)
		switch {
		case !ok:
			all.add(want.name, " is no JSON", true)
		case !strict, !v.Exists() && !want.required, want.json && v.Kind() == 'n', want.falseIsNull && !v.Truthy():
		case !v.Exists():
			all.add(want.name, " is missing", true)
		default:
			if why := want.is.mismatch(v); why != "" {
				all.add(want.name, why, !want.listOnly)
			}
		}
	}
	if s.WorkspaceMissing && strict {
		all.add("workspace_id", " names a workspace that the database does not have", true)
	}
	return all
}

// sessionFileFaults is SessionFaults for a file. 1.1.53 needs only an object to put the
// time of the last change into.
func sessionFileFaults(s *session.Session) []Fault {
	v := js.Parse(bytes.TrimPrefix(s.Info.Data, []byte("\ufeff"))).Get("time")
	switch {
	case v.Kind() == '{' || v.Kind() == '[':
		return nil
	case !v.Exists():
		return []Fault{{"time", " is missing", true}}
	}
	return []Fault{{"time", " is no object", true}}
}

// IsJSONColumn reports whether OpenCode parses the column of a session's or a project's
// row as JSON.
func IsJSONColumn(name string) bool {
	isJSON := func(c column) bool { return c.name == name && c.json }
	return slices.ContainsFunc(sessionColumns, isJSON) || slices.ContainsFunc(projectColumns, isJSON)
}

// IsAbsolute reports whether the path is absolute on the system that it comes from.
func IsAbsolute(path string) bool {
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\\`) || len(path) > 2 && path[1] == ':'
}
