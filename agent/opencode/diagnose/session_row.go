package diagnose

import (
	"bytes"
	"cmp"
	"slices"

	"mend/agent/opencode/record"
	"mend/agent/opencode/schema"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/repair"
)

// sessionInfoFixes returns the fix of the session's own record. A file that cannot be parsed, or lacks a
// field that the agent needs, is rebuilt from its readable data and from the messages.
func sessionInfoFixes(c *simulation, _ finding) []repair.Fix {
	s := c.s
	x := schema.Context{Project: cmp.Or(s.Info.Ref.Project, s.Project), Folder: cmp.Or(c.workFolder(), s.Directory)}
	x.Time, x.Updated = sessionTimes(s)
	switch {
	case s.Info.Ref.Kind != change.KindSession || s.Info.Unreadable():
		return nil
	case s.Info.IsRow():
		if !schema.IsAbsolute(x.Folder) || c.env.Folder(x.Folder) != "" {
			x.Folder = "" // the agent then uses the folder that it was started in
		}
		return rowFixes(s, x)
	}
	r, v := record.Salvage(s.Info)
	data, shape := r.Data, schema.SessionTimes // the agent accepts any value in the other fields
	text, loses := "Extra bytes around it are removed.", ""
	if x.Cut = !v.Complete; x.Cut {
		shape, text, loses = schema.SessionFile, "The session's own data is rebuilt from what can be read and from its "+
			"messages.", "Other fields of the session, such as settings. "+losesRules
		// Part of a member, such as of a revert, could have another meaning.
		if len(v.Cut) > 0 && v.Cut[0] != "title" && v.Cut[0] != "time" {
			data, _ = jsonedit.Remove(data, v.Cut[0])
		}
	}
	data, filled, err := schema.Complete(data, shape, x)
	if err != nil || bytes.Equal(data, s.Info.Data) {
		return nil
	}
	if v.Complete && len(filled) > 0 {
		text = describeFilled(filled)
	}
	return infoFix(text, loses, func(change.Record) (change.Record, error) { return withData(r, data), nil })
}

const losesRules = "If permission rules are among them, OpenCode's own settings apply instead, and may allow what a " +
	"lost rule denied."

// rowFixes returns the fix of the columns that the agent cannot use. Each becomes NULL; a column that must not be NULL
// gets a value from the messages or a neutral value. All other columns stay unchanged.
func rowFixes(s *record.Session, x schema.Context) []repair.Fix {
	row := s.Info
	var names []string
	for _, f := range schema.SessionFaults(s, true) {
		if f.Field == "id" {
			return nil // other records name it
		}
		names = append(names, f.Field)
		row = row.WithCol(schema.Default(schema.SessionRow, f.Field, x))
	}
	if len(names) == 0 {
		return nil
	}
	loses := "The values of " + joinPaths(names) + "."
	if slices.Contains(names, "revert") {
		loses += " The session is then no longer reverted: the messages that the revert would remove stay."
	}
	if slices.Contains(names, "permission") {
		loses += " " + losesRules
	}
	return []repair.Fix{{
		Text: "The columns that OpenCode cannot read are emptied, or get a value from the messages or a neutral " +
			"value: " + joinPaths(names) + ".",
		Loses: loses,
		Edit: draftEdit(func(d *draft) error {
			d.s.SetInfo(row)
			d.s.WorkspaceFault, d.s.InWorkspace = "", d.s.InWorkspace && row.Text("workspace_id") != ""
			return nil
		}),
	}}
}

// sessionTimes returns the times at which the session was created and last changed, from its record and its messages.
func sessionTimes(s *record.Session) (created, updated int64) {
	created, updated = s.Created, s.LatestTime()
	for i := range s.Messages {
		if m := &s.Messages[i]; m.Created > 0 && (created == 0 || m.Created < created) {
			created = m.Created
		}
	}
	return created, updated
}

// unlistedFixes returns the fix that moves the record of the session to the project of its folder.
func unlistedFixes(c *simulation, _ finding) []repair.Fix {
	return c.moveFixes(c.s.Newer, ", to which its folder now belongs.")
}

// moveFixes returns the fix that moves the record of the session to another project. why ends its description.
func (c *simulation) moveFixes(project, why string) []repair.Fix {
	return []repair.Fix{{
		Text:  "The session is moved to the project " + project + why,
		Loses: "The id of its former project.",
		Edit:  draftEdit(func(d *draft) error { return d.moveSession(project) }),
	}}
}

// moveSession moves the record of the session to another project.
func (d *draft) moveSession(project string) error {
	if d.s.Info.IsRow() {
		d.s.SetInfo(d.s.Info.WithCol(change.TextCol("project_id", project)))
		d.s.Newer, d.s.ProjectMissing = "", false
		return nil
	}
	data, err := jsonedit.Set(d.s.Info.Data, jsonedit.Quote(project), "projectID")
	if err != nil {
		return err
	}
	r := withData(d.s.Info, data)
	r.Ref.Project, d.s.Newer = project, ""
	d.s.SetInfo(r)
	return nil
}

// projectFixes returns the fix that moves the session to the project of its directory.
func projectFixes(c *simulation, _ finding) []repair.Fix {
	if c.s.Home == "" {
		return nil
	}
	return c.moveFixes(c.s.Home, ", which has its directory.")
}
