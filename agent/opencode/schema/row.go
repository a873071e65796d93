package schema

import "mend/internal/jsonedit"

// A Column is a column of a session's or a project's row.
type Column struct {
	Field
	JSON        bool // versions that have the column parse it as JSON
	FalseIsNull bool // a falsy value counts as NULL
	// Checks are the types that versions accept; nil means Field.Type, checked by the
	// versions that validate records.
	Checks []ColumnCheck
}

// A ColumnCheck is a type that some versions require.
type ColumnCheck struct {
	Type     Type
	Always   bool // also in versions that do not validate records
	ListOnly bool // an invalid value breaks only the list of sessions
}

func (c *Column) checks() []ColumnCheck {
	if c.Checks == nil {
		return []ColumnCheck{{Type: c.Type}}
	}
	return c.Checks
}

// rowVersion is the first version with a database. It is the version of a session whose row
// has none.
const rowVersion = "1.2.0"

// treeVersion is the last version that stored sessions as files. It is that of a file
// without a version.
const treeVersion = "1.1.65"

// SessionRow has the columns of a session's row. They were observed one by one (cmd/mend,
// TestSessionRow).
var SessionRow = []Column{
	{Field: need("id", id("ses"))},
	{Field: may("workspace_id", id("wrk"))},
	{Field: may("parent_id", id("ses"))},
	{Field: need("slug", exact).or(`"recovered"`)},
	{Field: need("directory", folder).from(Folder).or(`""`)},
	{Field: may("path", exact)},
	{Field: need("title", exact).or(`"Recovered session"`)},
	{Field: need("version", exact).or(`"` + rowVersion + `"`)},
	{Field: may("share_url", exact)},
	{Field: may("summary_additions", number)},
	{Field: may("summary_deletions", number)},
	{Field: may("summary_files", number)},
	{Field: may("summary_diffs", list(diff)), JSON: true, Checks: []ColumnCheck{{Type: list(diff), Always: true}}},
	{Field: may("metadata", object), JSON: true},
	{
		Field: Field{Name: "revert", Type: revert, Convert: convertRevert}, JSON: true, FalseIsNull: true,
		Checks: []ColumnCheck{{Type: revert, Always: true}, {Type: revertDetails, ListOnly: true}},
	},
	{Field: may("permission", list(rule)), JSON: true, FalseIsNull: true, Checks: []ColumnCheck{{Type: list(rule), Always: true}}},
	{Field: may("agent", exact), Checks: []ColumnCheck{{Type: exact, ListOnly: true}}},
	{
		Field: whole(may("model", SessionModel)), JSON: true, FalseIsNull: true,
		Checks: []ColumnCheck{{Type: fields(need("id", name), need("providerID", name))}, {Type: fields(may("variant", exact)), ListOnly: true}},
	},
	{Field: need("time_created", count).from(Created)},
	{Field: need("time_updated", count).from(Updated), Checks: []ColumnCheck{{Type: count, ListOnly: true}}},
	{Field: may("time_compacting", count)},
	{Field: may("time_archived", number)},
	{Field: need("cost", number).or("0")},
	{Field: need("tokens_input", number).or("0")},
	{Field: need("tokens_output", number).or("0")},
	{Field: need("tokens_reasoning", number).or("0")},
	{Field: need("tokens_cache_read", number).or("0")},
	{Field: need("tokens_cache_write", number).or("0")},
}

// ProjectRow has the columns of a project's row whose faults keep OpenCode from starting in
// a folder of the project.
var ProjectRow = []Column{
	{Field: need("worktree", Type{Kind: Path, Filled: true}).from(Folder)},
	{Field: may("vcs", words("git")), FalseIsNull: true, Checks: []ColumnCheck{{Type: words("git"), Always: true}}},
	{
		Field: need("sandboxes", list(exact)).or("[]"), JSON: true,
		Checks: []ColumnCheck{{Type: list(anything), Always: true}, {Type: list(exact)}},
	},
	{Field: may("commands", object), JSON: true, Checks: []ColumnCheck{{Type: anything, Always: true}}},
}

// SessionFile is the session's own record if it is a file.
var SessionFile = fields(
	need("version", exact).or(`"`+treeVersion+`"`),
	need("projectID", exact).from(Project).or(`""`),
	need("directory", exact).from(Folder),
	need("title", text).or(`"Recovered session"`),
	need("time", fields(need("created", moment).from(Created), need("updated", moment).from(Updated))).or("{}"),
	may("parentID", exact), may("summary", object), may("share", object), may("revert", object),
)

// SessionTimes has the members of the session's file that the agent needs.
var SessionTimes = fields(SessionFile.Fields[4])

// ProjectFile returns the members that 1.1.53 needs in the file of the project with that id.
func ProjectFile(project string) *Type {
	return &Type{Kind: Object, Fields: []Field{
		need("id", words(project)).or(string(jsonedit.Quote(project))), may("sandboxes", list(exact)),
	}}
}

// SessionModel is the model in the session's own record.
var SessionModel = fields(need("id", name), need("providerID", name), may("variant", exact))

var (
	folder = Type{Kind: Path}
	finite = Type{Kind: Finite}

	rule = exactly(fields(need("permission", exact), need("pattern", exact), need("action", words("allow", "deny", "ask"))))
	diff = fields(need("additions", finite), need("deletions", finite), may("file", exact), may("patch", exact), may("status", words("added", "deleted", "modified")))

	revert        = fields(need("messageID", id("msg")), may("partID", id("prt")))
	revertDetails = fields(may("snapshot", exact), may("diff", exact))
)

// IsPermissionRule reports whether the text is a rule of a session's permissions.
func IsPermissionRule(raw []byte) bool { return rule.valid(raw) }

// convertRevert keeps a revert only if its ids are valid, because half a revert means
// something else. Its details may be removed.
func convertRevert(c *Completion, raw []byte) ([]byte, bool) {
	if !revert.valid(raw) {
		return nil, false
	}
	return c.Value(raw, &revertDetails)
}

// whole returns the field completed as a whole: if it cannot be completed it is removed.
func whole(f Field) Field {
	t := f.Type
	f.Convert = func(c *Completion, raw []byte) ([]byte, bool) { return c.Value(raw, &t) }
	return f
}
