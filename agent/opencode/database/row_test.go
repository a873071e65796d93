package database

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/test/dbtest"
)

// TestOddRows: every value that a row can hold is read without an error.
func TestOddRows(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.2.27")
	cols := "id text PRIMARY KEY, message_id text, session_id text, time_created integer, time_updated integer, data"
	dbtest.Alter(t, path, dbtest.Rebuild("part", cols), "INSERT INTO part SELECT * FROM old", "DROP TABLE old")
	s := open(t, path, Options{MaxRecord: 5000})
	m := load(t, s, id).Messages[0].ID
	for _, row := range []string{
		"'prt_n', NULL", "'prt_i', 7", "'prt_r', 0.5", "'prt_b', x'7b7d'", "'prt_e', ''", "'prt_z', x''", "'prt_t', '{\"type\":'",
		"'prt_big', json_object('type', 'text', 'text', hex(zeroblob(3000)))",
		"NULL, '{}'", "x'00ff', '{}'", "'a/b', '{}'", "'', '{}'", "'prt_' || char(10) || '\x1b[31m', '{}'",
	} {
		dbtest.Alter(t, path, "INSERT INTO part(message_id, session_id, time_created, time_updated, id, data) SELECT '"+m+"', '"+id+"', 1, 1, "+row)
	}
	dbtest.Alter(t, path,
		"INSERT INTO message VALUES ('msg_alone', 'ses_lost', 1, 1, '{}'), ('msg_odd', 'ses/odd', 1, 1, '{}'), ('msg/odd', '"+id+"', 2, 1, '{}')",
		"INSERT INTO session SELECT 'ses odd', project_id, parent_id, slug, directory, title, version, share_url, 1, 1, 1, NULL, NULL, NULL, 1, 1, 1, 1, NULL FROM session")
	for _, odd := range []string{"NULL", "x'7365735f78'"} { // the bytes of ses_x
		dbtest.Alter(t, path, "CREATE TEMP TABLE odd AS SELECT * FROM session WHERE id = 'ses odd'; UPDATE odd SET id = "+odd+"; INSERT INTO session SELECT * FROM odd; DROP TABLE odd")
	}

	got := load(t, s, id)
	kinds := map[string]change.DefectKind{
		"prt_n": change.Malformed, "prt_i": change.Malformed, "prt_r": change.Malformed,
		"prt_e": change.Malformed, "prt_t": change.Malformed, "prt_big": change.Unreadable,
	}
	for name, want := range kinds {
		p := got.Message(m).Part(name)
		if p == nil || p.Defect == nil || p.Defect.Kind != want {
			t.Errorf("%s = %+v, want a defect of kind %d", name, p, want)
			continue
		}
		t.Log(name, p.Defect.Why)
	}
	var unread []string
	for _, x := range got.Stray {
		if x.Kind == change.StrayUnread {
			unread = append(unread, x.Path)
		}
	}
	if want := []string{`part/""`, `part/""`, `part/"prt_b"`, `part/"prt_z"`, `part/"\x00\xff"`}; !slices.Equal(unread, want) || len(got.Stray) != len(want) {
		t.Errorf("rows that are not read: %q, want %q, of the strays %v", unread, want, got.Stray)
	}
	for _, r := range []*change.Record{&got.Message("msg/odd").Record, &got.Message(m).Part("a/b").Record, &got.Message(m).Part("prt_\n\x1b[31m").Record} {
		if r.Defect == nil || strings.ContainsAny(r.Ref.String(), "\n\x1b") {
			t.Errorf("the row of %s, which the agent reads: %+v", r.Ref, r.Defect)
		}
	}
	for range 2 { // in the order of Load, and in the order of Sort
		var order []string
		for _, p := range got.Message(m).Parts {
			if p.Ref.Validate() != nil {
				order = append(order, p.Ref.Part)
			}
		}
		if want := []string{"a/b", "prt_\n\x1b[31m"}; !slices.Equal(order, want) {
			t.Errorf("parts with odd ids: %q, want %q", order, want)
		}
		got.Sort()
	}
	raw, stamp, err := s.LoadRaw(t.Context(), change.Head{ID: id})
	dbtest.Must(t, err)
	if _, want, err := s.Load(t.Context(), change.Head{ID: id}); err != nil || stamp != want {
		t.Errorf("LoadRaw has the stamp %v, want %v: %v", stamp, want, err)
	}
	if want := load(t, s, id); !slices.Equal(records(raw), records(want)) || len(raw.Stray) != len(unread) {
		t.Errorf("LoadRaw has\n%q and %d strays, want\n%q and %d", records(raw), len(raw.Stray), records(want), len(unread))
	}

	heads, err := s.List(t.Context())
	if err != nil || len(heads) != 3 || heads[1].ID != "ses_lost" || len(heads[2].Stray) != 4 {
		t.Fatalf("List = %+v, %v", heads, err)
	}
	if head, err := s.SessionByID(t.Context(), heads[0].ID); err != nil || cmp.Diff(heads[0], head) != "" {
		t.Errorf("SessionByID = %+v, %v, want %+v", head, err, heads[0])
	}
	for _, id := range []string{"ses_lost", "ses_none", "ses odd", ""} { // a list finds the first
		if _, err := s.SessionByID(t.Context(), id); !errors.Is(err, errNoSession) {
			t.Errorf("SessionByID(%q): %v", id, err)
		}
	}
	unlisting := map[string]bool{} // whether the agent cannot list sessions because of the row
	for _, stray := range heads[2].Stray {
		unlisting[stray.Path] = stray.Kind == change.StrayRow
		if isSession := stray.Path == `session/"ses odd"`; (stray.Kind == change.StraySession) != isSession {
			t.Errorf("%s has the kind %v, want StraySession: %t", stray.Path, stray.Kind, isSession)
		}
	}
	want := map[string]bool{`session/""`: true, `session/"ses_x"`: true, `session/"ses odd"`: false, `message of session/"ses/odd"`: false}
	if d := cmp.Diff(want, unlisting); d != "" {
		t.Errorf("strays (-want +got):\n%s", d)
	}
	if lost := load(t, s, "ses_lost"); len(lost.Messages) != 1 || lost.Info.Ref.Kind != 0 || !lost.InfoMissing {
		t.Errorf("session without a row: %+v", lost)
	}
	dbtest.DeleteAndRestore(t, s, path, got.Message(m).Parts)
	if _, _, err := s.Load(t.Context(), change.Head{ID: "ses_none"}); !errors.Is(err, errNoSession) {
		t.Errorf("Load of a missing session: %v", err)
	}
	if _, _, err := s.Load(t.Context(), change.Head{ID: "ses odd"}); !errors.Is(err, errNoSession) {
		t.Errorf("Load of an invalid id: %v", err)
	}
}

// TestSessionTooLarge: a session that does not fit into memory is not loaded.
func TestSessionTooLarge(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.2.27")
	s := open(t, path, Options{MaxSession: 100})
	var large *change.SizeError
	if _, _, err := s.Load(t.Context(), change.Head{ID: id}); !errors.As(err, &large) {
		t.Errorf("Load = %v, want a SizeError", err)
	}
}

// TestWorkspace: a session whose workspace is not in the database has a fault. With the workspace the session works in
// the workspace's folder.
func TestWorkspace(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, Options{})
	dbtest.Alter(t, path, "UPDATE session SET workspace_id = 'wrk_1'")
	missing, err := s.Stamp(t.Context(), change.Head{ID: id})
	dbtest.Must(t, err)
	if load(t, s, id).WorkspaceFault == "" {
		t.Error("a missing workspace is no fault")
	}
	dbtest.Alter(t, path, "INSERT INTO workspace (id, type, name, directory, project_id, time_used) VALUES ('wrk_1', 'worktree', 'n', '/there', 'global', 1)")
	present, err := s.Stamp(t.Context(), change.Head{ID: id})
	dbtest.Must(t, err)
	if got := load(t, s, id); got.WorkspaceFault != "" || !got.InWorkspace || got.Workspace != "/there" || present == missing {
		t.Errorf("%q, in a workspace %t, %q", got.WorkspaceFault, got.InWorkspace, got.Workspace)
	}
	dbtest.Alter(t, path, "UPDATE workspace SET type = 'x'") // a plugin may know the type
	if got := load(t, s, id); got.WorkspaceFault != "" || got.InWorkspace {
		t.Errorf("of another type: %q, in a workspace %t", got.WorkspaceFault, got.InWorkspace)
	}
}

// TestEvents: the counter of a session's events is compared with the numbers of the events. The stamp changes with the
// result.
func TestEvents(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, Options{})
	stamp := func() change.Stamp {
		at, err := s.Stamp(t.Context(), change.Head{ID: id})
		dbtest.Must(t, err)
		return at
	}
	for _, c := range []struct {
		do    string
		taken bool
	}{
		{"UPDATE event_sequence SET seq = 1000", false},
		{"UPDATE event_sequence SET seq = 98", true},
		{"UPDATE event_sequence SET seq = 99", false},
		{"DELETE FROM event_sequence", true},
		{"DELETE FROM event WHERE seq < 13", true},
		{"DELETE FROM event WHERE seq < 14", false},
		{"UPDATE event SET aggregate_id = 'ses_x'", false},
		{"UPDATE event SET aggregate_id = (SELECT id FROM session), seq = seq - 14", true},
		{"DROP INDEX event_aggregate_seq_idx", false},
	} {
		before, previous := stamp(), load(t, s, id).EventNumberTaken
		dbtest.Alter(t, path, "PRAGMA foreign_keys = off", c.do)
		if got := load(t, s, id).EventNumberTaken; got != c.taken || (stamp() == before) != (previous == got) {
			t.Errorf("%s: number taken: %t, and a new stamp: %t; want %t", c.do, got, stamp() != before, c.taken)
		}
	}
}

// records returns every record of a session with its bytes, and whether it can be copied.
func records(s *record.Session) (all []string) {
	for r := range s.AllRecords {
		usable := r.Ref.Validate() == nil && (r.Defect == nil || r.Defect.Kind != change.Unreadable)
		all = append(all, fmt.Sprintf("%s %t %s", r.Ref, usable, change.ImageOf(r).Data))
	}
	return all
}
