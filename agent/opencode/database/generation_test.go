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

// A database that a newer generation of OpenCode has taken over is refused in one line, and
// each other one is read as before.
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
	}{
		{"nothing", nil, ""},
		{"session_v2", []string{"CREATE TABLE session_v2 (id TEXT)"}, "table session_v2"},
		{"a later one", []string{"CREATE TABLE message_v3 (id TEXT)"}, "table message_v3"},
		{"tables of 1.18", []string{"CREATE TABLE IF NOT EXISTS session_message (id TEXT)", "CREATE TABLE IF NOT EXISTS session_input (id TEXT)"}, ""},
		{"a session left behind", []string{
			"CREATE TABLE session_v2 (id TEXT)", "INSERT INTO session_v2 SELECT id FROM session",
			"CREATE TEMP TABLE one AS SELECT * FROM session", "UPDATE one SET id = 'ses_later', title = 'A later one'", "INSERT INTO session SELECT * FROM one",
		}, `(table session_v2), which mend does not know: nothing in it is judged or changed; older sessions that it did not import: 1 (ses_later "A later one")`},
		{"a view", []string{"CREATE VIEW session_v2 AS SELECT 1"}, ""},
		{"an import that is complete", kv(`'{"phase":"completed"}'`), "key migration.v1-v2"},
		{"an import that is not", kv(`'{"phase":"sessions","cursor":"ses_1"}'`), "key migration.v1-v2"},
		{"bytes", kv("CAST('completed' AS BLOB)"), "key migration.v1-v2"},
		{"another key", []string{"CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT)", "INSERT INTO kv VALUES ('theme', 'completed')"}, ""},
		{"empty kv", []string{"CREATE TABLE kv (key TEXT PRIMARY KEY, value TEXT)"}, ""},
		{"columns in another order", []string{"CREATE TABLE kv (time_updated INTEGER, data BLOB, id TEXT PRIMARY KEY)", "INSERT INTO kv VALUES (1, 'completed', 'migration.v1-v2')"}, "key migration.v1-v2"},
		{"a key of a later one", []string{"CREATE TABLE kv (k, v)", "INSERT INTO kv VALUES ('migration.v2-v3', 'done')"}, "key migration.v2-v3"},
	}
	for version := range dbtest.Fixtures {
		for _, r := range rows {
			t.Run(version+" "+r.name, func(t *testing.T) {
				path, _ := dbtest.Unpack(t, version)
				dbtest.Alter(t, path, r.do...)
				before := dbtest.Files(t, path)
				_, err := database.Open(path, database.Options{})
				if got := (err != nil && strings.Contains(err.Error(), "a newer generation of OpenCode")); got != (r.marker != "") || err != nil && (!strings.Contains(err.Error(), r.marker) || strings.Contains(err.Error(), "\n")) {
					t.Errorf("Open = %v, want one line with %q", err, r.marker)
				}
				dbtest.WantSame(t, before, dbtest.Files(t, path))
			})
		}
	}
}

// A migration while the database is open ends reading and writing.
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
	_, errList := s.List(ctx)
	_, errPrepare := s.Prepare(ctx, plan)
	out, errCommit := s.Commit(ctx, change.Staged{Store: s.ID(), Ops: plan.Ops})
	for what, err := range map[string]error{"List": errList, "Prepare": errPrepare, "Commit": errors.Join(errCommit, out.Cause)} {
		if err == nil || !strings.Contains(err.Error(), "a newer generation of OpenCode") {
			t.Errorf("%s = %v, want errNewer", what, err)
		}
	}
	dbtest.WantSame(t, before, dbtest.Files(t, path))
}
