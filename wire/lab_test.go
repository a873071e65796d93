//go:build e2e

package wire_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mend/fsstore"
	"mend/internal/endpoint"
	"mend/internal/opencode"
	"mend/internal/wound"
	"mend/session"
	"mend/sqlstore"
	"mend/testdata"
	"mend/wire"
)

// A row is a message or a part of the fixture's session, of either generation
// of stores.
type row struct {
	table   string // "message" or "part"
	id      string
	owner   string // a part's message
	created int64  // a column of the database
	fields  map[string]any
	raw     *string // what is stored instead of fields
}

// data is the JSON that is stored: in a file the ids are in it.
func (r row) data(session string, file bool) string {
	if r.raw != nil {
		return *r.raw
	}
	fields := maps.Clone(r.fields)
	if file {
		fields["id"], fields["sessionID"] = r.id, session
		if r.table == "part" {
			fields["messageID"] = r.owner
		}
	}
	data, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// A lab has one running agent, and the fixture's session, which each test cuts
// anew.
type lab struct {
	t       testing.TB
	version string
	profile wire.Profile // that is judged
	session string
	dir     string // the agent's data directory
	api     *endpoint.Server
	agent   *opencode.Server
	db      *sqlite3.Conn // nil for a tree of files
	newest  bool          // of the newest generation

	pristine []row
	rows     []*row         // as the test has cut them
	info     map[string]any // what the test sets in the session's record
	stray    map[string]string
}

// archive is the fixture that a version takes for its own.
func archive(version string) (data []byte, newest bool) {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		panic(err)
	}
	switch {
	case major == 1 && minor < 2:
		return testdata.OpenCode1153, false
	case major == 1 && minor < 18:
		return testdata.OpenCode1227, false
	}
	return testdata.OpenCode11833, true
}

// newLab starts an agent of a version.
func newLab(t testing.TB, version string, thinking bool) *lab {
	t.Helper()
	exe, err := opencode.Install(version)
	if err != nil {
		t.Fatal(err)
	}
	api := endpoint.New(nil)
	t.Cleanup(api.Close)
	h := opencode.New(t, exe, api, thinking)
	l := &lab{t: t, version: version, profile: wire.ProfileFor(version), dir: h.DataDir(), api: api}
	l.readMedia()
	fixture, newest := archive(version)
	l.session, l.newest = h.Unpack(fixture), newest
	if file := filepath.Join(l.dir, "opencode.db"); exists(file) {
		l.db = openDB(t, file)
	}
	l.load()
	l.agent = h.Serve()
	return l
}

func exists(name string) bool { _, err := os.Stat(name); return err == nil }

func openDB(t testing.TB, file string) *sqlite3.Conn {
	db, err := sqlite3.OpenFlags(file, sqlite3.OPEN_READWRITE)
	if err == nil {
		err = db.Exec("PRAGMA busy_timeout=10000")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// readMedia tells the agent that its model reads images and PDFs, as Claude does.
func (l *lab) readMedia() {
	file := filepath.Join(l.dir, "../../../.config/opencode/opencode.json")
	data, err := os.ReadFile(file)
	if err != nil {
		l.t.Fatal(err)
	}
	const model = `"name": "claude-fake",`
	if !strings.Contains(string(data), model) {
		l.t.Fatal("no model in opencode.json")
	}
	text := strings.Replace(string(data), model, model+`"attachment": true, "modalities": {"input": ["text", "image", "pdf"], "output": ["text"]},`, 1)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		l.t.Fatal(err)
	}
}

// open opens the store as mend does, and loads the session.
func (l *lab) open() *session.Session {
	l.t.Helper()
	head := session.Session{ID: l.session}
	var s *session.Session
	if l.db == nil {
		store, err := fsstore.Open(l.dir, "", fsstore.Options{})
		if err != nil {
			l.t.Fatal(err)
		}
		s, err = store.Load(context.Background(), head)
		if err != nil {
			l.t.Fatal(err)
		}
		return s
	}
	store, err := sqlstore.Open(l.dir, sqlstore.Options{})
	if err != nil {
		l.t.Fatal(err)
	}
	s, err = store.Load(context.Background(), head)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// load remembers the fixture.
func (l *lab) load() {
	s := l.open()
	for _, m := range s.Messages {
		l.pristine = append(l.pristine, l.row("message", m.Record, l.session, m.Created))
		for _, p := range m.Parts {
			l.pristine = append(l.pristine, l.row("part", p.Record, m.ID, m.Created))
		}
	}
}

func (l *lab) row(table string, r session.Record, owner string, created int64) row {
	out := row{table: table, id: r.Ref.ID(), owner: owner, created: created}
	if err := json.Unmarshal(r.Data, &out.fields); err != nil {
		l.t.Fatal(err)
	}
	for _, id := range []string{"id", "sessionID", "messageID"} {
		delete(out.fields, id)
	}
	return out
}

// reset undoes every cut, in memory.
func (l *lab) reset() {
	l.rows, l.info, l.stray = nil, map[string]any{}, map[string]string{}
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

// store writes the rows in place of what is there.
func (l *lab) store() {
	l.t.Helper()
	if len(l.info) > 0 { // the agent may still be writing the session's record
		time.Sleep(500 * time.Millisecond)
	}
	if l.db == nil {
		l.storeFiles()
		return
	}
	l.exec("delete from part where session_id = ?", l.session)
	l.exec("delete from message where session_id = ?", l.session)
	for _, r := range l.rows {
		data := r.data(l.session, false)
		if r.table == "message" {
			l.exec("insert into message (id, session_id, time_created, time_updated, data) values (?,?,?,?,?)", r.id, l.session, r.created, r.created, data)
		} else {
			l.exec("insert into part (id, message_id, session_id, time_created, time_updated, data) values (?,?,?,?,?,?)", r.id, r.owner, l.session, r.created, r.created, data)
		}
	}
	l.exec("update session set revert = null where id = ?", l.session)
	if l.newest {
		l.exec("update session set model = null where id = ?", l.session)
	}
	for name, v := range l.info {
		data, err := json.Marshal(v)
		if err != nil {
			l.t.Fatal(err)
		}
		l.exec("update session set "+name+" = ? where id = ?", string(data), l.session)
	}
}

func (l *lab) exec(sql string, args ...any) {
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

func (l *lab) storeFiles() {
	root := filepath.Join(l.dir, "storage")
	time.Sleep(100 * time.Millisecond) // the agent still writes about the last prompt
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

// Records, Put, Drop and Replace make a lab a [wound.Store].
func (l *lab) Records() (messages, parts []wound.Record) {
	for _, m := range l.messages() {
		messages = append(messages, l.record(m))
		for _, p := range l.where(func(r *row) bool { return r.owner == m.id }) {
			parts = append(parts, l.record(p))
		}
	}
	return messages, parts
}

func (l *lab) record(r *row) wound.Record {
	return wound.Record{Table: r.table, ID: r.id, Owner: r.owner, Data: r.data(l.session, l.db == nil)}
}

func (l *lab) Put(r wound.Record) {
	at := slices.IndexFunc(l.rows, func(have *row) bool { return have.table == r.Table && have.id == r.ID })
	if at < 0 {
		owner := l.where(func(have *row) bool { return have.id == r.Owner })[0]
		l.rows = append(l.rows, &row{table: r.Table, id: r.ID, owner: r.Owner, created: owner.created})
		at = len(l.rows) - 1
	}
	to := l.rows[at]
	to.raw, to.fields = nil, nil
	if json.Unmarshal([]byte(r.Data), &to.fields) != nil {
		to.raw = &r.Data
		return
	}
	for _, id := range []string{"id", "sessionID", "messageID"} {
		delete(to.fields, id)
	}
}

func (l *lab) Drop(r wound.Record) {
	l.drop(l.where(func(have *row) bool { return have.id == r.ID })...)
}

func (l *lab) Replace(old, to string) {
	for _, r := range l.rows {
		r.id, r.owner = strings.ReplaceAll(r.id, old, to), strings.ReplaceAll(r.owner, old, to)
		data := strings.ReplaceAll(r.data(l.session, false), old, to)
		if err := json.Unmarshal([]byte(data), &r.fields); err != nil {
			l.t.Fatal(err)
		}
	}
}

// messages are the rows of messages, in order.
func (l *lab) messages() []*row {
	return l.where(func(r *row) bool { return r.table == "message" })
}

func (l *lab) where(ok func(*row) bool) []*row {
	var out []*row
	for _, r := range l.rows {
		if ok(r) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *row) int {
		return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.id, b.id))
	})
	return out
}

// message is message number n.
func (l *lab) message(n int) *row { return l.messages()[n] }

// parts are the parts of one type in message number n, in order; of all with
// type "".
func (l *lab) parts(n int, kind string) []*row {
	id := l.message(n).id
	return l.where(func(r *row) bool {
		return r.table == "part" && r.owner == id && (kind == "" || r.fields["type"] == kind)
	})
}

// part is the first part of a type in message number n.
func (l *lab) part(n int, kind string) *row { return l.parts(n, kind)[0] }

// drop takes rows out.
func (l *lab) drop(rows ...*row) {
	l.rows = slices.DeleteFunc(l.rows, func(r *row) bool { return slices.Contains(rows, r) })
}

// add puts a part behind another one.
func (l *lab) add(behind *row, suffix, fields string) {
	l.rows = append(l.rows, l.made("part", behind.id+suffix, behind.owner, behind.created, fields))
}

func (l *lab) made(table, id, owner string, created int64, fields string) *row {
	r := row{table: table, id: id, owner: owner, created: created}
	if err := json.Unmarshal([]byte(fields), &r.fields); err != nil {
		l.t.Fatalf("%s: %v", fields, err)
	}
	return &r
}

// insert puts a message behind message number n, with parts.
func (l *lab) insert(n int, fields string, parts ...string) *row {
	was := l.message(n)
	m := l.made("message", was.id+"m", l.session, was.created+1, fields)
	m.fields["time"] = map[string]any{"created": m.created, "completed": m.created}
	l.rows = append(l.rows, m)
	for i, p := range parts {
		l.rows = append(l.rows, l.made("part", fmt.Sprintf("prt_%s%d", was.id[4:], i), m.id, m.created, p))
	}
	return m
}
