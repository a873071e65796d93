package schema

import (
	"bytes"
	"path"
	"slices"

	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/jsonedit"
)

// A Fault is an invalid value in the record of a session or a project.
type Fault struct {
	Field string // the column of a row, or the path of a member of a file
	Why   string // the end of a sentence that starts with Field

	// BlocksPrompts reports whether a prompt fails. Otherwise only the list of sessions and the session's
	// page fail.
	BlocksPrompts bool
}

// String returns the fault as a part of a sentence.
func (f Fault) String() string { return f.Field + f.Why }

// SessionFaults returns the invalid values of the session's own record. strict means a version that
// validates records.
func SessionFaults(s *record.Session, strict bool) []Fault {
	switch {
	case s.Info.Ref.Kind == 0 || s.Info.IsMalformed():
		return nil
	case !s.Info.IsRow():
		return sessionFileFaults(s)
	}
	all := columnFaults(&s.Info, SessionRow, strict, func(c *field, t *fieldType, v js.Value) string {
		switch {
		case !strict, !v.Exists() && c.need == optional, c.json && v.Kind() == 'n', c.falsy && !v.Truthy():
			return ""
		case !v.Exists():
			return " is missing"
		}
		return t.check(v)
	})
	const workspace = "workspace_id"
	if s.WorkspaceFault != "" && strict && !slices.ContainsFunc(all, func(f Fault) bool { return f.Field == workspace }) {
		all = append(all, Fault{workspace, s.WorkspaceFault, true})
	}
	return all
}

// ProjectFaults returns the invalid values of the session's project. With any of them OpenCode does not
// start in a folder of the project. strict means a version that validates records.
func ProjectFaults(s *record.Session, strict bool) []Fault {
	if s.ProjectRow.Ref.Kind != 0 && !s.ProjectRow.IsRow() {
		return projectFileFaults(&s.ProjectRow)
	}
	return columnFaults(&s.ProjectRow, ProjectRow, strict, func(c *field, t *fieldType, v js.Value) string {
		if !v.Exists() && c.need == optional || c.falsy && !v.Truthy() {
			return ""
		}
		return t.check(v)
	})
}

// columnFaults returns the faults of a row, at most one for each column. A column has a fault if the version, strict or
// not, cannot parse it, or if mismatch returns a reason for one of the types that it must have.
func columnFaults(
	r *change.Record, shape string, strict bool, mismatch func(*field, *fieldType, js.Value) string,
) (all []Fault) {
	for i := range shapes()[shape].fields {
		c := &shapes()[shape].fields[i]
		col, ok := r.Col(c.name)
		if !ok {
			continue
		}
		v, ok := js.ParseColumn(col, c.json)
		for _, check := range c.checks {
			if !strict && !check.always {
				continue
			}
			why, blocksPrompts := " is not JSON", true
			if ok {
				why, blocksPrompts = mismatch(c, &check.fieldType, v), !check.list
			}
			if why != "" {
				all = append(all, Fault{c.name, why, blocksPrompts})
				break
			}
		}
	}
	return all
}

// Default returns the column of a row without its value: NULL if it may be NULL, or else the value of its
// source or a neutral value.
func Default(shape, column string, x Context) change.Col {
	fields := shapes()[shape].fields
	f := &fields[slices.IndexFunc(fields, func(f field) bool { return f.name == column })]
	raw := (&completion{Context: x}).fill(f)
	n, isInt := js.Parse(raw).Int()
	switch {
	case raw == nil:
		return change.Col{Name: column, Class: change.ClassNull}
	case raw[0] == '"':
		return change.TextCol(column, jsonedit.Unquote(raw))
	case f.json:
		return change.TextCol(column, string(raw))
	case isInt && !bytes.Contains(raw, []byte(".")):
		return change.IntCol(column, n)
	}
	return change.RealCol(column, js.Parse(raw).Number())
}

// sessionFileFaults is SessionFaults for a file. 1.1.53 needs only the object with the time of the last change, which
// it sets.
func sessionFileFaults(s *record.Session) []Fault {
	v := js.Parse(bytes.TrimPrefix(s.Info.Data, []byte("\ufeff"))).Get("time")
	switch {
	case v.Kind() == '{' || v.Kind() == '[':
		return nil
	case !v.Exists():
		return []Fault{{"time", " is missing", true}}
	}
	return []Fault{{"time", " is not an object", true}}
}

// projectFileFaults is ProjectFaults for a file. 1.1.53 must be able to parse it, and replaces a falsy
// value.
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
	// The id is used as the name of a folder.
	if id, ok := v.Get("id").Text(); !ok || path.Join("/", id) != "/"+r.Ref.Project {
		all = append(all, Fault{"id", " is not the id of the project", true})
	}
	if list := v.Get("sandboxes"); list.Truthy() && list.Kind() != '[' {
		all = append(all, Fault{"sandboxes", " is not a list", true})
	}
	return all
}
