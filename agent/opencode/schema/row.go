package schema

import "mend/jsonedit"

// The sources of values of the session's row that only it has.
const (
	Updated Source = "updated" // when the session changed last
	Folder  Source = "folder"  // in which the agent worked
	Version Source = "version" // of the agent that made the session
	Project Source = "project"
)

// A Column is a column of a session's or a project's row.
type Column struct {
	Field
	JSON        bool // every version that has the column parses it
	FalseIsNull bool // a falsy value counts as NULL
	// Checks are what versions take, one by one; nil for Field.Type, which the versions
	// that validate records take.
	Checks []ColumnCheck
}

// A ColumnCheck is what some versions need a value to be.
type ColumnCheck struct {
	Type     Type
	Always   bool // versions that do not validate records, too
	ListOnly bool // an invalid value breaks only the list of sessions
}

func (c *Column) checks() []ColumnCheck {
	if c.Checks == nil {
		return []ColumnCheck{{Type: c.Type}}
	}
	return c.Checks
}

// rowVersion is the first version whose sessions were rows: what a session is taken for
// whose row does not say which version made it.
const rowVersion = "1.2.0"

// SessionRow are the columns of a session's row. They were observed one by one
// (internal/opencode, TestSessionRow).
var SessionRow = []Column{
	{Field: need("id", id("ses"))},
	{Field: may("workspace_id", id("wrk"))},
	{Field: may("parent_id", id("ses"))},
	{Field: need("slug", exact).or(`"recovered"`)},
	{Field: need("directory", folder).from(Folder)},
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
	{Field: need("cost", number).from(Cost)},
	{Field: need("tokens_input", number).from(Tokens + "input")},
	{Field: need("tokens_output", number).from(Tokens + "output")},
	{Field: need("tokens_reasoning", number).from(Tokens + "reasoning")},
	{Field: need("tokens_cache_read", number).from(Tokens + "cache.read")},
	{Field: need("tokens_cache_write", number).from(Tokens + "cache.write")},
}

// ProjectRow are the columns of a project's row that keep OpenCode from starting in a
// folder of the project.
var ProjectRow = []Column{
	{Field: need("worktree", Type{Kind: Path, Filled: true}).from(Folder)},
	{Field: may("vcs", words("git")), FalseIsNull: true, Checks: []ColumnCheck{{Type: words("git"), Always: true}}},
	{
		Field: need("sandboxes", list(exact)).or("[]"), JSON: true,
		Checks: []ColumnCheck{{Type: list(anything), Always: true}, {Type: list(exact)}},
	},
	{Field: may("commands", object), JSON: true, Checks: []ColumnCheck{{Type: anything, Always: true}}},
}

// SessionFile is the session's own record where it is a file.
var SessionFile = fields(
	need("version", exact).from(Version),
	need("projectID", exact).from(Project),
	need("directory", exact).from(Folder),
	need("title", text).or(`"Recovered session"`),
	need("time", fields(need("created", moment).from(Created), need("updated", moment).from(Updated))).or("{}"),
	may("parentID", exact), may("summary", object), may("share", object), may("revert", object),
)

// SessionTimes are the members of the session's file without which the agent cannot use it.
var SessionTimes = fields(SessionFile.Fields[4])

// ProjectFile returns the members that 1.1.53 needs of the file of the project with that id.
func ProjectFile(project string) *Type {
	return &Type{Kind: Object, Fields: []Field{
		need("id", words(project)).or(string(jsonedit.Quote(project))), may("sandboxes", list(exact)),
	}}
}

// SessionModel is the model in the session's own record.
var SessionModel = fields(need("id", name).at(PlaceModel), need("providerID", name).at(PlaceProvider), may("variant", exact))

var (
	folder = Type{Kind: Path}
	finite = Type{Kind: Finite}

	rule = exactly(fields(need("permission", exact), need("pattern", exact), need("action", words("allow", "deny", "ask"))))
	diff = fields(need("additions", finite), need("deletions", finite), may("file", exact), may("patch", exact), may("status", words("added", "deleted", "modified")))

	revert        = fields(need("messageID", id("msg")), may("partID", id("prt")))
	revertDetails = fields(may("snapshot", exact), may("diff", exact))
)

// convertRevert keeps a revert as it is, but for what only describes it: half a revert
// would be another one.
func convertRevert(c *Completion, raw []byte) ([]byte, bool) {
	if !revert.Is(raw) {
		return nil, false
	}
	return c.Value(raw, &revertDetails)
}

// whole makes the field one that is completed as a whole, or not kept.
func whole(f Field) Field {
	t := f.Type
	f.Convert = func(c *Completion, raw []byte) ([]byte, bool) { return c.Value(raw, &t) }
	return f
}
