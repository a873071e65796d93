package database

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/salvage"
	"mend/internal/sqlite"
	"mend/sqlstore"
)

// The known schemas: fresh.sql is the schema of a new database of OpenCode 1.18.33; migrations.sql has the statements
// with which 1.18.34 updates an older database, each migration below its id, and the migrations that only Kilo has.
//
//go:embed known/*.sql
var knownFiles embed.FS

func knownFile(name string) string {
	data, _ := knownFiles.ReadFile("known/" + name)
	return string(data)
}

// A migration is a step from one schema to the next. OpenCode applies each in one transaction, together with the row
// that records its id.
type migration struct{ id, sql string }

// migrations returns the migrations of the program, in order.
func (p Program) migrations() (all []migration) {
	for text := range strings.SplitSeq(knownFile("migrations.sql"), "-- ") {
		heading, sql, _ := strings.Cut(text, "\n")
		id, only, _ := strings.Cut(heading, " ")
		if id != "" && (only == "" || only == string(p)) {
			all = append(all, migration{id, sql})
		}
	}
	return all
}

// drizzleCount is the number of migrations of 1.2.27. That version and older ones record migrations in
// drizzleTable. A newer program whose own table is empty copies these rows.
const drizzleCount = 9

const drizzleTable = "__drizzle_migrations"

const (
	newTable = "CREATE TABLE `migration` (id TEXT PRIMARY KEY, time_completed INTEGER NOT NULL)"
	oldTable = "CREATE TABLE \"" + drizzleTable + "\" (\n\t\t\t\tid INTEGER PRIMARY KEY,\n\t\t\t\thash text NOT " +
		"NULL,\n\t\t\t\tcreated_at numeric,\n\t\t\t\tname text,\n\t\t\t\tapplied_at TEXT\n\t\t\t)"
)

// apply applies a migration to a database in memory. Like the program, it ignores an error of session-metadata, whose
// column may already exist.
func (m migration) apply(db *salvage.DB) error {
	err := db.Exec(m.sql)
	if strings.HasSuffix(m.id, "_session-metadata") {
		return nil
	}
	return err
}

// columnsOf returns the columns of each table of a database.
func columnsOf(db *sqlite.Statements) (map[string][]string, error) {
	all := map[string][]string{}
	const columns = "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_xinfo(t.name) c WHERE t.type = 'table'"
	return all, db.Query(columns, nil, func(st *sqlite3.Stmt) error {
		all[st.ColumnText(0)] = append(all[st.ColumnText(0)], st.ColumnText(1))
		return nil
	})
}

// knownSchemas returns the schemas of OpenCode's databases, newest first: the schema of a new database, and the schemas
// after each migration.
var knownSchemas = sync.OnceValue(func() (all [][]salvage.Object) {
	db, err := salvage.Sketch(nil)
	if err != nil {
		return nil
	}
	defer func() { _ = db.Close() }()
	for i, m := range OpenCode.migrations() {
		if m.apply(db) != nil {
			return nil
		}
		objects, err := db.Objects()
		if err != nil {
			return nil
		}
		tables := []salvage.Object{{Type: "table", Name: drizzleTable, SQL: oldTable}}
		if i >= drizzleCount {
			tables = append(tables, salvage.Object{Type: "table", Name: "migration", SQL: newTable})
		}
		all = append(all, append(tables, objects...))
	}
	fresh, err := salvage.Sketch(nil)
	if err != nil {
		return nil
	}
	defer func() { _ = fresh.Close() }()
	if err = fresh.Exec(knownFile("fresh.sql")); err == nil {
		objects, err := fresh.Objects()
		if err == nil {
			all = append(all, objects)
		}
	}
	slices.Reverse(all)
	return all
})

// sameSQL reports whether two statements are equal except for white space, quotes and IF NOT EXISTS.
func sameSQL(a, b string) bool {
	plain := func(s string) string {
		return strings.NewReplacer("`", "", `"`, "", "IF NOT EXISTS", "").Replace(strings.Join(strings.Fields(s), ""))
	}
	return plain(a) == plain(b)
}

// known returns the newest schema that includes every object that could be read from a file's own schema; nil if the
// file belongs to an unknown version or another program.
func known(have []salvage.Object) []salvage.Object {
	for _, k := range knownSchemas() {
		isIn := func(own salvage.Object) bool {
			same := func(o salvage.Object) bool { return o.Name == own.Name && sameSQL(o.SQL, own.SQL) }
			return own.SQL == "" || strings.HasPrefix(own.Name, "sqlite_") || slices.ContainsFunc(k, same)
		}
		if !slices.ContainsFunc(have, func(own salvage.Object) bool { return !isIn(own) }) {
			return k
		}
	}
	return nil
}

// A schemaFault explains why the program does not work with the schema of its database.
type schemaFault struct{ table, why string }

// missingMigrations returns the migrations that are not among ids, in order.
func (p Program) missingMigrations(ids []string) []migration {
	return slices.DeleteFunc(p.migrations(), func(m migration) bool { return slices.Contains(ids, m.id) })
}

// faultOf returns why the program fails with a database that has these objects and columns, and rows for the
// migrations ids. The program applies the other migrations, and then needs its columns.
func (p Program) faultOf(objects []salvage.Object, columns map[string][]string, ids []string) (*schemaFault, error) {
	if old := columns[drizzleTable]; len(ids) == 0 && len(old) > 0 && !slices.Contains(old, "name") {
		return nil, nil // the first versions recorded only times
	}
	if len(ids) == 0 {
		return &schemaFault{"migration", "no row records which migrations were run, so " + p.title() + " does not start"}, nil
	}
	if lost := p.missingMigrations(ids); len(lost) > 0 {
		db, err := salvage.Sketch(objects)
		if err != nil {
			return nil, err
		}
		defer func() { _ = db.Close() }()
		for _, m := range lost {
			if err := m.apply(db); err != nil {
				why := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "sqlite3: "), "SQL logic error: ")
				why = fmt.Sprintf("no row records the migration %s, and it cannot be run (%s), so %s does not start",
					m.id, why, p.title())
				return &schemaFault{"migration", why}, nil
			}
		}
		if columns, err = columnsOf(db.Statements); err != nil {
			return nil, err
		}
	}
	all := p.migrations()
	if last := all[len(all)-1].id; p != OpenCode || slices.ContainsFunc(ids, func(id string) bool { return id > last }) {
		return nil, nil // the needs of a newer or another program are unknown
	}
	for _, t := range needed {
		if len(columns[t.table]) == 0 {
			return &schemaFault{t.table, "it is missing, and OpenCode needs it"}, nil
		}
		for c := range strings.FieldsSeq(t.columns) {
			if !slices.Contains(columns[t.table], c) {
				return &schemaFault{t.table, fmt.Sprintf("it has no column %s, which OpenCode needs", c)}, nil
			}
		}
	}
	return nil, nil
}

// title returns the displayed name of the program.
func (p Program) title() string {
	if p == Kilo {
		return "Kilo"
	}
	return "OpenCode"
}

// checkMigrations returns a [*change.DamagedError] if the rows of the migrations do not match the schema: OpenCode
// then fails at its start, or at the next prompt.
func (s *Store) checkMigrations(ctx context.Context) error {
	return s.View(ctx, func(c *sqlstore.Conn) error {
		objects, err := salvage.Objects(c.Statements)
		if err != nil {
			return err
		}
		columns, err := columnsOf(c.Statements)
		if err != nil {
			return err
		}
		_, ids, err := migrationsOf(c.Statements, columns)
		if err != nil {
			return err
		}
		fault, err := cmp.Or(s.opt.Program, OpenCode).faultOf(objects, columns, ids)
		if fault == nil {
			return err
		}
		damage := &change.DamagedError{File: s.ID().Root, Why: fault.why, Parts: []string{"the table " + fault.table}}
		why := damage.Error()
		s.misfit.Store(&why)
		return damage
	})
}

// migrationsOf returns the ids of the completed migrations of a database with these columns, and the table with their
// rows.
func migrationsOf(db *sqlite.Statements, columns map[string][]string) (table string, ids []string, err error) {
	for _, t := range [...]struct{ name, id string }{{"migration", "id"}, {drizzleTable, "name"}} {
		if !slices.Contains(columns[t.name], t.id) {
			continue
		}
		table = t.name
		ids, err = db.Strings("SELECT " + t.id + " FROM " + t.name + " WHERE " + t.id + " IS NOT NULL")
		if err != nil || len(ids) > 0 {
			break
		}
	}
	return table, ids, err
}

// rebuildMigrations rebuilds lost rows of migrations: as many as the schema allows. The program applies the later
// migrations when it starts.
func (j *salvageJob) rebuildMigrations() error {
	objects, err := j.db.Objects()
	if err != nil {
		return err
	}
	columns, err := columnsOf(j.db.Statements)
	if err != nil {
		return err
	}
	table, ids, err := migrationsOf(j.db.Statements, columns)
	if err != nil {
		return err
	}
	fault, err := j.program.faultOf(objects, columns, ids)
	if err != nil || fault == nil {
		return err
	}
	for lost := j.program.missingMigrations(ids); len(lost) > 0; lost = lost[:len(lost)-1] {
		completed := slices.Clone(ids)
		for _, m := range lost {
			completed = append(completed, m.id)
		}
		if left, err := j.program.faultOf(objects, columns, completed); err != nil {
			return err
		} else if left == nil {
			return j.writeMigrations(table, lost)
		}
	}
	return fail.New(fail.Unusable, "look for a copy of the database in a backup",
		"%s, and mend does not know its version", fault.why)
}

// writeMigrations adds the rows of migrations.
func (j *salvageJob) writeMigrations(table string, lost []migration) error {
	if table == "" {
		create := newTable
		if table = "migration"; len(lost) <= drizzleCount {
			table, create = drizzleTable, oldTable
		}
		if err := j.db.Exec(create); err != nil {
			return err
		}
	}
	insert := "INSERT INTO migration (id, time_completed) VALUES (?1, ?2)"
	if table == drizzleTable {
		insert = "INSERT INTO " + drizzleTable + " (hash, created_at, name) VALUES ('', ?2, ?1)"
	}
	for _, m := range lost {
		at, err := time.Parse("20060102150405", m.id[:14])
		if err == nil {
			err = j.db.Query(insert, []sqlite.Value{sqlite.Text(m.id), sqlite.Int(at.UnixMilli())}, nil)
		}
		if err != nil {
			return err
		}
	}
	j.rebuilt[table] += len(lost)
	j.table(table).Lost.Clear()
	return nil
}

// needed has the tables and columns without which OpenCode 1.18.34 fails at its start or answers no prompt, see
// TestRealMigrations.
var needed = []struct{ table, columns string }{
	{"account_state", "id"},
	{"event", "id aggregate_id seq type data"},
	{"event_sequence", "aggregate_id seq owner_id"},
	{"message", "id session_id time_created time_updated data"},
	{"part", "id message_id session_id time_created time_updated data"},
	{"project", "id worktree vcs name icon_url icon_url_override icon_color time_created time_updated " +
		"time_initialized sandboxes commands"},
	{"session", "id project_id workspace_id parent_id slug directory path title version share_url " +
		"summary_additions summary_deletions summary_files summary_diffs metadata cost tokens_input " +
		"tokens_output tokens_reasoning tokens_cache_read tokens_cache_write revert permission agent " +
		"model time_created time_updated time_compacting time_archived"},
}
