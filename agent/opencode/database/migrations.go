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
	"mend/sqlstore"
)

// What is known of the schema: fresh.sql is that of a database that OpenCode 1.18.33 makes, migrations.sql has the statements by which
// 1.18.34 brings an older one there, each migration below its id, and those that Kilo alone has.
//
//go:embed known/*.sql
var knownFiles embed.FS

func knownFile(name string) string {
	data, _ := knownFiles.ReadFile("known/" + name)
	return string(data)
}

// A migration is a step from one schema to the next. OpenCode makes each in one transaction with the row that has its id.
type migration struct{ id, sql string }

// migrations returns those of the program, in their order.
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

// drizzleCount is the number of migrations of 1.2.27: it, and what is older, looks for their rows in __drizzle_migrations. A newer
// program takes these over if it finds none in its own table.
const drizzleCount = 9

const (
	newTable = "CREATE TABLE `migration` (id TEXT PRIMARY KEY, time_completed INTEGER NOT NULL)"
	oldTable = "CREATE TABLE \"__drizzle_migrations\" (\n\t\t\t\tid INTEGER PRIMARY KEY,\n\t\t\t\thash text NOT NULL,\n\t\t\t\tcreated_at numeric,\n\t\t\t\tname text,\n\t\t\t\tapplied_at TEXT\n\t\t\t)"
)

// A sketch is a database without rows, in memory.
type sketch struct{ *salvage.DB }

func newSketch(objects []salvage.Object) (sketch, error) {
	db, err := salvage.Sketch(objects)
	return sketch{db}, err
}

func (s sketch) end() { _ = s.Close() } // nothing is kept

// apply makes a migration, as the program does: what this one adds may be there.
func (s sketch) apply(m migration) error {
	err := s.Exec(m.sql)
	if strings.HasSuffix(m.id, "_session-metadata") {
		return nil
	}
	return err
}

// columns returns the columns of each table.
func (s sketch) columns() (map[string][]string, error) {
	all := map[string][]string{}
	return all, s.Query(selectColumns, columnTo(all))
}

const selectColumns = "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_xinfo(t.name) c WHERE t.type = 'table'"

// columnTo returns a function that adds a row of selectColumns to columns by table.
func columnTo(all map[string][]string) func(*sqlite3.Stmt) error {
	return func(st *sqlite3.Stmt) error {
		all[st.ColumnText(0)] = append(all[st.ColumnText(0)], st.ColumnText(1))
		return nil
	}
}

// knownSchemas returns the schemas that databases of OpenCode have: that of a new one, and those that migrations lead to, the newest first.
var knownSchemas = sync.OnceValue(func() (all [][]salvage.Object) {
	fresh, err := newSketch(nil)
	if err != nil {
		return nil
	}
	defer fresh.end()
	s, err := newSketch(nil)
	if err != nil {
		return nil
	}
	defer s.end()
	for i, m := range OpenCode.migrations() {
		if s.apply(m) != nil {
			return nil
		}
		objects, err := s.Objects()
		if err != nil {
			return nil
		}
		tables := []salvage.Object{{Type: "table", Name: "__drizzle_migrations", Table: "__drizzle_migrations", SQL: oldTable}}
		if i >= drizzleCount {
			tables = append(tables, salvage.Object{Type: "table", Name: "migration", Table: "migration", SQL: newTable})
		}
		all = append(all, append(tables, objects...))
	}
	if fresh.Exec(knownFile("fresh.sql")) == nil {
		if objects, err := fresh.Objects(); err == nil {
			all = append(all, objects)
		}
	}
	slices.Reverse(all)
	return all
})

// sameSQL reports whether two statements differ in their white space at most.
func sameSQL(a, b string) bool {
	plain := func(s string) string {
		return strings.NewReplacer("`", "", `"`, "", "IF NOT EXISTS", "").Replace(strings.Join(strings.Fields(s), ""))
	}
	return plain(a) == plain(b)
}

// known returns the schemas that have all of what could be read of a file's own; none if the file is of another version, or of
// another program.
func known(have []salvage.Object) (fit [][]salvage.Object) {
	for _, k := range knownSchemas() {
		has := func(own salvage.Object) bool {
			return own.SQL == "" || strings.HasPrefix(own.Name, "sqlite_") || slices.ContainsFunc(k, func(o salvage.Object) bool { return o.Name == own.Name && sameSQL(o.SQL, own.SQL) })
		}
		if !slices.ContainsFunc(have, func(own salvage.Object) bool { return !has(own) }) {
			fit = append(fit, k)
		}
	}
	return fit
}

// A schemaFault says why the program does not work with the schema of its database.
type schemaFault struct{ table, why string }

// faultOf returns what the program meets that finds a database with the objects, and rows of the migrations with the ids: it makes
// those that have no row, and then needs its columns. columns returns those of the database.
func (p Program) faultOf(objects []salvage.Object, ids []string, columns func() (map[string][]string, error)) (*schemaFault, error) {
	if len(ids) == 0 {
		return &schemaFault{"migration", "no row says which migrations it had, so " + p.title() + " does not start"}, nil
	}
	all := p.migrations()
	last := all[len(all)-1].id
	all = slices.DeleteFunc(all, func(m migration) bool { return slices.Contains(ids, m.id) })
	if len(all) > 0 {
		s, err := newSketch(objects)
		if err != nil {
			return nil, err
		}
		defer s.end()
		columns = s.columns
		for _, m := range all {
			if err := s.apply(m); err != nil {
				why := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "sqlite3: "), "SQL logic error: ")
				return &schemaFault{"migration", fmt.Sprintf("no row says that it had the migration %s, and it cannot be made (%s), so %s does not start", m.id, why, p.title())}, nil
			}
		}
	}
	if newer := slices.ContainsFunc(ids, func(id string) bool { return id > last }); newer || p != OpenCode {
		return nil, nil // what that needs is not known
	}
	have, err := columns()
	if err != nil {
		return nil, err
	}
	for _, table := range neededTables {
		for _, c := range neededColumns()[table] {
			if !slices.Contains(have[table], c) {
				why := fmt.Sprintf("it has no column %s, which OpenCode needs", c)
				if len(have[table]) == 0 {
					why = "it is missing, and OpenCode needs it"
				}
				return &schemaFault{table, why}, nil
			}
		}
	}
	return nil, nil
}

// title is how the program is called.
func (p Program) title() string {
	if p == Kilo {
		return "Kilo"
	}
	return "OpenCode"
}

// checkMigrations returns a [*change.DamagedError] if the rows of the migrations and the schema do not fit: OpenCode then ends at its
// start, or at the next prompt.
func (s *Store) checkMigrations(ctx context.Context) error {
	return s.View(ctx, func(c *sqlstore.Conn) error {
		var objects []salvage.Object
		if err := c.Query(salvage.SelectObjects, nil, salvage.ObjectTo(&objects)); err != nil {
			return err
		}
		_, ids, err := migrationRows(func(sql string) ([]string, error) { return c.Strings(sql) })
		if err != nil {
			return err
		}
		columns := func() (map[string][]string, error) {
			all := map[string][]string{}
			return all, c.Query(selectColumns+" AND t.name IN ('"+strings.Join(neededTables, "', '")+"')", nil, columnTo(all))
		}
		fault, err := cmp.Or(s.opt.Program, OpenCode).faultOf(objects, ids, columns)
		if fault == nil {
			return err
		}
		damage := &change.DamagedError{File: s.ID().Root, Why: fault.why, Tables: []string{fault.table}}
		why := damage.Error()
		s.misfit.Store(&why)
		return damage
	})
}

// migrationRows returns the ids of the migrations that a database had, and the table that has them.
func migrationRows(query func(sql string) ([]string, error)) (table string, ids []string, err error) {
	tables, err := query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN ('migration', '__drizzle_migrations') ORDER BY name DESC")
	for _, table = range tables {
		if err != nil {
			break
		}
		column := "id"
		if table != "migration" {
			column = "name"
			cols, err := query("SELECT name FROM pragma_table_xinfo('__drizzle_migrations') WHERE name = 'name'")
			if err != nil {
				return "", nil, err
			}
			if len(cols) == 0 { // of the first versions
				column = "strftime('%Y%m%d%H%M%S', created_at / 1000, 'unixepoch')"
			}
		}
		ids, err = query("SELECT " + column + " FROM " + table + " WHERE " + column + " IS NOT NULL")
		if len(ids) > 0 {
			break
		}
	}
	known := OpenCode.migrations()
	for i, id := range ids { // a time alone stands for the migration of it
		for _, m := range known {
			if strings.HasPrefix(m.id, id+"_") {
				ids[i] = m.id
			}
		}
	}
	return table, ids, err
}

// rebuildMigrations makes the rows of the migrations fit the schema: as if the database had those that lead to it. What follows the
// program makes when it starts. A schema to which none lead gets what it lacks of that of a new database.
func (j *salvageJob) rebuildMigrations() error {
	query := func(sql string) (all []string, err error) {
		err = j.db.Query(sql, func(st *sqlite3.Stmt) error { all = append(all, st.ColumnText(0)); return nil })
		return all, err
	}
	table, ids, err := migrationRows(query)
	if err != nil {
		return err
	}
	objects, err := j.db.Objects()
	if err != nil {
		return err
	}
	fault, err := j.program.faultOf(objects, ids, sketch{j.db}.columns)
	if t := j.table(table); err != nil || fault == nil && !t.Damaged && len(t.Lost) == 0 && !j.SchemaDamaged {
		return err
	}
	all := j.program.migrations()
	ids = slices.DeleteFunc(ids, func(id string) bool { return slices.ContainsFunc(all, func(m migration) bool { return m.id == id }) })
	n, err := j.countMigrations(objects, ids)
	if err == nil && n == 0 && j.program == OpenCode {
		if objects, err = j.completeSchema(objects); err == nil {
			table = cmp.Or(table, "migration")
			n, err = j.countMigrations(objects, ids)
		}
	}
	switch {
	case err != nil || n == 0 && fault == nil:
		return err
	case n == 0:
		return fail.New(fail.Unusable, "", "%s, and it is of no version that mend knows", fault.why)
	}
	return j.writeMigrations(table, n)
}

// countMigrations returns how many migrations lead to a schema, 0 if that is not known. others are ids that mend does not know.
func (j *salvageJob) countMigrations(objects []salvage.Object, others []string) (int, error) {
	ids := slices.Clone(others)
	for _, m := range j.program.migrations() {
		ids = append(ids, m.id)
	}
	for n := len(ids) - len(others); n > 0; n-- {
		if fault, err := j.program.faultOf(objects, ids[:len(others)+n], sketch{j.db}.columns); fault == nil || err != nil {
			return n, err
		}
	}
	return 0, nil
}

// writeMigrations makes the rows those of the first n migrations.
func (j *salvageJob) writeMigrations(table string, n int) error {
	switch {
	case table == "" && n <= drizzleCount:
		table = "__drizzle_migrations"
		if err := j.db.Exec(oldTable); err != nil {
			return err
		}
	case table == "":
		table = "migration"
		if err := j.db.Exec(newTable); err != nil {
			return err
		}
	}
	insert := "INSERT INTO migration (id, time_completed) SELECT ?1, 0 WHERE ?2 AND ?1 NOT IN (SELECT id FROM migration)"
	remove := "DELETE FROM migration WHERE id = ?1 AND ?2"
	if table != "migration" {
		named := false
		err := j.db.Query("SELECT 1 FROM pragma_table_xinfo('__drizzle_migrations') WHERE name = 'name'", func(*sqlite3.Stmt) error { named = true; return nil })
		if err != nil {
			return err
		}
		insert = "INSERT INTO __drizzle_migrations (hash, created_at) SELECT '', ?2 WHERE ?1 <> '' AND ?2 NOT IN (SELECT created_at FROM __drizzle_migrations)"
		remove = "DELETE FROM __drizzle_migrations WHERE created_at = ?2 AND ?1 <> ''"
		if named {
			insert = "INSERT INTO __drizzle_migrations (hash, created_at, name) SELECT '', ?2, ?1 WHERE ?1 NOT IN (SELECT name FROM __drizzle_migrations WHERE name IS NOT NULL)"
			remove = "DELETE FROM __drizzle_migrations WHERE name = ?1 AND ?2"
		}
	}
	for i, m := range j.program.migrations() {
		at, err := time.Parse("20060102150405", m.id[:14])
		if err != nil {
			return err
		}
		sql := insert
		if i >= n {
			sql = remove
		}
		before := j.db.TotalChanges()
		if err := j.db.Query(sql, nil, m.id, at.UnixMilli()); err != nil {
			return err
		}
		changed := int(j.db.TotalChanges() - before)
		if i < n {
			j.rebuilt[table] += changed
		} else if changed > 0 && i == n {
			j.out.Notes = append(j.out.Notes, fmt.Sprintf("Its schema is that before the migration %s: %s makes this one and the later ones when it starts.", m.id, j.program.title()))
		}
	}
	clear(j.table(table).Lost)
	return nil
}

// completeSchema adds the tables, columns and indexes that a new database has and this one has not.
func (j *salvageJob) completeSchema(have []salvage.Object) ([]salvage.Object, error) {
	s, err := newSketch(have)
	if err != nil {
		return nil, err
	}
	defer s.end()
	columns, err := s.columns()
	if err != nil {
		return nil, err
	}
	for _, o := range knownSchemas()[0] {
		there := slices.ContainsFunc(have, func(own salvage.Object) bool { return own.Name == o.Name })
		if !there {
			if err := j.db.Exec(o.SQL); err != nil {
				return nil, fmt.Errorf("making the %s %s: %w", o.Type, o.Name, err)
			}
			j.out.Notes = append(j.out.Notes, fmt.Sprintf("The %s %s was missing, and is new.", o.Type, o.Name))
			continue
		}
		for line := range strings.Lines(o.SQL) {
			name, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "`"), "`")
			if o.Type != "table" || !ok || !strings.HasPrefix(strings.TrimSpace(line), "`") || slices.Contains(columns[o.Name], name) {
				continue
			}
			if err := j.db.Exec("ALTER TABLE " + sqlite3.QuoteIdentifier(o.Name) + " ADD " + strings.TrimRight(strings.TrimSpace(line), ",")); err != nil {
				return nil, fmt.Errorf("adding the column %s.%s: %w", o.Name, name, err)
			}
			j.out.Notes = append(j.out.Notes, fmt.Sprintf("The column %s.%s was missing, and is new.", o.Name, name))
		}
	}
	return j.db.Objects()
}

// neededTables are those without which OpenCode 1.18.34 ends at its start or answers no prompt: TestRealMigrations.
var neededTables = []string{"account_state", "event", "event_sequence", "message", "part", "project", "session"}

// neededColumns returns the columns of these tables that it needs.
var neededColumns = sync.OnceValue(func() map[string][]string {
	needed := map[string][]string{"account_state": {"id"}}
	for sql := range strings.SplitSeq(knownFile("fresh.sql"), "\n;\n") {
		table, _, _ := strings.Cut(strings.TrimPrefix(sql, "CREATE TABLE `"), "`")
		if table != "account_state" && slices.Contains(neededTables, table) {
			needed[table] = columnNames(sql)
		}
	}
	return needed
})

// columnNames returns the columns in the statement by which OpenCode makes a table.
func columnNames(sql string) (names []string) {
	for line := range strings.Lines(sql) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "`"); ok {
			name, _, _ = strings.Cut(name, "`")
			names = append(names, name)
		}
	}
	return names
}
