package diagnose

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/agent/opencode/schema"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/repair"
)

// sessionRowFixes returns the fix of the columns of the session's row that the agent
// cannot use. A valid value in another storage class is converted, other values become
// NULL if the column may be NULL, or else get a value from the messages or one that means nothing. All other columns
// stay as they are.
func sessionRowFixes(k *facts) []repair.Fix {
	s := k.s
	var names []string
	for _, f := range schema.SessionFaults(s, true) {
		names = append(names, f.Field)
	}
	created, updated := sessionTimes(s)
	table := schema.SessionRow
	if s.WorkspaceFault != "" {
		table = slices.Clone(table)
		i := slices.IndexFunc(table, func(c schema.Column) bool { return c.Name == "workspace_id" })
		table[i].Convert = func(*schema.Completion, []byte) ([]byte, bool) { return nil, false }
	}
	folder := k.workFolder()
	if !schema.IsAbsolute(folder) || k.folder != nil && k.folder(folder) != "" {
		folder = "" // the agent then uses the folder that it was started in
	}
	row, c, ok := completeRow(s.Info, names, table, schema.Context{Folder: folder, Time: created, Updated: updated})
	if !ok {
		return nil
	}
	text, loses := describeChanges(c)
	if slices.Contains(c.Lost, "revert") {
		loses += " The session is then no longer reverted: the messages that the revert would remove stay."
	}
	if slices.ContainsFunc(c.Lost, func(path string) bool { return within(path, "permission") }) {
		loses += " Permission rules of this session that cannot be read are removed, and with them all rules that allow something; OpenCode's own settings apply instead, and may allow what a lost rule denied."
	}
	return []repair.Fix{{Text: text, Loses: loses, Whole: true, Edit: draftEdit(func(d *draft) error {
		d.s.Info = row
		if slices.Contains(names, "workspace_id") {
			d.s.WorkspaceFault, d.s.InWorkspace = "", false
		}
		str := func(name string) string {
			col, _ := row.Col(name)
			return string(col.Bytes)
		}
		d.s.Directory, d.s.Title, d.s.Version = str("directory"), str("title"), str("version")
		for name, at := range map[string]*int64{"time_created": &d.s.Created, "time_updated": &d.s.Updated} {
			if slices.Contains(names, name) {
				col, _ := row.Col(name)
				*at, _ = col.Int()
			}
		}
		return nil
	})}}
}

// projectRowFixes does the same for the row, or the file, of the session's project.
func projectRowFixes(c *simulation, _ finding) []repair.Fix {
	s := c.s
	if !s.ProjectRow.IsRow() {
		return projectFileFixes(s)
	}
	var names []string
	for _, f := range schema.ProjectFaults(s, true) {
		names = append(names, f.Field)
	}
	folder := s.Directory
	if s.ProjectRow.Ref.Project == record.GlobalProject {
		folder = "/"
	}
	row, changed, ok := completeRow(s.ProjectRow, names, schema.ProjectRow, schema.Context{Folder: folder})
	if !ok {
		return nil
	}
	text, loses := describeChanges(changed)
	return []repair.Fix{{Text: "Project row: " + text, Loses: loses, Whole: true, Edit: draftEdit(func(d *draft) error {
		d.s.ProjectRow = row
		return nil
	})}}
}

// projectFileFixes returns the fix of the file of the session's project. The agent
// itself adds what it does not need to start.
func projectFileFixes(s *record.Session) []repair.Fix {
	if s.ProjectRow.Unreadable() {
		return nil
	}
	data, loses := bytes.TrimPrefix(s.ProjectRow.Data, []byte("\ufeff")), ""
	if jsonedit.Parse(data).Kind() != '{' {
		data, loses = []byte("{}"), "The contents of the file."
	}
	data, c, err := schema.Complete(data, schema.ProjectFile(s.ProjectRow.Ref.Project), schema.Context{})
	if err != nil {
		return nil
	}
	text, lost := describeChanges(c)
	return []repair.Fix{{Text: "Project file: " + text, Loses: cmp.Or(loses, lost), Whole: true, Edit: draftEdit(func(d *draft) error {
		d.s.ProjectRow = with(s.ProjectRow, data)
		return nil
	})}}
}

// completeRow returns the row with valid values in the named columns, and what was
// changed.
func completeRow(row change.Record, names []string, table []schema.Column, x schema.Context) (change.Record, schema.Changes, bool) {
	data, lost := rowJSON(&row, names)
	dropsAllowed := slices.Contains(lost, "permission") || !hasValidRules(data)
	t := schema.Type{Kind: schema.Object}
	for i := range table {
		if f := table[i].Field; f.Name != "id" && slices.Contains(names, f.Name) {
			t.Fields = append(t.Fields, f)
		}
	}
	after, c, err := schema.Complete(data, &t, x)
	if err != nil || len(t.Fields) == 0 {
		return row, c, false
	}
	if dropsAllowed {
		after = dropAllowed(after)
	}
	for _, name := range names {
		raw, has := jsonedit.Get(after, name)
		row = row.WithCol(columnOf(name, raw, has))
	}
	for _, name := range lost {
		if !slices.Contains(c.Lost, name) {
			c.Lost = append(c.Lost, name)
		}
	}
	c.Filled = slices.DeleteFunc(c.Filled, func(name string) bool { return slices.Contains(lost, name) })
	for _, name := range names { // columns of which only the storage class changes
		if !slices.Contains(slices.Concat(c.Filled, c.Altered), name) && !slices.ContainsFunc(c.Lost, func(path string) bool { return within(path, name) }) {
			c.Altered = append(c.Altered, name)
		}
	}
	return row, c, true
}

// hasValidRules reports whether the agent can read all permission rules, if there are any.
func hasValidRules(data []byte) bool {
	rules, _ := jsonedit.Elements(data, "permission")
	return !slices.ContainsFunc(rules, func(raw []byte) bool { return !schema.IsPermissionRule(raw) })
}

// dropAllowed removes the permission rules that allow something. The last rule that matches
// counts, and a lost one may have denied it.
func dropAllowed(data []byte) []byte {
	left, err := jsonedit.RemoveElements(data, func(raw []byte) bool { return textAt(raw, "action") == "allow" }, "permission")
	if err != nil { // there is no list
		return data
	}
	return left
}

// within reports whether the path is that of the member name or of a value in it.
func within(path, name string) bool { return path == name || strings.HasPrefix(path, name+".") }

// rowJSON returns an object with what can be read in the named columns of the row, and
// the names of those with a value that cannot be read in full.
func rowJSON(r *change.Record, names []string) (data []byte, lost []string) {
	data = []byte("{}")
	for _, name := range names {
		c, _ := r.Col(name)
		var raw []byte
		switch isJSON := schema.IsJSONColumn(name); {
		case c.Class == change.ClassNull:
			continue
		case isJSON && (c.Class == change.ClassText || c.Class == change.ClassBlob):
			raw = bytes.TrimSpace(validPrefix(c.Bytes))
		case (c.Class == change.ClassText || c.Class == change.ClassBlob) && utf8.Valid(c.Bytes):
			raw = jsonedit.Quote(string(c.Bytes))
		case c.Class == change.ClassInteger, c.Class == change.ClassReal:
			raw = []byte(js.ColumnString(c))
		}
		if len(raw) == 0 || jsonedit.Parse(raw).Kind() == 0 {
			lost = append(lost, name)
			if raw = jsonedit.ParsePartialList(raw); raw == nil {
				continue
			}
		}
		data, _ = jsonedit.Set(data, raw, name) // cannot fail: data is an object
	}
	return data, lost
}

// validPrefix returns the text up to the first byte that is not UTF-8.
func validPrefix(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	return text[:bytes.IndexRune(text, utf8.RuneError)]
}

// columnOf returns the column with a JSON value, NULL for none.
func columnOf(name string, raw []byte, has bool) change.Col {
	switch {
	case !has:
		return change.Col{Name: name, Class: change.ClassNull}
	case schema.IsJSONColumn(name):
		return change.TextCol(name, string(raw))
	case raw[0] == '"':
		return change.TextCol(name, jsonedit.Unquote(raw))
	case name == "cost": // the only column of type REAL, in which an integer becomes a real
		f, _ := strconv.ParseFloat(string(raw), 64)
		return change.RealCol(name, f)
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return change.IntCol(name, int64(f))
	}
	return change.RealCol(name, f)
}

// unlistedFixes returns the fix that moves the record of the session to the project of its folder: if the
// agent answers no prompt there, and else if the user asks for it.
func unlistedFixes(c *simulation, f finding) []repair.Fix {
	s := c.s
	if !c.request.Restore && (f.Severity != repair.Broken || !c.isUnanswered()) {
		return nil
	}
	return []repair.Fix{{
		Text:  "The session is moved to the project " + s.Newer + ", as which OpenCode uses its folder.",
		Loses: "The id of its former project.",
		Whole: true,
		Edit:  draftEdit(func(d *draft) error { return d.moveSession(s.Newer) }),
	}}
}

// moveSession moves the record of the session to another project.
func (d *draft) moveSession(project string) error {
	if d.s.Info.IsRow() {
		d.s.Info = d.s.Info.WithCol(change.TextCol("project_id", project))
		d.s.Project, d.s.Newer = project, ""
		return nil
	}
	data, err := jsonedit.Set(d.s.Info.Data, jsonedit.Quote(project), "projectID")
	if err != nil {
		return err
	}
	d.s.Info = with(d.s.Info, data)
	d.s.Info.Ref.Project, d.s.Project, d.s.Newer = project, project, ""
	return nil
}

// projectFixes returns the fix that moves the session to the project of its directory.
func projectFixes(c *simulation, _ finding) []repair.Fix {
	s := c.s
	if s.Home == "" {
		return nil
	}
	return []repair.Fix{{
		Text:  "The session is moved to the project " + s.Home + ", which has its directory.",
		Loses: "The id of its former project.",
		Whole: true,
		Edit: draftEdit(func(d *draft) error {
			d.s.Info = d.s.Info.WithCol(change.TextCol("project_id", d.s.Home))
			d.s.Project, d.s.ProjectMissing = d.s.Home, false
			return nil
		}),
	}}
}
