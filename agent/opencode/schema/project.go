package schema

import (
	"bytes"
	"path"

	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/change"
)

// ProjectFaults returns the invalid values of the session's project. With any of them
// OpenCode does not start in a folder of the project. strict means a version that validates
// records.
func ProjectFaults(s *record.Session, strict bool) []Fault {
	if s.ProjectRow.Ref.Kind != 0 && !s.ProjectRow.IsRow() {
		return projectFileFaults(&s.ProjectRow)
	}
	var all faults
	all.addColumns(&s.ProjectRow, ProjectRow, strict, func(c *Column, t *Type, v js.Value) string {
		if !v.Exists() && c.Need == Optional || c.FalseIsNull && !v.Truthy() {
			return ""
		}
		return t.Check(v)
	})
	return all
}

// projectFileFaults is ProjectFaults for a file. 1.1.53 must be able to parse it, and
// replaces a falsy value.
func projectFileFaults(r *change.Record) []Fault {
	if r.Unreadable() {
		return []Fault{{"", r.Defect.Why, true}}
	}
	v := js.Parse(bytes.TrimPrefix(r.Data, []byte("\ufeff")))
	if !v.Truthy() {
		return nil
	}
	if v.Kind() != '{' {
		return []Fault{{"", "it is not an object", true}}
	}
	var all []Fault
	if id, ok := v.Get("id").Text(); !ok || path.Join("/", id) != "/"+r.Ref.Project { // the id is used as the name of a folder
		all = append(all, Fault{"id", " is not that of the project", true})
	}
	if list := v.Get("sandboxes"); list.Truthy() && list.Kind() != '[' {
		all = append(all, Fault{"sandboxes", " is not a list", true})
	}
	return all
}
