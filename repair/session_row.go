package repair

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mend/agent/opencode/render"
	"mend/agent/opencode/schema"
	"mend/jsonedit"
	"mend/session"
)

// rowVersion is the first version whose sessions were rows: what a session is
// taken for whose row does not say which version made it.
const rowVersion = "1.2.0"

// sessionRowFixes make the columns of the session's row that the agent cannot use
// ones that it can: those that hold the right thing in another storage class keep
// it, those that may be NULL become NULL, and the rest is taken from the messages.
// What the agent can use stays as it is.
func sessionRowFixes(k *known) []fix {
	s := k.s
	var names []string
	for _, f := range schema.SessionFaults(s, render.ProfileFor("").Strict) {
		names = append(names, f.Field)
	}
	row, c, ok := completeRow(k, s.Info, names, rowSlots(s))
	if !ok {
		return nil
	}
	cure, loses := c.describe()
	if slices.Contains(c.lost, "revert") {
		loses += " The session is then not reverted any more: the messages that were to go stay."
	}
	if slices.ContainsFunc(c.lost, func(path string) bool { return within(path, "permission") }) {
		loses += " Rules that the session had for itself alone are gone: the agent's own settings hold."
	}
	return []fix{{cure: cure, loses: loses, whole: true, edit: func(d *draft) error {
		d.s.Info = row
		d.s.WorkspaceMissing = d.s.WorkspaceMissing && !slices.Contains(names, "workspace_id")
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
	}}}
}

// projectRowFixes do the same to the row of the session's project, or to its file.
func projectRowFixes(k *known, _ fault) []fix {
	s := k.s
	if s.ProjectRow.Cols == nil {
		return projectFileFixes(k)
	}
	var names []string
	for _, f := range schema.ProjectFaults(s, render.ProfileFor("").Strict) {
		names = append(names, f.Field)
	}
	folder := func(gap) []byte { return jsonedit.Quote(s.Directory) }
	if s.ProjectRow.Ref.Project == "global" {
		folder = always(`"/"`)
	}
	row, c, ok := completeRow(k, s.ProjectRow, names, []slot{
		need("worktree", func(g gap, raw []byte) ([]byte, bool) {
			to, ok := aFolder(g, raw)
			return to, ok && len(raw) > 2
		}, folder),
		may("vcs", oneWord("git")), need("sandboxes", aList(exactText), always("[]")), may("commands", anObject),
	})
	if !ok {
		return nil
	}
	cure, loses := c.describe()
	return []fix{{cure: "Of the project's row: " + cure, loses: loses, whole: true, edit: func(d *draft) error {
		d.s.ProjectRow = row
		return nil
	}}}
}

// projectFileFixes make the file of the session's project one that the agent can start
// with: it writes the rest of what belongs there itself.
func projectFileFixes(k *known) []fix {
	s := k.s
	if s.ProjectRow.Unreadable() {
		return nil
	}
	id := jsonedit.Quote(s.ProjectRow.Ref.Project)
	isID := func(_ gap, raw []byte) ([]byte, bool) { return id, bytes.Equal(raw, id) }
	slots := []slot{need("id", isID, always(string(id))), may("sandboxes", aList(exactText))}
	data, loses := bytes.TrimPrefix(s.ProjectRow.Data, []byte("\ufeff")), ""
	if jsonedit.Parse(data).Kind() != '{' {
		data, loses = []byte("{}"), "What the file held."
	}
	data, c, err := gap{s: s, m: &session.Message{Record: s.ProjectRow}, known: k}.complete(data, slots)
	if err != nil {
		return nil
	}
	cure, lost := c.describe()
	return []fix{{cure: "Of the project's file: " + cure, loses: cmp.Or(loses, lost), whole: true, edit: func(d *draft) error {
		d.s.ProjectRow = with(s.ProjectRow, data)
		return nil
	}}}
}

// completeRow is the row with the columns of these names as the slots want them,
// and what that took.
func completeRow(k *known, row session.Record, names []string, slots []slot) (session.Record, changes, bool) {
	data, lost := rowJSON(&row, names)
	slots = slices.DeleteFunc(slots, func(sl slot) bool { return !slices.Contains(names, sl.path) })
	after, c, err := gap{s: k.s, m: &session.Message{Record: row}, known: k}.complete(data, slots)
	if err != nil || len(slots) == 0 {
		return row, c, false
	}
	for _, name := range names {
		raw, has := jsonedit.Get(after, name)
		row = row.WithCol(columnOf(name, raw, has))
	}
	for _, name := range lost {
		if !slices.Contains(c.lost, name) {
			c.lost = append(c.lost, name)
		}
	}
	c.filled = slices.DeleteFunc(c.filled, func(name string) bool { return slices.Contains(lost, name) })
	for _, name := range names { // the same text in another storage class
		if !slices.Contains(slices.Concat(c.filled, c.altered), name) && !slices.ContainsFunc(c.lost, func(path string) bool { return within(path, name) }) {
			c.altered = append(c.altered, name)
		}
	}
	return row, c, true
}

// within reports whether the path is that name, or leads below it.
func within(path, name string) bool { return path == name || strings.HasPrefix(path, name+".") }

// rowJSON is an object of what can be read in columns of the row. lost are those
// that hold something that cannot.
func rowJSON(r *session.Record, names []string) (data []byte, lost []string) {
	data = []byte("{}")
	for _, name := range names {
		c, _ := r.Col(name)
		var raw []byte
		switch isJSON := schema.IsJSONColumn(name); {
		case c.Class == session.ClassNull:
			continue
		case (c.Class == session.ClassText || c.Class == session.ClassBlob) && utf8.Valid(c.Bytes):
			if raw = jsonedit.Quote(string(c.Bytes)); isJSON {
				raw = bytes.TrimSpace(c.Bytes)
			}
		case c.Class == session.ClassInteger, c.Class == session.ClassReal:
			raw = []byte(c.JavaScript())
		}
		if len(raw) == 0 || jsonedit.Parse(raw).Kind() == 0 {
			lost = append(lost, name)
			continue
		}
		data, _ = jsonedit.Set(data, raw, name) // an object, and a name of no dots
	}
	return data, lost
}

// columnOf is the column with a JSON value.
func columnOf(name string, raw []byte, has bool) session.Col {
	switch {
	case !has:
		return session.Col{Name: name, Class: session.ClassNull}
	case schema.IsJSONColumn(name):
		return session.TextCol(name, string(raw))
	case raw[0] == '"':
		return session.TextCol(name, jsonedit.Unquote(raw))
	case name == "cost": // the only column of type REAL, which holds no integer
		f, _ := strconv.ParseFloat(string(raw), 64)
		return session.RealCol(name, f)
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return session.IntCol(name, int64(f))
	}
	return session.RealCol(name, f)
}

func rowSlots(s *session.Session) []slot {
	told := func(v string) func(gap) []byte { return func(gap) []byte { return jsonedit.Quote(v) } }
	number := func(v int64) func(gap) []byte {
		return func(gap) []byte { return strconv.AppendInt(nil, v, 10) }
	}
	created, updated := sessionTimes(s)
	workspace := idOf("wrk")
	if s.WorkspaceMissing {
		workspace = func(gap, []byte) ([]byte, bool) { return nil, false }
	}
	rule := intact(alike(need("permission", exactText, unknown), need("pattern", exactText, unknown), need("action", oneWord("allow", "deny", "ask"), unknown)))
	change := completed(alike(need("additions", aFinite, unknown), need("deletions", aFinite, unknown),
		may("file", exactText), may("patch", exactText), may("status", oneWord("added", "deleted", "modified"))))
	slots := []slot{
		may("workspace_id", workspace), may("parent_id", idOf("ses")),
		need("slug", exactText, told("recovered")),
		need("directory", aFolder, gap.folderOfMessages),
		may("path", exactText),
		need("title", exactText, told("Recovered session")),
		need("version", exactText, told(rowVersion)),
		may("share_url", exactText),
		may("summary_additions", aNumber), may("summary_deletions", aNumber), may("summary_files", aNumber),
		may("summary_diffs", aList(change)), may("metadata", anObject), may("revert", aRevert),
		may("permission", aList(rule)), may("agent", exactText),
		may("model", completed(alike(need("id", aName, unknown), need("providerID", aName, unknown), may("variant", exactText)))),
		need("time_created", aCount, number(created)), need("time_updated", aCount, number(updated)),
		may("time_compacting", aCount), may("time_archived", aNumber),
		need("cost", aNumber, total("cost")),
	}
	for name, path := range map[string][]string{
		"input": {"input"}, "output": {"output"}, "reasoning": {"reasoning"}, "cache_read": {"cache", "read"}, "cache_write": {"cache", "write"},
	} {
		slots = append(slots, need("tokens_"+name, aNumber, total(append([]string{"tokens"}, path...)...)))
	}
	return slots
}

// oneWord is one of some words.
func oneWord(words ...string) fit {
	return func(_ gap, raw []byte) ([]byte, bool) {
		s, ok := unquoted(raw)
		return raw, ok && slices.Contains(words, s)
	}
}

// aFinite is a number that JavaScript does not take for an infinite one.
func aFinite(g gap, raw []byte) ([]byte, bool) {
	n, ok := aNumber(g, raw)
	_, err := strconv.ParseFloat(string(n), 64)
	return n, ok && err == nil
}

// aFolder is a path that does not depend on where the agent was started.
func aFolder(_ gap, raw []byte) ([]byte, bool) {
	s, ok := unquoted(raw)
	return raw, ok && (s == "" || schema.IsAbsolute(s))
}

// aRevert is a revert as it is, but for what only describes it: half a revert would
// be another one.
func aRevert(g gap, raw []byte) ([]byte, bool) {
	if _, ok := intact(alike(need("messageID", idOf("msg"), unknown), may("partID", idOf("prt"))))(g, raw); !ok {
		return nil, false
	}
	return g.completedBy(raw, []slot{may("snapshot", exactText), may("diff", exactText)})
}

// folderOfMessages is where the agent worked, by what messages say; "", for which
// the agent takes the folder that it was started in, if none says.
func (g gap) folderOfMessages() []byte {
	cwd := g.sibling(session.RoleAssistant, "path", "cwd")
	if _, ok := aFolder(g, first(cwd, []byte(`""`))); !ok || cwd == nil {
		return []byte(`""`)
	}
	return cwd
}

// total fills in the sum of the numbers at path of all messages.
func total(path ...string) func(gap) []byte {
	return func(g gap) []byte {
		sum := 0.0
		for i := range g.s.Messages {
			raw, _ := jsonedit.Get(g.s.Messages[i].Data, path...)
			if n, err := strconv.ParseFloat(string(raw), 64); err == nil {
				sum += n
			}
		}
		return strconv.AppendFloat(nil, sum, 'f', -1, 64)
	}
}

// projectFixes move the session to the project that has its directory.
func projectFixes(s *session.Session, _ fault) []fix {
	if s.Home == "" {
		return nil
	}
	return []fix{{
		cure:  "The session goes to the project " + s.Home + ", which has its directory.",
		loses: "The id of the project that it belonged to.",
		whole: true,
		edit: func(d *draft) error {
			d.s.Info = d.s.Info.WithCol(session.TextCol("project_id", d.s.Home))
			d.s.Project, d.s.ProjectMissing = d.s.Home, false
			return nil
		},
	}}
}
