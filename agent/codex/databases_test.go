package codex_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	fixture "mend/internal/test/codex"
)

// makeDatabase creates a database with the first migration of Codex 0.171.0.
func makeDatabase(t *testing.T, path, checksum string, sql ...string) {
	t.Helper()
	db, err := sqlite3.Open(path)
	if err == nil {
		text := fmt.Sprintf(`PRAGMA journal_mode = wal; CREATE TABLE _sqlx_migrations (version INTEGER PRIMARY KEY, success INTEGER, checksum BLOB);
			CREATE TABLE threads (id TEXT PRIMARY KEY, rollout_path TEXT);
			INSERT INTO _sqlx_migrations VALUES (1, 1, x'%s')`, checksum)
		err = errors.Join(db.Exec(text+"; "+strings.Join(sql, "; ")), db.Close())
	}
	must(t, err)
}

// TestDatabases: mend finds the databases that Codex 0.171.0 cannot use but can create again, and sets them aside; an
// undo restores them. It does not touch usable ones. The checksums and the expected results come from the real program.
func TestDatabases(t *testing.T) {
	overwrite := func(at int64, n int) func(string) error {
		return func(path string) error {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteAt([]byte(strings.Repeat("x", n)), at)
			return errors.Join(err, f.Close())
		}
	}
	newer := "INSERT INTO _sqlx_migrations VALUES (99, 1, x'00')"
	for _, c := range []struct {
		name, checksum, sql string
		damage              func(path string) error
		unusable            bool
	}{
		{name: "healthy"},
		{name: "a migration of a later Codex", sql: newer},
		{name: "another checksum", checksum: "00", unusable: true},
		{name: "a migration that was cut", sql: "UPDATE _sqlx_migrations SET success = 0", unusable: true},
		{name: "header", damage: overwrite(0, 100), unusable: true},
		{name: "pages", damage: overwrite(4096, 8192), unusable: true},
		{name: "empty", damage: func(path string) error { return os.Truncate(path, 0) }},
		{name: "missing", damage: os.Remove},
	} {
		for file, checksum := range map[string]string{"state_5.sqlite": "627EF19164C9BB29", "thread_history_1.sqlite": "2AD9A4AB17DF511F"} {
			t.Run(c.name+" "+file, func(t *testing.T) {
				h := fixture.NewHome(t, "")
				path := filepath.Join(h.Root(), file)
				if c.checksum != "" {
					checksum = c.checksum
				}
				makeDatabase(t, path, checksum, c.sql)
				if c.damage != nil {
					must(t, c.damage(path))
				}
				m := open(t, h, t.TempDir())
				session(t, m) // the session is listed in any case
				if err := m.CheckAccess(); err != nil {
					t.Errorf("CheckAccess: %v", err)
				}
				err := m.CheckFile(t.Context(), 0)
				if _, damaged := errors.AsType[*change.DamagedError](err); damaged != c.unusable {
					t.Fatalf("CheckFile: %v, want unusable: %t", err, c.unusable)
				}
				if !c.unusable {
					return
				}
				before, err := os.ReadFile(path)
				must(t, err)
				if _, err := m.ProposeSalvage(t.Context(), true, nil); err != nil {
					t.Errorf("dry run: %v", err)
				}
				s, err := m.ProposeSalvage(t.Context(), false, nil)
				must(t, err)
				id := apply(t, m, s.Plan)
				if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the database is not set aside: %v", err)
				}
				if err := m.CheckFile(t.Context(), 0); err != nil {
					t.Errorf("CheckFile after the salvage: %v", err)
				}
				undo(t, m, id)
				if now, err := os.ReadFile(path); err != nil || string(now) != string(before) {
					t.Errorf("after the undo the database has other bytes: %v", err)
				}
			})
		}
	}
}
