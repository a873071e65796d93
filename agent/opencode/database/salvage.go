package database

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/agent"
	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/salvage"
	"mend/internal/sqlite"
	"mend/sqlstore"
)

// owners link rows to their sessions if no foreign key links them.
var owners = map[string]salvage.Owner{
	"message": {Column: "session_id", Table: "session", Key: "id"},
	"part":    {Column: "session_id", Table: "session", Key: "id"},
	"event":   {Column: "aggregate_id", Table: "event_sequence", Key: "aggregate_id"},
}

// Salvage implements [agent.Store]. A dry run makes the new database in a temporary folder.
func (s *Store) Salvage(ctx context.Context, o agent.SalvageOptions) (out agent.Salvaged, err error) {
	if err := s.CheckFree(ctx); err != nil {
		return out, err
	}
	build := func(path string) (err error) {
		if err := sqlstore.CheckSpace(filepath.Dir(path), s.salvageSize(), "the new database needs"); err != nil {
			return err
		}
		if out, err = s.salvage(ctx, path, o.Progress); err == nil && o.Check != nil {
			err = o.Check(path)
		}
		return err
	}
	if o.DryRun {
		dir, err := os.MkdirTemp("", "mend-salvage-")
		if err != nil {
			return out, err
		}
		err = build(filepath.Join(dir, filepath.Base(s.ID().Root)))
		return out, errors.Join(err, os.RemoveAll(dir))
	}
	b, err := s.Build(ctx, build)
	out.Ops, out.Discard = b.Ops, b.Discard
	return out, err
}

// salvageSize returns the greatest size of the new database in bytes.
func (s *Store) salvageSize() (n int64) {
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Lstat(s.ID().Root + suffix); err == nil {
			n += info.Size()
		}
	}
	return n
}

func (s *Store) salvage(
	ctx context.Context, path string, progress func(done, total int64),
) (out agent.Salvaged, err error) {
	src, closeFiles, err := s.SalvageSource()
	if err != nil {
		return out, fmt.Errorf("reading %s: %w", s.ID().Root, err)
	}
	defer closeFiles()
	j := &salvageJob{
		program: cmp.Or(s.opt.Program, OpenCode), out: &out, rebuilt: map[string]int{}, unassigned: map[string]int{},
		sessions: map[string]*agent.SalvagedSession{}, torn: map[string]map[int64]bool{"message": {}, "part": {}},
	}
	res, err := salvage.Read(ctx, src, path,
		salvage.Options{Known: known, Owners: owners, Row: j.noteTorn, NoRow: j.noRow(), Progress: progress})
	if err != nil {
		return out, fmt.Errorf("reading %s: %w", s.ID().Root, err)
	}
	j.Result, j.db = res, res.DB
	err = j.complete(ctx)
	if err == nil {
		err = j.checkAny()
	}
	if err != nil {
		return out, fmt.Errorf("salvaging %s: %w", s.ID().Root, errors.Join(err, res.DB.Abandon()))
	}
	bad, err := res.DB.Finish(res.Header)
	if err != nil {
		return out, fmt.Errorf("salvaging %s: %w", s.ID().Root, err)
	}
	for _, o := range append(res.Missing, bad...) {
		out.Notes = append(out.Notes,
			fmt.Sprintf("The %s %s cannot be created again: its definition is damaged.", o.Type, o.Name))
	}
	return out, nil
}

// A salvageJob completes a new database: it rebuilds rows, and reports what is lost.
type salvageJob struct {
	*salvage.Result
	db       *salvage.DB
	program  Program
	out      *agent.Salvaged
	sessions map[string]*agent.SalvagedSession
	rebuilt  map[string]int // by table
	// unassigned counts lost rows of unknown sessions, by table.
	unassigned map[string]int
	// torn are the rows with data that is not a JSON object, by table and rowid.
	torn map[string]map[int64]bool
}

func (j *salvageJob) complete(ctx context.Context) error {
	for _, step := range []func() error{
		j.readSessions, j.dropAdded, func() error { return j.rebuildFromEvents(ctx) },
		j.rebuildProjects, j.rebuildCounters, j.rebuildMigrations,
		j.countTorn, j.countLost, j.countOrphans, j.countBare,
	} {
		if err := step(); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	j.report()
	return nil
}

func (j *salvageJob) table(name string) *salvage.Table {
	for _, t := range j.Tables {
		if t.Name == name {
			return t
		}
	}
	return &salvage.Table{Name: name}
}

func (j *salvageJob) hasTable(name string) bool {
	return slices.ContainsFunc(j.Tables, func(t *salvage.Table) bool { return t.Name == name })
}

var conversation = []string{"session", "message", "part"}

// checkAny refuses a new database without any conversation: the file is not a database of OpenCode, or everything is
// lost.
func (j *salvageJob) checkAny() error {
	for _, name := range conversation {
		if !j.hasTable(name) {
			continue
		}
		if found, err := j.db.Has("SELECT 1 FROM " + name + " LIMIT 1"); found || err != nil {
			return err
		}
	}
	return fail.New(fail.Unusable, "look for a copy of the database in a backup",
		"no session or message can be read or rebuilt: it is not a database of OpenCode, or all of it is lost; "+
			"nothing was written")
}

func (j *salvageJob) readSessions() error {
	if !j.hasTable("session") {
		return nil
	}
	return j.db.Query("SELECT id, title FROM session ORDER BY time_created, id", nil, func(st *sqlite3.Stmt) error {
		j.session(st.ColumnText(0)).Title = st.ColumnText(1)
		return nil
	})
}

// session returns the report of a session.
func (j *salvageJob) session(id string) *agent.SalvagedSession {
	s := j.sessions[id]
	if s == nil {
		s = &agent.SalvagedSession{ID: id, Lost: map[string]int{}, Rebuilt: map[string]int{}, Torn: map[string]int{}}
		j.sessions[id] = s
	}
	return s
}

// noteTorn records a row whose data is not a JSON object: some of its bytes are another row's.
func (j *salvageJob) noteTorn(t *salvage.Table, rowid int64, vals []salvage.Value) {
	if torn := j.torn[t.Name]; torn != nil {
		data := t.Column(vals, "data")
		if data.Class == change.ClassText && !record.IsWritten(data.Bytes) {
			torn[rowid] = true
		}
	}
}

// noRow returns a function that reports whether a row found for another table belongs to the table of migrations, which
// has the same columns.
func (j *salvageJob) noRow() func(t *salvage.Table, vals []salvage.Value) bool {
	ids := map[string]bool{}
	for _, m := range j.program.migrations() {
		ids[m.id] = true
	}
	return func(t *salvage.Table, vals []salvage.Value) bool {
		return t.Name != "migration" && ids[vals[0].Text()]
	}
}

// countTorn counts for each session the records with data that is not a JSON object.
func (j *salvageJob) countTorn() error {
	for _, name := range conversation[1:] {
		for rowid := range j.torn[name] {
			err := j.db.Query("SELECT session_id, time_created, data FROM "+name+" WHERE rowid = ?1",
				[]sqlite.Value{sqlite.Int(rowid)}, func(st *sqlite3.Stmt) error {
					if !record.IsWritten(st.ColumnRawText(2)) { // otherwise the row was rebuilt since
						s := j.session(st.ColumnText(0))
						s.Torn[name]++
						s.Span(st.ColumnInt64(1))
					}
					return nil
				})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// rebuildProjects rebuilds the project rows that sessions need: without its project no prompt is answered.
func (j *salvageJob) rebuildProjects() error {
	if !j.hasTable("project") || !j.hasTable("session") || !j.hasTable("message") {
		return nil
	}
	const missing = `INSERT INTO project (id, worktree, time_created, time_updated, sandboxes)
		SELECT project_id, iif(project_id = 'global', '/', coalesce((
				SELECT json_extract(m.data, '$.path.root') FROM message m JOIN session o ON o.id = m.session_id
				WHERE o.project_id = s.project_id AND json_valid(m.data) AND json_extract(m.data, '$.path.root') IS NOT NULL
				LIMIT 1), directory)), min(time_created), min(time_created), '[]'
		FROM session s WHERE project_id NOT IN (SELECT id FROM project) GROUP BY project_id RETURNING id`
	_, err := j.rebuildAll("project", "id", missing)
	return err
}

// rebuildCounters makes the event counter of each session at least the number of its last event: with a lower one
// OpenCode answers no prompt.
func (j *salvageJob) rebuildCounters() error {
	events, table := j.table("event"), j.table("event_sequence")
	isWhole := !events.Damaged && !table.Damaged && table.Lost.Len() == 0
	if !j.hasTable("event") || !j.hasTable("event_sequence") || isWhole {
		return nil
	}
	const lower = `INSERT INTO event_sequence (aggregate_id, seq)
		SELECT aggregate_id, max(seq) FROM event WHERE true GROUP BY aggregate_id
		ON CONFLICT (aggregate_id) DO UPDATE SET seq = excluded.seq WHERE seq < excluded.seq RETURNING aggregate_id`
	made, err := j.rebuildAll(table.Name, "aggregate_id", lower)
	for id := range made {
		j.session(id).Rebuilt[table.Name]++
	}
	return err
}

// rebuildAll runs a statement that writes rows of a table and returns their keys.
func (j *salvageJob) rebuildAll(table, key, sql string) (made map[string]bool, err error) {
	made = map[string]bool{}
	err = j.db.Query(sql, nil, func(st *sqlite3.Stmt) error { made[st.ColumnText(0)] = true; return nil })
	j.rebuilt[table] += len(made)
	t := j.table(table)
	for rowid, known := range t.Lost.All() {
		if made[known[key].Text()] {
			t.Found(rowid)
		}
	}
	return made, err
}

// dropAdded drops tables that were added from a known schema if the migrations show that the database's version did not
// have them yet. Otherwise OpenCode could not create them later.
func (j *salvageJob) dropAdded() error {
	if t := j.table("migration"); len(j.Added) == 0 || !j.hasTable("migration") || !t.Complete() || t.Lost.Len() > 0 ||
		t.Rows == 0 || t.Rows >= len(OpenCode.migrations()) {
		return nil
	}
	for _, o := range j.Added {
		if o.Type == "table" && j.table(o.Name).Rows == 0 {
			if err := j.db.Exec("DROP TABLE " + sqlite3.QuoteIdentifier(o.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func sessionColumn(table string) string {
	switch table {
	case "session":
		return "id"
	case "event", "event_sequence":
		return "aggregate_id"
	}
	return "session_id"
}

// countLost adds lost rows to the report of each session.
func (j *salvageJob) countLost() error {
	messages := map[string]salvage.Known{}
	for _, known := range j.table("message").Lost.All() {
		messages[known["id"].Text()] = known
	}
	for _, t := range j.Tables {
		for _, known := range t.Lost.All() {
			if !t.Damaged {
				break // the index has entries of rows that never existed
			}
			if err := j.countRow(t.Name, known, messages); err != nil {
				return err
			}
		}
		for _, r := range t.Refused {
			if strings.Contains(r.Why, "UNIQUE") {
				continue // the row with this key exists
			}
			if err := j.countRow(t.Name, r.Known, messages); err != nil {
				return err
			}
		}
	}
	return nil
}

func (j *salvageJob) countRow(table string, known salvage.Known, messages map[string]salvage.Known) error {
	id, at := known[sessionColumn(table)].Text(), known["time_created"].Int()
	if message := known["message_id"].Text(); message != "" && (id == "" || at == 0) {
		if m := messages[message]; m != nil {
			id, at = cmp.Or(id, m["session_id"].Text()), cmp.Or(at, m["time_created"].Int())
		} else if err := j.db.Query("SELECT session_id, time_created FROM message WHERE id = ?1",
			[]sqlite.Value{sqlite.Text(message)}, func(st *sqlite3.Stmt) error {
				id, at = cmp.Or(id, st.ColumnText(0)), cmp.Or(at, st.ColumnInt64(1))
				return nil
			}); err != nil {
			return err
		}
	}
	if id == "" || table == "event" && j.sessions[id] == nil && at == 0 && !strings.HasPrefix(id, "ses") {
		j.unassigned[table]++
		return nil
	}
	s := j.session(id)
	s.Lost[table]++
	if table == "message" || table == "part" {
		s.Span(at)
	}
	return nil
}

// countOrphans counts records of lost messages and sessions.
func (j *salvageJob) countOrphans() error {
	count := func(st *sqlite3.Stmt) error {
		j.session(st.ColumnText(0)).Orphans += st.ColumnInt(1)
		return nil
	}
	var err error
	if t := j.table("session"); j.hasTable("session") && j.hasTable("message") && (t.Damaged || t.Lost.Len() > 0) {
		err = j.db.Query("SELECT session_id, count(*) FROM message WHERE session_id NOT IN (SELECT id FROM session) GROUP "+
			"BY session_id", nil, count)
	}
	if t := j.table("message"); err == nil && j.hasTable("message") && j.hasTable("part") && (t.Damaged || t.Lost.Len() > 0) {
		err = j.db.Query("SELECT session_id, count(*) FROM part WHERE NOT EXISTS (SELECT 1 FROM message WHERE message.id = "+
			"part.message_id) GROUP BY session_id", nil, count)
	}
	return err
}

// countBare notes the sessions that have messages without any part. It does so only if the sessions of some lost parts
// are unknown.
func (j *salvageJob) countBare() error {
	if !j.hasTable("message") || !j.hasTable("part") || j.table("part").Complete() && j.unassigned["part"] == 0 {
		return nil
	}
	const bare = "SELECT session_id, sum(id NOT IN (SELECT message_id FROM part WHERE message_id IS NOT NULL)) AS bare, " +
		"count(*) FROM message GROUP BY session_id HAVING bare > 0"
	return j.db.Query(bare, nil, func(st *sqlite3.Stmt) error {
		s := j.session(st.ColumnText(0))
		s.Notes = append(s.Notes, fmt.Sprintf("%d of its %d messages are empty: their content is probably lost.",
			st.ColumnInt(1), st.ColumnInt(2)))
		return nil
	})
}

func (j *salvageJob) report() {
	var refused []string
	for _, t := range j.Tables {
		one := agent.SalvagedTable{
			Name: t.Name, Rows: t.Rows + j.rebuilt[t.Name], Rebuilt: j.rebuilt[t.Name],
			Partly: !t.Complete(), Conversation: slices.Contains(conversation, t.Name),
		}
		if one.Conversation {
			one.Unassigned = j.unassigned[t.Name]
		}
		if t.Damaged {
			one.Lost = t.Lost.Len()
		}
		for _, r := range t.Refused {
			if !strings.Contains(r.Why, "UNIQUE") {
				one.Refused++
				refused = append(refused, fmt.Sprintf("The row %q of %s can be read, but the database refuses it: %s. It stays "+
					"in the damaged file.", r.Known["id"].Text(), t.Name, r.Why))
			}
		}
		j.out.Damaged = j.out.Damaged || t.Damaged || t.Lost.Len() > 0
		j.out.Tables = append(j.out.Tables, one)
	}
	j.out.Damaged = j.out.Damaged || j.SchemaDamaged || j.ForeignWAL || j.Unreadable > 0 || !j.Header.Intact
	for _, s := range j.sessions {
		j.out.Sessions = append(j.out.Sessions, *s)
	}
	slices.SortFunc(j.out.Sessions, func(a, b agent.SalvagedSession) int { return cmp.Compare(a.ID, b.ID) })
	if j.ForeignWAL {
		note := "Its -wal is older than the database, and was not used: the database has what was written after it."
		if !j.OldWAL {
			note = fmt.Sprintf("Its -wal belongs to another database, or to another state of this one. %d rows come from it, "+
				"because their sessions exist.", j.FromWAL)
		}
		j.out.Notes = append(j.out.Notes, note)
	}
	if j.Unreadable > 0 {
		j.out.Notes = append(j.out.Notes, fmt.Sprintf("The disk could not read %d of its pages.", j.Unreadable))
	}
	if len(j.Added) > 0 {
		j.out.Notes = append(j.out.Notes, "A part of its schema cannot be read, and was taken from a known version of "+
			"OpenCode.")
	}
	j.out.Notes = append(j.out.Notes, refused...)
}
