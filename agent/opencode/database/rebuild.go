package database

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/salvage"
	"mend/internal/sqlite"
	"mend/sqlstore"
)

// recordEvents has the types of the events with the states of the records of each table, parents first. A version
// follows the name of a type.
var recordEvents = []struct{ table, isState string }{
	{"session", "type GLOB 'session.created.*' OR type GLOB 'session.updated.*'"},
	{"message", "type GLOB 'message.updated.*' OR type GLOB 'message.removed.*'"},
	{"part", "type GLOB 'message.part.updated.*' OR type GLOB 'message.part.removed.*'"},
}

// A recordState is the newest state of a record in the table of events.
type recordState struct {
	rowid, seq int64
	created    int64 // the earliest time in the record's events
	removed    bool
}

// rebuildFromEvents rebuilds lost and torn rows of the conversation from the newest events of their records.
func (j *salvageJob) rebuildFromEvents(ctx context.Context) error {
	columns, err := columnsOf(j.db.Statements)
	if err != nil || !j.hasTable("event") {
		return err
	}
	for _, e := range recordEvents { // messages are complete when the parts follow
		lost, err := j.lostIDs(e.table)
		if err != nil {
			return err
		}
		if !j.hasTable(e.table) || len(lost) == 0 && j.table(e.table).Complete() {
			continue
		}
		states, err := j.newestStates(ctx, e.table, e.isState, lost)
		if err != nil {
			return err
		}
		rebuilt := map[string]bool{}
		for _, id := range slices.Sorted(maps.Keys(states)) {
			rebuilt[id], err = j.rebuildRow(e.table, columns[e.table], id, lost[id], states[id])
			if err != nil {
				return err
			}
		}
		t := j.table(e.table)
		t.Refused = slices.DeleteFunc(t.Refused, func(r salvage.Refusal) bool { return rebuilt[r.Known["id"].Text()] })
	}
	return nil
}

// removedMessages returns the ids of the messages that OpenCode has removed. It removes their parts too, without an
// event for each.
func (j *salvageJob) removedMessages() (map[string]bool, error) {
	const removed = `SELECT json_extract(data, '$.messageID') AS id FROM event
		WHERE CASE WHEN type GLOB 'message.removed.*' THEN json_valid(data) END
			AND NOT EXISTS (SELECT 1 FROM message WHERE message.id = json_extract(data, '$.messageID'))`
	all := map[string]bool{}
	err := j.db.Query(removed, nil, func(st *sqlite3.Stmt) error { all[st.ColumnText(0)] = true; return nil })
	delete(all, "")
	return all, err
}

// lostIDs returns the rowids of lost, refused and torn rows by id, 0 if unknown.
func (j *salvageJob) lostIDs(table string) (map[string]int64, error) {
	t, ids := j.table(table), map[string]int64{}
	for rowid, known := range t.Lost.All() {
		ids[known["id"].Text()] = rowid
	}
	for _, refused := range t.Refused {
		if !strings.Contains(refused.Why, "UNIQUE") {
			ids[refused.Known["id"].Text()] = refused.Rowid
		}
	}
	for rowid := range j.torn[table] {
		err := j.db.Query("SELECT id FROM "+table+" WHERE rowid = ?1", []sqlite.Value{sqlite.Int(rowid)}, func(st *sqlite3.Stmt) error {
			ids[st.ColumnText(0)] = rowid
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	delete(ids, "")
	return ids, nil
}

// newestStates returns the states of the lost records that events have, by id. In a table without a complete index
// each record with an event but without a row is lost.
func (j *salvageJob) newestStates(
	ctx context.Context, table, isState string, lost map[string]int64,
) (map[string]recordState, error) {
	states, all := map[string]recordState{}, !j.table(table).Complete()
	removed := map[string]bool{}
	if table == "part" && j.hasTable("message") {
		var err error
		if removed, err = j.removedMessages(); err != nil {
			return nil, err
		}
	}
	query := `SELECT coalesce(json_extract(data, '$.info.id'), json_extract(data, '$.part.id'),
			json_extract(data, '$.partID'), json_extract(data, '$.messageID')), rowid, seq,
			coalesce(json_extract(data, '$.info.time.created'), json_extract(data, '$.time')), type GLOB '*.removed.*',
			json_extract(data, '$.part.messageID')
		FROM event WHERE CASE WHEN ` + isState + ` THEN json_valid(data) END`
	err := j.db.Query(query, nil, func(st *sqlite3.Stmt) error {
		id := st.ColumnText(0)
		s := recordState{st.ColumnInt64(1), st.ColumnInt64(2), st.ColumnInt64(3), st.ColumnBool(4)}
		_, isLost := lost[id]
		earlier, known := states[id]
		switch {
		case known:
			created := min(s.created, earlier.created)
			if s.seq < earlier.seq {
				s = earlier
			}
			s.created = created
		case !isLost && !all, removed[st.ColumnText(5)]:
			return nil
		case !isLost:
			if found, err := j.db.Has("SELECT 1 FROM "+table+" WHERE id = ?1", sqlite.Text(id)); found || err != nil {
				return err
			}
		}
		states[id] = s
		return ctx.Err()
	})
	delete(states, "")
	return states, err
}

// rebuildRow writes a row from an event, and reports whether it did. If the database refuses the row, it stays lost.
// rowid is the lost row's, 0 if unknown.
func (j *salvageJob) rebuildRow(
	table string, columns []string, id string, rowid int64, s recordState,
) (written bool, err error) {
	if s.removed {
		return false, nil
	}
	var cols []change.Col
	err = j.db.Query("SELECT data FROM event WHERE rowid = ?1", []sqlite.Value{sqlite.Int(s.rowid)}, func(st *sqlite3.Stmt) error {
		event := jsonedit.Parse(bytes.Clone(st.ColumnRawText(0)))
		updated, _ := event.Get("time").Int()
		switch table {
		case "session":
			cols = columnsAt("", event.Get("info"), sessionFields)
		case "message":
			cols = recordColumns(json.RawMessage(event.Get("info").Raw()), s.created, 0)
		case "part":
			cols = recordColumns(json.RawMessage(event.Get("part").Raw()), s.created, updated)
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	names, marks, args := []string{}, []string{}, []sqlite.Value{}
	if rowid > 0 {
		names, marks, args = append(names, "rowid"), append(marks, "?1"), append(args, sqlite.Int(rowid))
	}
	session, found := "", ""
	for _, c := range cols {
		if !slices.Contains(columns, c.Name) || c.Class == change.ClassNull {
			continue
		}
		args = append(args, sqlstore.ColValue(c))
		names, marks = append(names, sqlite3.QuoteIdentifier(c.Name)), append(marks, fmt.Sprintf("?%d", len(args)))
		if c.Name == sessionColumn(table) {
			session = sqlstore.ColValue(c).Text()
		}
		if c.Name == "id" {
			found = sqlstore.ColValue(c).Text()
		}
	}
	if session == "" || found != id {
		return false, nil
	}
	t, torn := j.table(table), j.torn[table][rowid]
	insert := "INSERT OR ABORT INTO "
	if torn {
		insert = "INSERT OR REPLACE INTO "
	}
	insert += table + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ")"
	err = j.db.Query(insert, args, nil)
	if errors.Is(err, sqlite3.CONSTRAINT) || errors.Is(err, sqlite3.ERROR) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("rebuilding a row of %s: %w", table, err)
	}
	if torn {
		t.Rows--
	} else if rowid > 0 {
		t.Found(rowid)
	}
	j.rebuilt[table]++
	j.session(session).Rebuilt[table]++
	if table == "session" {
		j.noteRebuilt(session, cols)
	}
	return true, nil
}

// noteRebuilt adds to the report that the row of a session was rebuilt with the columns.
func (j *salvageJob) noteRebuilt(session string, cols []change.Col) {
	s := j.session(session)
	s.Notes = append(s.Notes, "Its row was rebuilt: its folder, its title and whether it is archived come from "+
		"its last event, which can be older than a change by mend.")
	for _, c := range cols {
		if c.Name == "title" && c.Class == change.ClassText {
			s.Title = string(c.Bytes)
		}
	}
}

// idColumns are the columns of the ids in a message or a part. Their data in the database has no ids.
var idColumns = map[string]string{"id": "id", "sessionID": "session_id", "messageID": "message_id"}

// recordColumns returns the columns of a message or a part.
func recordColumns(record json.RawMessage, created, updated int64) (cols []change.Col) {
	data, err := jsonedit.EditMembers(record, func(name string, raw []byte) ([]byte, bool) {
		column, isID := idColumns[name]
		if id, isText := jsonedit.Text(raw); isID && isText {
			cols = append(cols, change.TextCol(column, id))
		}
		return raw, !isID
	})
	if err != nil {
		data = []byte("{}")
	}
	return append(cols, change.IntCol("time_created", created), change.IntCol("time_updated", max(created, updated)),
		change.TextCol("data", string(data)))
}

// sessionFields are the columns of a session, by the path of the field in the JSON of its event or its file.
var sessionFields = map[string]string{
	"id": "id", "projectID": "project_id", "workspaceID": "workspace_id", "parentID": "parent_id", "slug": "slug",
	"directory": "directory", "path": "path", "title": "title", "version": "version", "share.url": "share_url",
	"summary.additions": "summary_additions", "summary.deletions": "summary_deletions",
	"summary.files": "summary_files", "summary.diffs": "summary_diffs", "metadata": "metadata", "cost": "cost",
	"tokens.input": "tokens_input", "tokens.output": "tokens_output", "tokens.reasoning": "tokens_reasoning",
	"tokens.cache.read": "tokens_cache_read", "tokens.cache.write": "tokens_cache_write", "revert": "revert",
	"permission": "permission", "agent": "agent", "model": "model", "time.created": "time_created",
	"time.updated": "time_updated", "time.compacting": "time_compacting", "time.archived": "time_archived",
}

// columnsAt returns the columns of an object whose fields have columns. place is the object's path with a dot at the
// end, "" for the whole record.
func columnsAt(place string, object jsonedit.Value, fields map[string]string) (cols []change.Col) {
	for name, v := range object.Children() {
		at := place + string(name)
		column, ok := fields[at]
		switch {
		case !ok && v.Kind() == '{' && strings.Count(at, ".") < 3:
			cols = append(cols, columnsAt(at+".", v, fields)...)
		case ok:
			cols = append(cols, columnOf(column, v))
		}
	}
	return cols
}

// columnOf returns a column with a JSON value: a text or a number unchanged, null as NULL, everything else as JSON.
func columnOf(name string, v jsonedit.Value) change.Col {
	if text, ok := v.Text(); ok {
		return change.TextCol(name, text)
	}
	raw := string(v.Raw())
	if whole, err := strconv.ParseInt(raw, 10, 64); err == nil {
		return change.IntCol(name, whole)
	}
	if number, err := strconv.ParseFloat(raw, 64); err == nil {
		return change.RealCol(name, number)
	}
	if v.Kind() == 'n' {
		return change.Col{Name: name, Class: change.ClassNull}
	}
	return change.TextCol(name, raw)
}
