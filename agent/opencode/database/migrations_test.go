package database

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/agent"
	"mend/change"
	"mend/internal/test/dbtest"
	"mend/internal/test/storetest"
)

// migrate applies the first n migrations to a database, and adds the rows of the first rows migrations.
func migrate(t *testing.T, path string, n, rows int) {
	t.Helper()
	c := dbtest.Agent(t, path)
	defer func() { _ = c.Close() }()
	dbtest.Exec(t, c, "PRAGMA foreign_keys=OFF; %s", newTable)
	for i, m := range OpenCode.migrations() {
		if i >= drizzleCount && i < n {
			dbtest.Exec(t, c, "%s", m.sql)
		}
		if i < rows {
			dbtest.Exec(t, c, "INSERT INTO migration VALUES ('%s', 1)", m.id)
		}
	}
}

// fault returns why a database is damaged, "" if it is healthy.
func fault(t *testing.T, path string) string {
	t.Helper()
	s, err := Open(path, Options{})
	if err == nil {
		err = s.CheckFile(context.Background(), change.CheckAll)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// TestMigrations: a database that stopped at any step of its migrations is healthy, because the program continues them.
// If its rows list fewer migrations than the schema shows, it is damaged, and a salvage makes it healthy. If they list
// more, a salvage refuses, or makes it healthy. (TestRealMigrations compares this with the program.)
func TestMigrations(t *testing.T) {
	storetest.Long(t)
	all := OpenCode.migrations()
	again := map[int]bool{11: true, 21: true, 22: true, 29: true, 30: true, 34: true, 37: true, 38: true} // these can be applied twice
	for n := drizzleCount; n <= len(all); n++ {
		if first := n == drizzleCount; !storetest.AllCases() && !first && n < len(all) && !again[n] {
			continue
		}
		for _, rows := range []int{n, n - 1, n + 1, len(all)} {
			if rows > len(all) || rows == len(all) && n%9 > 0 {
				continue
			}
			path, _ := dbtest.Unpack(t, "1.2.27")
			migrate(t, path, n, rows)
			why, healthy := fault(t, path), true
			for i := rows + 1; i <= n; i++ {
				healthy = healthy && again[i]
			}
			name := fmt.Sprintf("%d migrations, rows of %d", n, rows)
			if rows <= n && healthy != (why == "") {
				t.Errorf("%s: %q", name, why)
			}
			if why == "" || n%storetest.Count(1, 2) > 0 {
				continue
			}
			s, err := Open(path, Options{})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			_, err = s.Salvage(t.Context(), agent.SalvageOptions{DryRun: true, Check: func(fresh string) error {
				if why := fault(t, fresh); why != "" {
					t.Errorf("%s: salvaged: %s", name, why)
				}
				return nil
			}})
			if refused := err != nil && strings.Contains(err.Error(), noVersion); refused && rows <= n || err != nil && !refused {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// noVersion is the error of a salvage for a schema that it cannot complete.
const noVersion = "mend does not know its version"

// TestMigratedSchemaLost: a migrated table has its columns in another order than a new table. A salvage finds
// out the order if the schema is lost.
func TestMigratedSchemaLost(t *testing.T) {
	storetest.Long(t)
	for _, n := range []int{drizzleCount, 17, 29, 38} {
		path, _ := dbtest.Unpack(t, "1.2.27")
		if n > drizzleCount {
			migrate(t, path, n, n)
		}
		dbtest.Alter(t, path, "PRAGMA journal_mode=DELETE")
		want := titles(t, path)
		data, err := os.ReadFile(path)
		dbtest.Must(t, err)
		clear(data[100:4096])
		dbtest.Write(t, path, string(data))
		s, err := Open(path, Options{})
		dbtest.Must(t, err)
		_, err = s.Salvage(t.Context(), agent.SalvageOptions{DryRun: true, Check: func(fresh string) error {
			if got := titles(t, fresh); got != want {
				t.Errorf("%d migrations: the sessions are\n%swant\n%s", n, got, want)
			}
			if why := fault(t, fresh); why != "" {
				t.Errorf("%d migrations: %s", n, why)
			}
			return nil
		}})
		if err != nil {
			t.Errorf("%d migrations: %v", n, err)
		}
	}
}

// titles returns the values of each session's row that a list shows.
func titles(t *testing.T, path string) string {
	t.Helper()
	c := dbtest.Agent(t, path)
	defer func() { _ = c.Close() }()
	var b strings.Builder
	st, _, err := c.Prepare("SELECT id, project_id, directory, title, version, time_created, time_updated FROM session ORDER BY id")
	dbtest.Must(t, err)
	for st.Step() {
		for i := range 7 {
			b.WriteString(st.ColumnText(i) + "|")
		}
		b.WriteString("\n")
	}
	_ = st.Close()
	return b.String()
}

// TestHostileSchema: of the statements in a file's schema a salvage runs only those that create objects of that file.
// It runs no second statement, no statement on another file, and no query that never ends.
func TestHostileSchema(t *testing.T) {
	storetest.Long(t)
	for name, sql := range map[string]string{
		"a second statement": "CREATE TABLE evil (x); ATTACH '%s' AS other; CREATE TABLE other.evil (x)",
		"another statement":  "ATTACH '%s' AS other",
		"a copy":             "VACUUM INTO '%s'",
		"an endless select":  "CREATE TABLE evil AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x, '%s' FROM c",
	} {
		t.Run(name, func(t *testing.T) {
			path, _ := dbtest.Unpack(t, "1.2.27")
			foreign := filepath.Join(t.TempDir(), "foreign.db")
			c := dbtest.Agent(t, path)
			dbtest.Exec(t, c, "PRAGMA writable_schema=ON; INSERT INTO sqlite_schema SELECT 'table', 'evil', 'evil', rootpage, '%s' FROM sqlite_schema WHERE name = 'todo'",
				strings.ReplaceAll(fmt.Sprintf(sql, foreign), "'", "''"))
			_ = c.Close()
			s, err := Open(path, Options{})
			dbtest.Must(t, err)
			t.Log(s.CheckFile(t.Context(), change.CheckAll))
			_, err = s.Salvage(t.Context(), agent.SalvageOptions{DryRun: true, Check: func(fresh string) error {
				t.Log(fault(t, fresh))
				return nil
			}})
			t.Log(err)
			if _, err := os.Lstat(foreign); err == nil {
				t.Error("another file was created")
			}
		})
	}
}
