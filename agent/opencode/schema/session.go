package schema

import (
	"bytes"
	"slices"

	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/change"
)

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

// faults has the faults of a record, one for each field.
type faults []Fault

func (all *faults) add(field, why string, blocksPrompts bool) {
	if !slices.ContainsFunc(*all, func(f Fault) bool { return f.Field == field }) {
		*all = append(*all, Fault{field, why, blocksPrompts})
	}
}

// addColumns adds the faults of a row: the columns of the table that strict or other versions
// cannot parse, and those for which mismatch, given one of the types that they need the
// value to be, returns a reason.
func (all *faults) addColumns(r *change.Record, table []Column, strict bool, mismatch func(*Column, *Type, js.Value) string) {
	for i := range table {
		c := &table[i]
		col, has := r.Col(c.Name)
		if !has {
			continue
		}
		v, ok := js.ParseColumn(col, c.JSON)
		for _, check := range c.checks() {
			if !strict && !check.Always {
				continue
			}
			why, blocksPrompts := " is not JSON", true
			if ok {
				why, blocksPrompts = mismatch(c, &check.Type, v), !check.ListOnly
			}
			if why != "" {
				all.add(c.Name, why, blocksPrompts)
			}
		}
	}
}

// SessionFaults returns the invalid values of the session's own record. strict means a
// version that validates records.
func SessionFaults(s *record.Session, strict bool) []Fault {
	switch {
	case s.Info.Ref.Kind == 0 || s.Info.Malformed():
		return nil
	case !s.Info.IsRow():
		return sessionFileFaults(s)
	}
	var all faults
	all.addColumns(&s.Info, SessionRow, strict, func(c *Column, t *Type, v js.Value) string {
		switch {
		case !strict, !v.Exists() && c.Need == Optional, c.JSON && v.Kind() == 'n', c.FalseIsNull && !v.Truthy():
			return ""
		case !v.Exists():
			return " is missing"
		}
		return t.Check(v)
	})
	if s.WorkspaceFault != "" && strict {
		all.add("workspace_id", s.WorkspaceFault, true)
	}
	return all
}

// sessionFileFaults is SessionFaults for a file. 1.1.53 needs only the object in which it
// sets the time of the last change.
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

// IsJSONColumn reports whether OpenCode parses the column of a session's or a project's
// row as JSON.
func IsJSONColumn(name string) bool {
	isJSON := func(c Column) bool { return c.Name == name && c.JSON }
	return slices.ContainsFunc(SessionRow, isJSON) || slices.ContainsFunc(ProjectRow, isJSON)
}
