package render

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"

	"mend/jsonedit"
	"mend/session"
)

// The codes of what is fatal in the session's own record.
const (
	FatalSession = "session"     // a value that the agent cannot use
	FatalProject = "project"     // it names a project that is not there
	FatalRow     = "project row" // the project's row has a value that the agent cannot use
)

// An InfoFault is a value of the session's own record with which the agent cannot
// list or open the session. It was measured column by column (internal/opencode,
// TestSessionRow).
type InfoFault struct {
	Field string // the column of a row, or the path of a member of a file
	Why   string
	Ends  bool // also a prompt fails; else only the list of sessions and the session's page
}

// String is the fault as a part of a sentence.
func (f InfoFault) String() string { return f.Field + f.Why }

// An infoColumn is a column of the session's row, as the agent takes it.
type infoColumn struct {
	name string
	json bool  // the agent parses it, in every version that has the column
	old  bool  // so did the versions that are not strict
	must bool  // the strict ones need a value
	is   check // what they need it to be
	list bool  // a wrong value only breaks the list
	void bool  // what an if takes for false is as good as NULL
}

// infoColumns are what 1.18.33 takes.
func infoColumns() []infoColumn {
	rule := shape{need("permission", aString), need("pattern", aString), need("action", among("allow", "deny", "ask"))}
	diff := shape{may("file", aString), may("patch", aString), need("additions", aFinite), need("deletions", aFinite), may("status", among("added", "deleted", "modified"))}
	all := []infoColumn{
		{name: "id", must: true, is: idOf("ses")},
		{name: "workspace_id", is: idOf("wrk")},
		{name: "parent_id", is: idOf("ses")},
		{name: "slug", must: true, is: aString},
		{name: "directory", must: true, is: aDirectory},
		{name: "path", is: aString},
		{name: "title", must: true, is: aString},
		{name: "version", must: true, is: aString},
		{name: "share_url", is: aString},
		{name: "summary_diffs", json: true, old: true, is: listOf(diff.check)},
		{name: "metadata", json: true, is: anObject},
		{name: "revert", json: true, void: true, old: true, is: shape{need("messageID", idOf("msg")), may("partID", idOf("prt"))}.check},
		{name: "revert", json: true, void: true, is: shape{may("snapshot", aString), may("diff", aString)}.check, list: true},
		{name: "permission", json: true, void: true, old: true, is: listOf(rule.check)},
		{name: "agent", is: aString, list: true},
		{name: "model", json: true, void: true, is: shape{need("id", aName), need("providerID", aName)}.check},
		{name: "model", json: true, void: true, is: shape{may("variant", aString)}.check, list: true},
		{name: "time_created", must: true, is: aCount},
		{name: "time_updated", must: true, is: aCount, list: true},
		{name: "time_compacting", is: aCount},
		{name: "time_archived", is: aNumber},
	}
	for _, name := range []string{"summary_additions", "summary_deletions", "summary_files"} {
		all = append(all, infoColumn{name: name, is: aNumber})
	}
	for _, name := range []string{"cost", "tokens_input", "tokens_output", "tokens_reasoning", "tokens_cache_read", "tokens_cache_write"} {
		all = append(all, infoColumn{name: name, must: true, is: aNumber})
	}
	return all
}

// InfoFaults lists what the agent cannot use of the session's own record.
func InfoFaults(s *session.Session, p Profile) []InfoFault {
	switch {
	case s.Info.Ref.Kind == 0 || s.Info.Malformed():
		return nil
	case s.Info.Cols == nil:
		return fileFaults(s)
	}
	var all []InfoFault
	add := func(field, why string, ends bool) {
		for _, f := range all {
			if f.Field == field {
				return
			}
		}
		all = append(all, InfoFault{field, why, ends})
	}
	for _, want := range infoColumns() {
		c, has := s.Info.Col(want.name)
		if !has || !p.Strict && !want.old {
			continue
		}
		v, ok := columnValue(c, want.json)
		switch {
		case !ok:
			add(want.name, " is no JSON", true)
		case !p.Strict, !v.there() && !want.must, want.json && v.Kind() == 'n', want.void && !v.truthy():
		case !v.there():
			add(want.name, " is missing", true)
		default:
			if wrong := want.is(v); wrong != "" {
				add(want.name, wrong, !want.list)
			}
		}
	}
	if s.WorkspaceMissing && p.Strict {
		add("workspace_id", " names a workspace that the database does not have", true)
	}
	return all
}

// ProjectFaults lists what the agent cannot use of the row of the session's project:
// it starts in none of the project's folders.
func ProjectFaults(s *session.Session, p Profile) []InfoFault {
	if s.ProjectRow.Ref.Kind != 0 && s.ProjectRow.Cols == nil {
		return projectFileFaults(&s.ProjectRow)
	}
	var all []InfoFault
	for _, want := range projectColumns() {
		c, has := s.ProjectRow.Col(want.name)
		if !has || !p.Strict && !want.old {
			continue
		}
		switch v, ok := columnValue(c, want.json); {
		case !ok:
			all = append(all, InfoFault{want.name, " is no JSON", true})
		case !v.there() && !want.must, want.void && !v.truthy():
		default:
			if wrong := want.is(v); wrong != "" && !slices.ContainsFunc(all, func(f InfoFault) bool { return f.Field == want.name }) {
				all = append(all, InfoFault{want.name, wrong, true})
			}
		}
	}
	return all
}

// projectFileFaults lists the same of a file, with which 1.1.53 starts as soon as it can
// parse it: what it cannot parse, and what an if takes for false, it writes again.
func projectFileFaults(r *session.Record) []InfoFault {
	if r.Unreadable() {
		return []InfoFault{{"", r.Defect.Why, true}}
	}
	v := parse(bytes.TrimPrefix(r.Data, []byte("\ufeff")))
	if !v.truthy() {
		return nil
	}
	if v.Kind() != '{' {
		return []InfoFault{{"", "it is no object", true}}
	}
	var all []InfoFault
	if id, ok := v.get("id").str(); !ok || path.Join("/", id) != "/"+r.Ref.Project { // a name of a folder
		all = append(all, InfoFault{"id", " is not that of the project", true})
	}
	if list := v.get("sandboxes"); list.truthy() && list.Kind() != '[' {
		all = append(all, InfoFault{"sandboxes", " is no list", true})
	}
	return all
}

// projectColumns are what keeps 1.18.33, and with old 1.2.27, from starting in a
// folder of the project.
func projectColumns() []infoColumn {
	anything := func(value) string { return "" }
	return []infoColumn{
		{name: "worktree", must: true, is: aRoot},
		{name: "vcs", old: true, void: true, is: among("git")},
		{name: "sandboxes", json: true, old: true, must: true, is: listOf(anything)},
		{name: "sandboxes", json: true, must: true, is: listOf(aString)},
		{name: "commands", json: true, old: true, is: anything},
	}
}

// aRoot is an absolute path.
func aRoot(v value) string {
	if s, ok := v.str(); ok && s == "" {
		return " is empty"
	}
	return aDirectory(v)
}

// fileFaults lists the same of a file, of which 1.1.53 needs nothing but an object
// to put the time of the last change into.
func fileFaults(s *session.Session) []InfoFault {
	v := parse(bytes.TrimPrefix(s.Info.Data, []byte("\ufeff"))).get("time")
	switch {
	case v.Kind() == '{' || v.Kind() == '[':
		return nil
	case !v.there():
		return []InfoFault{{"time", " is missing", true}}
	}
	return []InfoFault{{"time", " is no object", true}}
}

// IsInfoJSON reports whether the agent parses the column of the session's row, or
// of the project's.
func IsInfoJSON(name string) bool {
	return name == "sandboxes" || name == "commands" || slices.ContainsFunc(infoColumns(), func(c infoColumn) bool { return c.name == name && c.json })
}

// columnValue is what the agent has of a column in JavaScript, as JSON: none for
// NULL, and an array of numbers for a blob. Where the column holds JSON it is what
// JSON.parse makes of that, and ok says whether it makes anything.
func columnValue(c session.Col, isJSON bool) (v value, ok bool) {
	if c.Class == session.ClassNull {
		return value{}, true
	}
	text := c.JavaScript()
	switch {
	case isJSON:
		v = parse([]byte(text))
		return v, v.there()
	case c.Class == session.ClassText:
		text = string(jsonedit.Quote(text))
	case c.Class == session.ClassBlob:
		text = "[" + text + "]"
	}
	return parse([]byte(text)), true
}

// aName is a string that can name something.
func aName(v value) string {
	if s, ok := v.str(); ok && s == "" {
		return " is empty"
	}
	return aString(v)
}

// among is one of some words.
func among(words ...string) check {
	return func(v value) string {
		s, ok := v.str()
		for _, w := range words {
			if ok && s == w {
				return ""
			}
		}
		return " is none of " + strings.Join(words, ", ")
	}
}

// aFinite is a number that JavaScript does not take for an infinite one.
func aFinite(v value) string {
	if _, err := strconv.ParseFloat(string(v.Raw()), 64); err != nil {
		return " is no finite number"
	}
	return aNumber(v)
}

// aDirectory is a path that does not depend on where the agent was started.
func aDirectory(v value) string {
	s, ok := v.str()
	switch {
	case !ok:
		return aString(v)
	case s == "" || IsAbsolute(s):
		return ""
	}
	return " is no absolute path"
}

// IsAbsolute reports whether the path is absolute on the system that it is from.
func IsAbsolute(path string) bool {
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\\`) || len(path) > 2 && path[1] == ':'
}

// infoFatal is what of the session's own record ends the agent before it sends
// anything.
func infoFatal(s *session.Session, p Profile) []Fatal {
	var words []string
	for _, f := range InfoFaults(s, p) {
		if f.Ends {
			words = append(words, f.String())
		}
	}
	var all []Fatal
	if len(words) > 0 {
		all = append(all, Fatal{FatalSession, strings.Join(words, "; "), s.Info.Ref})
	}
	if s.ProjectMissing && p.Strict {
		all = append(all, Fatal{FatalProject, s.Project, s.Info.Ref})
	}
	for _, f := range ProjectFaults(s, p) {
		all = append(all, Fatal{FatalRow, f.String(), s.ProjectRow.Ref})
		break
	}
	return all
}
