package database_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"mend/agent/opencode/database"
	"mend/change"
	"mend/internal/test/dbtest"
)

// TestNewerGeneration: mend recognizes a database that a newer generation of OpenCode has taken over, and the sessions
// that were imported. It reads the database like any other, and writes nothing.
func TestNewerGeneration(t *testing.T) {
	kv := func(value string) []string {
		return []string{
			"CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT, time_created INTEGER)",
			"INSERT INTO kv VALUES ('theme', 'completed', 1), ('migration.v1-v2', " + value + ", 1)",
		}
	}
	rows := []struct {
		name   string
		do     []string
		marker string // "" if the database is in use
		others int    // sessions that were not imported; -1 if that is not known
	}{
		{"nothing", nil, "", 0},
		{"session_v2", []string{"CREATE TABLE session_v2 (id TEXT)"}, "table session_v2", -1},
		{"message_v3", []string{"CREATE TABLE message_v3 (id TEXT)"}, "table message_v3", -1},
		{"tables of 1.18", []string{"CREATE TABLE IF NOT EXISTS session_message (id TEXT)", "CREATE TABLE IF NOT EXISTS session_input (id TEXT)"}, "", 0},
		{"a session that was not imported", []string{
			"CREATE TABLE session_v2 (id TEXT)", "INSERT INTO session_v2 SELECT id FROM session",
			"CREATE TEMP TABLE one AS SELECT * FROM session", "UPDATE one SET id = 'ses_later', title = 'A later one'", "INSERT INTO session SELECT * FROM one",
		}, "(table session_v2)", 1},
		{"a view", []string{"CREATE VIEW session_v2 AS SELECT 1"}, "", 0},
		{"a complete import", kv(`'{"phase":"completed"}'`), "key migration.v1-v2", -1},
		{"an incomplete import", kv(`'{"phase":"sessions","cursor":"ses_1"}'`), "key migration.v1-v2", -1},
		{"a blob", kv("CAST('completed' AS BLOB)"), "key migration.v1-v2", -1},
		{"another key", []string{"CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT)", "INSERT INTO kv VALUES ('theme', 'completed')"}, "", 0},
		{"empty kv", []string{"CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT)"}, "", 0},
		{"columns in another order", []string{"CREATE TABLE kv (time_updated INTEGER, data BLOB, id TEXT PRIMARY KEY)", "INSERT INTO kv VALUES (1, 'completed', 'migration.v1-v2')"}, "key migration.v1-v2", -1},
		{"a key of a later import", []string{"CREATE TABLE kv (k, v)", "INSERT INTO kv VALUES ('migration.v2-v3', 'done')"}, "key migration.v2-v3", -1},
	}
	for version := range dbtest.Fixtures {
		for _, r := range rows {
			t.Run(version+" "+r.name, func(t *testing.T) {
				path, _ := dbtest.Unpack(t, version)
				dbtest.Alter(t, path, r.do...)
				before := dbtest.Files(t, path)
				s, err := database.Open(path, database.Options{})
				dbtest.Must(t, err)
				heads, err := s.List(t.Context())
				dbtest.Must(t, err)
				imported, err := s.Takeover(t.Context())
				if got := err != nil; got != (r.marker != "") || got && (!strings.Contains(err.Error(), r.marker) || strings.Contains(err.Error(), "\n")) {
					t.Errorf("Takeover = %v, want one line with %q", err, r.marker)
				}
				if got := len(heads) - len(imported); r.others < 0 && imported != nil || r.marker != "" && r.others >= 0 && got != r.others {
					t.Errorf("%d of %d sessions are imported, want all but %d", len(imported), len(heads), r.others)
				}
				_, _, err = s.Load(t.Context(), heads[0])
				dbtest.Must(t, err)
				dbtest.WantSame(t, before, dbtest.Files(t, path))
			})
		}
	}
}

// TestNewerGenerationLater: after a newer generation has migrated an open database, nothing is written.
func TestNewerGenerationLater(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s, err := database.Open(path, database.Options{})
	dbtest.Must(t, err)
	ctx := context.Background()
	ref := change.Ref{Kind: change.KindSession, Session: id}
	images, err := s.Read(ctx, []change.Ref{ref})
	dbtest.Must(t, err)
	plan := change.Plan{Session: id, Ops: []change.Op{{Ref: ref, Pre: images[0]}}, AllowMissingParent: true}
	dbtest.Alter(t, path, "CREATE TABLE session_v2 (id TEXT)")
	before := dbtest.Files(t, path)
	_, errPrepare := s.Prepare(ctx, plan)
	out, errCommit := s.Commit(ctx, change.Staged{Store: s.ID(), Ops: plan.Ops})
	for what, err := range map[string]error{"Prepare": errPrepare, "Commit": errors.Join(errCommit, out.Cause)} {
		if err == nil || !strings.Contains(err.Error(), "a newer generation of OpenCode") {
			t.Errorf("%s = %v, want errNewer", what, err)
		}
	}
	dbtest.WantSame(t, before, dbtest.Files(t, path))
}
