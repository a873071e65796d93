package database

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/jsonedit"
)

// projectFields are the columns of a project, by the path of the field in its JSON file.
var projectFields = map[string]string{
	"id": "id", "worktree": "worktree", "vcs": "vcs", "name": "name", "icon.url": "icon_url",
	"icon.color": "icon_color", "sandboxes": "sandboxes", "commands": "commands", "time.created": "time_created",
	"time.updated": "time_updated", "time.initialized": "time_initialized",
}

// RowsOf returns the rows that OpenCode 1.2 makes from the files of a session when it imports its tree: the project,
// the session, its messages and parts. As in OpenCode, a file that is not a JSON object and a part without its message
// become no row: lost has such messages and parts, each with the reason. A record without a time gets the time of its
// message, or of the session. It returns an error if the session's own file cannot be read.
func (s *Store) RowsOf(ctx context.Context, files []change.Record) (rows []change.Record, lost []string, err error) {
	defaults := map[change.Kind]change.Record{}
	for _, kind := range []change.Kind{change.KindProject, change.KindSession, change.KindMessage, change.KindPart} {
		if defaults[kind], err = s.DefaultRow(ctx, kind); err != nil {
			return nil, nil, err
		}
	}
	created := map[string]int64{}            // by message; "" has the session's
	made := map[change.Kind]*change.Record{} // the last row of each kind
	for _, f := range files {
		var head struct {
			Time struct{ Created, Updated float64 }
		}
		var data bytes.Buffer // as JSON.stringify writes it
		if json.Unmarshal(f.Data, &head) != nil || !jsonedit.IsObject(f.Data) || json.Compact(&data, f.Data) != nil {
			if k := f.Ref.Kind; k == change.KindMessage || k == change.KindPart {
				lost = append(lost, f.Ref.String()+": it is not a JSON object")
			}
			continue
		}
		object := jsonedit.Parse(data.Bytes())
		ref := f.Ref.WithoutProject()
		at := cmp.Or(int64(head.Time.Created), created[ref.Message], created[""])
		var cols []change.Col
		switch ref.Kind {
		case change.KindProject:
			ref = f.Ref
			cols = columnsAt("", object, projectFields)
		case change.KindSession:
			created[""] = at
			cols = append(columnsAt("", object, sessionFields), change.TextCol("project_id", f.Ref.Project))
		case change.KindMessage:
			created[ref.Message] = at
			cols = append(recordColumns(data.Bytes(), at, int64(head.Time.Updated)), change.TextCol("session_id", ref.Session))
		case change.KindPart:
			if _, ok := created[ref.Message]; !ok {
				lost = append(lost, f.Ref.String()+": its message cannot be read")
				continue
			}
			ref.Session = cmp.Or(ref.Session, files[0].Ref.Session)
			cols = append(recordColumns(data.Bytes(), at, int64(head.Time.Updated)), change.TextCol("session_id", ref.Session),
				change.TextCol("message_id", ref.Message))
		default:
			continue
		}
		row, err := newRow(ref, append(cols, change.TextCol("id", ref.ID())), defaults[ref.Kind], at)
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, row)
		made[ref.Kind] = &row
	}
	session := made[change.KindSession]
	if session == nil {
		return nil, nil, fail.New(fail.Problems, "", "importing a session: its own data cannot be read")
	}
	if made[change.KindProject] == nil { // without a project no prompt is answered
		head := record.NewSession(*session).Head
		worktree := head.Directory
		if head.Project == record.GlobalProject {
			worktree = "/"
		}
		project, err := s.NewProject(ctx, head.Project, worktree, false, head)
		if err != nil {
			return nil, nil, err
		}
		rows = slices.Insert(rows, 0, project)
	}
	return rows, lost, nil
}

// NewProject returns the row of a project as OpenCode makes it, with the times of a session.
func (s *Store) NewProject(
	ctx context.Context, id, worktree string, inGit bool, head change.Head,
) (change.Record, error) {
	defaults, err := s.DefaultRow(ctx, change.KindProject)
	if err != nil {
		return change.Record{}, err
	}
	cols := []change.Col{
		change.TextCol("id", id), change.TextCol("worktree", worktree), change.IntCol("time_updated", head.Updated),
	}
	if inGit {
		cols = append(cols, change.TextCol("vcs", "git"))
	}
	return newRow(change.Ref{Kind: change.KindProject, Project: id}, cols, defaults, head.Created)
}

// newRow returns a row with the values of those cols that are columns of its table. If cols has a column several times,
// the last value counts. The other columns get the defaults of the table or of OpenCode; the error names a column that
// has neither.
func newRow(ref change.Ref, cols []change.Col, defaults change.Record, at int64) (change.Record, error) {
	r := change.Record{Ref: ref}
	values, given := map[string]change.Col{}, map[string]bool{}
	for _, c := range []change.Col{
		change.TextCol("slug", ""), change.TextCol("directory", ""), change.TextCol("title", ""),
		change.TextCol("version", ""), change.TextCol("worktree", "/"), change.TextCol("sandboxes", "[]"),
		change.IntCol("time_created", at), change.IntCol("time_updated", at),
	} {
		values[c.Name] = c
	}
	for _, c := range cols {
		if c.Name == "data" {
			r.Data = c.Bytes
		} else if c.Class != change.ClassNull {
			values[c.Name], given[c.Name] = c, true
		}
	}
	var all []change.Col
	for c := range defaults.Cols.All {
		if value, ok := values[c.Name]; ok && (given[c.Name] || c.Class == 0) {
			c = value
		}
		if c.Class == 0 {
			return r, fmt.Errorf("making the row of %v %s: mend does not know its column %s", ref.Kind, ref, c.Name)
		}
		all = append(all, c)
	}
	r.Cols = change.NewCols(all...)
	return r, nil
}
