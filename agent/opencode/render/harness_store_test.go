//go:build e2e

package render_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"time"

	"mend/change"
)

func (l *harness) readStore() {
	s := l.open()
	if c, ok := s.Info.Col("model"); ok {
		l.model = string(c.Bytes)
	}
	for _, m := range s.Messages {
		l.pristine = append(l.pristine, l.row("message", m.Record, l.session, m.Created))
		for _, p := range m.Parts {
			l.pristine = append(l.pristine, l.row("part", p.Record, m.ID, m.Created))
		}
	}
}

func (l *harness) row(table string, r change.Record, owner string, created int64) row {
	out := row{table: table, id: r.Ref.ID(), owner: owner, created: created}
	if err := json.Unmarshal(r.Data, &out.fields); err != nil {
		l.t.Fatal(err)
	}
	for _, id := range []string{"id", "sessionID", "messageID"} {
		delete(out.fields, id)
	}
	return out
}

// reset undoes every change, in memory.
func (l *harness) reset() {
	l.rows, l.info, l.stray, l.noModel = nil, map[string]any{}, map[string]string{}, false
	for _, r := range l.pristine {
		r.fields = clone(r.fields)
		l.rows = append(l.rows, &r)
	}
}

func clone(v map[string]any) map[string]any {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		panic(err)
	}
	return out
}

// writeStore replaces the stored records with the rows.
func (l *harness) writeStore() {
	l.t.Helper()
	if len(l.info) > 0 { // the agent may still be writing the session's record
		time.Sleep(500 * time.Millisecond)
	}
	if l.db == nil {
		l.writeFiles()
		return
	}
	l.execSQL("delete from part where session_id = ?", l.session)
	l.execSQL("delete from message where session_id = ?", l.session)
	for _, r := range l.rows {
		data := r.data(l.session, false)
		if r.table == "message" {
			l.execSQL("insert into message (id, session_id, time_created, time_updated, data) values (?,?,?,?,?)", r.id, l.session, r.created, r.created, data)
		} else {
			l.execSQL("insert into part (id, message_id, session_id, time_created, time_updated, data) values (?,?,?,?,?,?)", r.id, r.owner, l.session, r.created, r.created, data)
		}
	}
	l.execSQL("update session set revert = null where id = ?", l.session)
	if l.newest && l.noModel {
		l.execSQL("update session set model = null where id = ?", l.session)
	} else if l.newest {
		l.execSQL("update session set model = ? where id = ?", l.model, l.session)
	}
	for name, v := range l.info {
		data, err := json.Marshal(v)
		if err != nil {
			l.t.Fatal(err)
		}
		l.execSQL("update session set "+name+" = ? where id = ?", string(data), l.session)
	}
}

func (l *harness) execSQL(sql string, args ...any) {
	l.t.Helper()
	st, _, err := l.db.Prepare(sql)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	for i, a := range args {
		switch a := a.(type) {
		case string:
			err = st.BindText(i+1, a)
		case int64:
			err = st.BindInt64(i+1, a)
		}
		if err != nil {
			l.t.Fatal(err)
		}
	}
	if err := st.Exec(); err != nil {
		l.t.Fatalf("%s: %v", sql, err)
	}
}

func (l *harness) writeFiles() {
	root := filepath.Join(l.dir, "storage")
	time.Sleep(100 * time.Millisecond) // the agent is still writing for the last prompt
	for _, dir := range []string{"part", filepath.Join("message", l.session)} {
		if err := os.RemoveAll(filepath.Join(root, dir)); err != nil {
			l.t.Fatal(err)
		}
	}
	put := func(name, data string) {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			l.t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
			l.t.Fatal(err)
		}
	}
	for _, r := range l.rows {
		put(filepath.Join(r.table, r.owner, r.id+".json"), r.data(l.session, true))
	}
	for name, data := range l.stray {
		put(name, data)
	}
	name := filepath.Join("session", "global", l.session+".json")
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		l.t.Fatal(err)
	}
	var info map[string]any
	if err := json.Unmarshal(data, &info); err != nil {
		l.t.Fatal(err)
	}
	delete(info, "revert")
	maps.Copy(info, l.info)
	data, err = json.MarshalIndent(info, "", "  ")
	if err != nil {
		l.t.Fatal(err)
	}
	put(name, string(data))
}
