//go:build e2e

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
)

// importQueries read the rows of an imported tree. 1.2.27 gives a part without a time the time of the import.
var importQueries = []string{
	"select id, project_id, parent_id, slug, directory, title, version, share_url, summary_additions, summary_deletions, summary_files, summary_diffs, revert, permission, time_created from session order by id",
	"select id, session_id, time_created, data from message order by id",
	"select id, message_id, session_id, data from part order by id",
}

// TestRealImport: 1.18.34 does not import the files of 1.1.53. After mend's restore it answers with the whole history.
// The restored rows equal the rows that 1.2.27 imports itself.
func TestRealImport(t *testing.T) {
	storetest.Long(t)
	imported := map[string]string{}
	for _, version := range []string{"1.2.27", "1.18.34"} {
		t.Run(version, func(t *testing.T) {
			h := newAnswered(t, version)
			session := h.Unpack(fixtures[0])
			tree := filepath.Join(h.DataDir(), "storage")
			info := filepath.Join(tree, "session", "global", session+".json")
			data, err := os.ReadFile(info)
			if err == nil {
				err = os.WriteFile(info, []byte(strings.ReplaceAll(string(data), "/home/user/project", h.Project())), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			rows := func() string {
				var all []string
				for _, q := range importQueries {
					b, _ := json.Marshal(h.SQL(q))
					all = append(all, strings.ReplaceAll(string(b), h.Project(), "/project"))
				}
				return strings.Join(all, "\n")
			}
			s := h.Serve()
			if version == "1.2.27" { // it imports by itself
				s.Close()
				imported["by itself"] = rows()
				h.SQL("delete from session")
				h.SQL("delete from message")
				h.SQL("delete from part")
				h.SQL("delete from project")
			} else if ids := s.Listed(); len(ids) > 0 {
				t.Errorf("%s lists %v before", version, ids)
			}
			s.Close()
			journal := filepath.Join(t.TempDir(), "journal")
			if code, out := runMendIn(t, h, journal, "restore", session, "--yes"); code != frame.ExitDone {
				t.Fatalf("mend restore: exit code %d: %s", code, out)
			}
			if got, want := rows(), imported["by itself"]; version == "1.2.27" && got != want {
				t.Errorf("mend makes\n%s\n1.2.27 makes\n%s", got, want)
			}
			s = h.Serve()
			if ids := s.Listed(); len(ids) != 1 || ids[0] != session {
				t.Errorf("%s lists %v, want %s", version, ids, session)
			}
			r := s.Prompt(session, "one more")
			if r.Verdict != opencode.Alive || len(r.Calls) == 0 || len(r.Calls[0].Request.Messages) < 10 {
				t.Errorf("%s is %s: %.500s", version, r.Verdict, r.Output)
			}
		})
	}
}
