package database

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/internal/jsonedit"
	"mend/internal/salvage"
)

// An eventState is the newest state of a record in the table of events.
type eventState struct {
	table    string
	rowid    int64
	seq      int64
	first    int64 // the time in the record's first event, whose number is firstSeq
	firstSeq int64
	removed  bool
}

// eventData is the common data of a record's events.
type eventData struct {
	Info      json.RawMessage `json:"info"`
	Part      json.RawMessage `json:"part"`
	Time      int64           `json:"time"`
	PartID    string          `json:"partID"`
	MessageID string          `json:"messageID"`
}

// A rebuild restores lost rows of sessions, messages and parts from their last event.
type rebuild struct {
	*salvageJob
	wanted map[string]map[string]int64 // the rowids of lost rows, 0 if unknown, by table and id
	// search has the tables without a complete index: there a record with an event but without a row is lost.
	search map[string]bool
	last   map[string]*eventState // by id
	// sessions are the sessions of all lost rows; anywhere means that some of them are unknown.
	sessions map[string]bool
	anywhere bool
}

func (j *salvageJob) rebuildFromEvents(ctx context.Context) error {
	r := &rebuild{
		salvageJob: j, wanted: map[string]map[string]int64{}, search: map[string]bool{},
		sessions: map[string]bool{}, last: map[string]*eventState{},
	}
	for _, name := range conversation {
		if err := r.want(name); err != nil {
			return err
		}
	}
	if !j.hasTable("event") || len(r.wanted) == 0 {
		return nil
	}
	const events = "SELECT rowid, seq, type, data FROM event WHERE type GLOB 'session.*' OR type GLOB 'message.*'"
	read := func(st *sqlite3.Stmt) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return r.read(st.ColumnText(2), st.ColumnRawText(3), eventState{rowid: st.ColumnInt64(0), seq: st.ColumnInt64(1)})
	}
	var err error
	if r.anywhere {
		err = j.db.Query(events, read)
	} else { // with an index, only the events of these sessions are read
		for _, id := range slices.Sorted(maps.Keys(r.sessions)) {
			if err == nil {
				err = j.db.Query(strings.Replace(events, "WHERE ", "WHERE aggregate_id = ?1 AND (", 1)+")", read, id)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.last)) {
		if e := r.last[id]; err == nil && !e.removed {
			err = j.rebuildRow(e, id, r.wanted[e.table][id])
		}
	}
	return err
}

// want adds the lost and the torn rows of a table to r.
func (r *rebuild) want(name string) error {
	t, ids := r.table(name), map[string]int64{}
	for rowid, known := range t.Lost.All() {
		r.add(name, ids, rowid, known)
	}
	for rowid := range r.torn[name] {
		err := r.db.Query("SELECT id, session_id FROM "+name+" WHERE rowid = ?1", func(st *sqlite3.Stmt) error {
			r.addID(ids, st.ColumnText(0), st.ColumnText(1), rowid)
			return nil
		}, rowid)
		if err != nil {
			return err
		}
	}
	for _, refused := range t.Refused {
		if !strings.Contains(refused.Why, "UNIQUE") {
			r.add(name, ids, refused.Rowid, refused.Known)
		}
	}
	if r.search[name] = !t.Complete(); len(ids) > 0 || r.search[name] {
		r.wanted[name] = ids
	}
	r.anywhere = r.anywhere || r.search[name] || len(r.sessions) > 1000
	return nil
}

// add notes a lost row.
func (r *rebuild) add(table string, ids map[string]int64, rowid int64, known salvage.Known) {
	r.addID(ids, string(known["id"].Bytes), string(known[sessionColumn(table)].Bytes), rowid)
}

func (r *rebuild) addID(ids map[string]int64, id, session string, rowid int64) {
	if id == "" {
		return
	}
	ids[id] = rowid
	r.sessions[session] = true
	r.anywhere = r.anywhere || session == ""
}

// tableOf returns the table of the record that an event contains as a whole or removes, "" for none, and whether it
// removes the record. A version follows the name in kind.
func tableOf(kind string) (table string, removes bool) {
	for _, k := range []struct {
		kind, table string
		removes     bool
	}{
		{"session.created.", "session", false},
		{"session.updated.", "session", false},
		{"message.updated.", "message", false},
		{"message.removed.", "message", true},
		{"message.part.updated.", "part", false},
		{"message.part.removed.", "part", true},
	} {
		if strings.HasPrefix(kind, k.kind) {
			return k.table, k.removes
		}
	}
	return "", false
}

// read reads an event. It skips events that are not JSON.
func (r *rebuild) read(kind string, data []byte, e eventState) error {
	e.table, e.removed = tableOf(kind)
	var d eventData
	if r.wanted[e.table] == nil || json.Unmarshal(data, &d) != nil {
		return nil
	}
	switch {
	case e.removed && e.table == "part":
		return r.note(d.PartID, e)
	case e.removed:
		return r.note(d.MessageID, e)
	}
	record := d.Info
	if e.table == "part" {
		record = d.Part
	}
	var head struct {
		ID   string `json:"id"`
		Time struct {
			Created int64 `json:"created"`
		} `json:"time"`
	}
	if json.Unmarshal(record, &head) != nil {
		return nil
	}
	if e.first = d.Time; e.table != "part" {
		e.first = head.Time.Created
	}
	return r.note(head.ID, e)
}

// note records an event of a lost record.
func (r *rebuild) note(id string, e eventState) error {
	_, named := r.wanted[e.table][id]
	if id == "" || !named && !r.search[e.table] {
		return nil
	}
	e.firstSeq = e.seq
	if have := r.last[id]; have != nil {
		if have.firstSeq < e.seq {
			e.first, e.firstSeq = have.first, have.firstSeq
		}
		if e.seq < have.seq {
			have.first, have.firstSeq = e.first, e.firstSeq
			return nil
		}
	} else if !named {
		if found, err := r.exists("SELECT 1 FROM "+e.table+" WHERE id = ?1", id); found || err != nil {
			return err
		}
	}
	r.last[id] = &e
	return nil
}

// rebuildRow writes a row from an event. If the database refuses the row, it stays lost.
func (j *salvageJob) rebuildRow(e *eventState, id string, rowid int64) error {
	var d eventData
	decode := func(st *sqlite3.Stmt) error {
		_ = json.Unmarshal(st.ColumnRawText(0), &d) // it was valid before
		return nil
	}
	err := j.db.Query("SELECT data FROM event WHERE rowid = ?1", decode, e.rowid)
	if err != nil {
		return err
	}
	var cols []eventColumn
	switch e.table {
	case "session":
		cols = columnsAt("", jsonedit.Parse(d.Info), sessionFields)
	case "message":
		cols = recordColumns(d.Info, e.first, 0)
	case "part":
		cols = recordColumns(d.Part, e.first, d.Time)
	}
	have := map[string]bool{}
	err = j.db.Query("SELECT name FROM pragma_table_info(?1)",
		func(st *sqlite3.Stmt) error { have[st.ColumnText(0)] = true; return nil }, e.table)
	if err != nil {
		return err
	}
	names, marks, args := []string{}, []string{}, []any{}
	if rowid > 0 {
		names, marks, args = append(names, "rowid"), append(marks, "?1"), append(args, rowid)
	}
	session := ""
	for _, c := range cols {
		if !have[c.name] || c.value == nil {
			continue
		}
		args = append(args, c.value)
		names, marks = append(names, sqlite3.QuoteIdentifier(c.name)), append(marks, fmt.Sprintf("?%d", len(args)))
		if c.name == sessionColumn(e.table) {
			session, _ = c.value.(string)
		}
	}
	if session == "" {
		return nil
	}
	insert := "INSERT OR ABORT INTO "
	if j.torn[e.table][rowid] {
		insert = "INSERT OR REPLACE INTO "
	}
	insert += e.table + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ")"
	err = j.db.Query(insert, nil, args...)
	if errors.Is(err, sqlite3.CONSTRAINT) || errors.Is(err, sqlite3.ERROR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("rebuilding a row of %s: %w", e.table, err)
	}
	t := j.table(e.table)
	if j.torn[e.table][rowid] {
		t.Rows--
	} else if rowid > 0 {
		t.Found(rowid)
	}
	t.Refused = slices.DeleteFunc(t.Refused, func(r salvage.Refusal) bool { return string(r.Known["id"].Bytes) == id })
	j.rebuilt[e.table]++
	j.session(session).Rebuilt[e.table]++
	if e.table == "session" {
		j.noteRebuilt(session, cols)
	}
	return nil
}

// noteRebuilt adds to the report that the row of a session was rebuilt with the columns.
func (j *salvageJob) noteRebuilt(session string, cols []eventColumn) {
	s := j.session(session)
	s.Notes = append(s.Notes, "Its row was rebuilt: its folder, its title and whether it is archived come from "+
		"its last event, which can be older than a change by mend.")
	for _, c := range cols {
		if title, ok := c.value.(string); ok && c.name == "title" {
			s.Title = title
		}
	}
}

// An eventColumn is a column of a row that is made from an event or from a file. Its value is nil, a string, an int64 or
// a float64.
type eventColumn struct {
	name  string
	value any
}

// idColumns are the columns of the ids in a message or a part. Their data in the database has no ids.
var idColumns = map[string]string{"id": "id", "sessionID": "session_id", "messageID": "message_id"}

// recordColumns returns the columns of a message or a part.
func recordColumns(record json.RawMessage, created, updated int64) (cols []eventColumn) {
	data, err := jsonedit.EditMembers(record, func(name string, raw []byte) ([]byte, bool) {
		column, isID := idColumns[name]
		if id, isText := jsonedit.Text(raw); isID && isText {
			cols = append(cols, eventColumn{column, id})
		}
		return raw, !isID
	})
	if err != nil {
		data = []byte("{}")
	}
	return append(cols, eventColumn{"time_created", created}, eventColumn{"time_updated", max(created, updated)},
		eventColumn{"data", string(data)})
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
func columnsAt(place string, object jsonedit.Value, fields map[string]string) (cols []eventColumn) {
	for name, v := range object.Children() {
		at := place + string(name)
		column, ok := fields[at]
		switch {
		case !ok && v.Kind() == '{' && strings.Count(at, ".") < 3:
			cols = append(cols, columnsAt(at+".", v, fields)...)
		case ok:
			cols = append(cols, eventColumn{column, columnValue(v)})
		}
	}
	return cols
}

// columnValue returns a JSON value in the form of a column: a text or a number unchanged, everything else as JSON.
func columnValue(v jsonedit.Value) any {
	if text, ok := v.Text(); ok {
		return text
	}
	raw := string(v.Raw())
	if whole, err := strconv.ParseInt(raw, 10, 64); err == nil {
		return whole
	}
	if number, err := strconv.ParseFloat(raw, 64); err == nil {
		return number
	}
	if v.Kind() == 'n' {
		return nil
	}
	return raw
}
