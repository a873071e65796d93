package diagnose

import (
	"strings"
	"testing"

	"mend/internal/test/damage"
	"mend/testdata"
)

// TestWorkspaceFolder: the folder of the session's workspace must exist. The session's own folder then need not exist.
func TestWorkspaceFolder(t *testing.T) {
	st := newRowStore(t, testdata.OpenCode11833)
	folder := func(path string) string {
		if strings.HasPrefix(path, "/gone") {
			return FolderMissing
		}
		return ""
	}
	for _, c := range []struct {
		kind, workspace, own string
		want                 string // what the user can do; "" for a healthy session
	}{
		{"worktree", "/there", "/there", ""},
		{"worktree", "/there", "/gone", ""},
		{"worktree", "", "/there", ""},
		{"worktree", "", "/gone", ""}, // it runs in the folder that OpenCode was started in
		{"worktree", "/gone", "/there", "mkdir -p -- '/gone'"},
		{"worktree", "/gone", "/gone/own", "mkdir -p -- '/gone'"},
		{"worktree", "x", "/there", "cannot know"},
		{"worktree", "x", "/gone", "cannot know"},
		{"x", "/gone", "/there", ""}, // a plugin decides
		{"x", "/there", "/gone", "mkdir -p -- '/gone'"},
	} {
		st.exec("delete from workspace; insert into workspace (id, type, directory, project_id, time_used) values ('wrk_1', '" + c.kind + "', '" + c.workspace + "', 'global', 1)")
		s := st.withCell(damage.Cell{Column: "workspace_id", Value: "'wrk_1', directory = '" + c.own + "'"})
		r, err := Plan(s, Request{Options: Options{Now: now, Folder: folder}})
		switch {
		case c.want == "":
			if err != nil || len(r.Plan.Ops)+len(r.Remaining) > 0 {
				t.Errorf("%+v: Plan = %v, %v; left: %s", c, r.Plan.Ops, err, summary(r.Remaining))
			}
		case len(r.Remaining) != 1 || !strings.Contains(r.Remaining[0].WhyNot, c.want):
			t.Errorf("%+v: Plan = %v, %v; left: %+v", c, r.Plan.Ops, err, r.Remaining)
		}
	}
}
