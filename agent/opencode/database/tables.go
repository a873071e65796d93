package database

import (
	"mend/change"
	"mend/sqlstore"
)

// tables returns the tables of OpenCode. All known versions have the required tables, with these
// columns.
func tables() []sqlstore.TableSpec {
	return []sqlstore.TableSpec{
		{
			Kind: change.KindSession, Name: "session",
			Columns:     []string{"id", "project_id", "directory", "title", "version", "time_created", "time_updated"},
			SessionRows: `"id" = ?1`,
		},
		{
			Kind: change.KindMessage, Name: "message", Data: "data", Parent: "session_id",
			Columns:     []string{"id", "session_id", "time_created", "time_updated", "data"},
			SessionRows: `"session_id" = ?1 ORDER BY "time_created", "id"`,
		},
		{
			Kind: change.KindPart, Name: "part", Data: "data", Parent: "message_id",
			Columns:     []string{"id", "message_id", "session_id", "time_created", "time_updated", "data"},
			SessionRows: `"message_id" IN (SELECT "id" FROM "message" WHERE "session_id" = ?1) ORDER BY "message_id", "id"`,
		},
		{Kind: change.KindProject, Name: "project", Columns: []string{"id", "worktree", "time_updated"}, Optional: true},
		{Name: "workspace", Columns: []string{"id"}, Optional: true},
		{
			Kind: change.KindEvents, Name: "event_sequence", Key: "aggregate_id", Optional: true,
			Columns: []string{"aggregate_id", "seq"}, Unique: []string{"aggregate_id"}, SessionRows: `"aggregate_id" = ?1`,
		},
		{Name: "event", Columns: []string{"aggregate_id", "seq"}, Unique: []string{"aggregate_id", "seq"}, Optional: true},
	}
}
