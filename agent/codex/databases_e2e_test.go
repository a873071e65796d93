//go:build e2e

package codex_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mend/internal/test/storetest"
	"mend/testdata"
)

// TestRealDatabases: if mend finds a database unusable, the real program cannot continue a session until the database
// is set aside. If mend finds it usable, Codex continues the session.
func TestRealDatabases(t *testing.T) {
	storetest.Long(t)
	header := func(path string) error {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteAt([]byte(strings.Repeat("x", 100)), 0)
		return errors.Join(err, f.Close())
	}
	run := func(sql string) func(string) error {
		return func(path string) error {
			db, err := sqlite3.Open(path)
			if err != nil {
				return err
			}
			return errors.Join(db.Exec(sql+"; PRAGMA wal_checkpoint(TRUNCATE)"), db.Close())
		}
	}
	for _, c := range []struct {
		name, file string
		damage     func(path string) error
		alive      bool
	}{
		{"a modified migration", "thread_history_1.sqlite", run("UPDATE _sqlx_migrations SET checksum = x'00' WHERE version = 1"), false},
		{"a migration that was cut", "thread_history_1.sqlite", run("UPDATE _sqlx_migrations SET success = 0 WHERE version = 9"), false},
		{"a damaged header", "thread_history_1.sqlite", header, false},
		{"a later migration", "thread_history_1.sqlite", run("INSERT INTO _sqlx_migrations SELECT 99, 'x', installed_on, 1, checksum, 1 FROM _sqlx_migrations WHERE version = 1"), true},
		{"a modified migration", "state_5.sqlite", run("UPDATE _sqlx_migrations SET checksum = x'00' WHERE version = 1"), false},
	} {
		t.Run(c.file+" "+c.name, func(t *testing.T) {
			h := newHome(t)
			if r := h.Prompt(testdata.CodexSession, "one"); r.Fate() != "alive" {
				t.Fatalf("without damage the session is %s: %s", r.Fate(), r.Output)
			}
			path := filepath.Join(h.Root(), c.file)
			must(t, errors.Join(run("SELECT 1")(path), c.damage(path)))
			m := open(t, h, t.TempDir())
			if err := m.CheckFile(t.Context(), 0); (err == nil) != c.alive {
				t.Errorf("CheckFile: %v, want usable: %t", err, c.alive)
			}
			if r := h.Prompt(testdata.CodexSession, "two"); (r.Fate() == "alive") != c.alive {
				t.Errorf("with the damaged database the session is %s: %s", r.Fate(), r.Output)
			}
			if c.alive {
				return
			}
			s, err := m.ProposeSalvage(t.Context(), false, nil)
			must(t, err)
			apply(t, m, s.Plan)
			if r := h.Prompt(testdata.CodexSession, "three"); r.Fate() != "alive" {
				t.Errorf("after the database was set aside the session is %s: %s", r.Fate(), r.Output)
			}
		})
	}
}

// TestRealDisk: if its disk is full or read-only, Codex opens no session, and its error does not name the reason. mend
// does. With free space again Codex continues the session.
func TestRealDisk(t *testing.T) {
	h := newHome(t)
	saved := t.TempDir()
	must(t, os.CopyFS(saved, os.DirFS(h.Root())))
	if err := syscall.Mount("tmpfs", h.Root(), "tmpfs", 0, "size=32m"); err != nil {
		t.Skip(err)
	}
	defer func() { _ = syscall.Unmount(h.Root(), syscall.MNT_DETACH) }()
	must(t, os.CopyFS(h.Root(), os.DirFS(saved)))
	filler, err := os.Create(filepath.Join(h.Root(), "other"))
	must(t, err)
	for err == nil {
		_, err = filler.Write(make([]byte, 4096))
	}
	if must(t, filler.Close()); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	for n, fate := range []string{"dead", "alive", "dead"} {
		if n == 2 {
			must(t, syscall.Mount("", h.Root(), "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
		}
		s, err := openStore(h)
		must(t, err)
		err = s.CheckAccess(true)
		if r := h.Prompt(testdata.CodexSession, "one more"); r.Fate() != fate || (err == nil) != (fate == "alive") {
			t.Errorf("the session is %s, want %s: %s; CheckAccess: %v", r.Fate(), fate, r.Output, err)
		}
		if n == 0 {
			must(t, os.Remove(filler.Name()))
		}
	}
}
