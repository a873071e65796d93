package database

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/internal/test/dbtest"
	"mend/sqlstore"
)

// TestFind: the databases of the data folder and the database that OPENCODE_DB names are found, the latter first.
func TestFind(t *testing.T) {
	home := t.TempDir()
	data := filepath.Join(home, "share", "opencode")
	dbtest.Must(t, os.MkdirAll(filepath.Join(data, "opencode-dir.db"), 0o755))
	for _, name := range []string{"opencode.db", "opencode-dev.db", "opencode.db-wal", "mine.db", "opencode-dev.db-wal"} {
		dbtest.Write(t, filepath.Join(data, name), "")
	}
	find := func(env map[string]string) string {
		var names []string
		for _, path := range OpenCode.Find(func(k string) string { return env[k] }, home) {
			names = append(names, filepath.Base(path))
		}
		return strings.Join(names, " ")
	}
	xdg := filepath.Join(home, "share")
	cases := []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{}, ""},
		{map[string]string{"XDG_DATA_HOME": xdg}, "opencode.db opencode-dev.db"},
		{map[string]string{"XDG_DATA_HOME": xdg, "OPENCODE_DB": ":memory:"}, "opencode.db opencode-dev.db"},
		{map[string]string{"XDG_DATA_HOME": xdg, "OPENCODE_DB": "mine.db"}, "mine.db opencode.db opencode-dev.db"},
		{map[string]string{"OPENCODE_DB": filepath.Join(data, "opencode-dev.db")}, "opencode-dev.db"},
		{map[string]string{"OPENCODE_DB": filepath.Join(data, "none.db")}, ""},
		{map[string]string{"OPENCODE_DB": filepath.Join(data, "opencode-dir.db")}, "opencode-dir.db"}, // OpenCode would open it, too
	}
	for _, c := range cases {
		if got := find(c.env); got != c.want {
			t.Errorf("Find(%v) = %q, want %q", c.env, got, c.want)
		}
	}
}

// TestPaths opens a database by its folder and through a link. The folder's name has characters that are special in a
// URI.
func TestPaths(t *testing.T) {
	from, id := dbtest.Unpack(t, "1.18.33")
	dir := filepath.Join(t.TempDir(), "a b%20?#&é\n\xff+")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(dir, dbtest.Name)
	dbtest.Write(t, path, dbtest.Files(t, from)[dbtest.Name])
	link := filepath.Join(t.TempDir(), "link.db")
	dbtest.Must(t, os.Symlink(path, link))
	want, err := filepath.EvalSymlinks(path)
	dbtest.Must(t, err)
	for _, name := range []string{path, dir, link} {
		s := open(t, name, Options{})
		if s.ID().Root != want || s.ID().Kind != "sqlite" {
			t.Errorf("ID of %q = %+v", name, s.ID())
		}
		ops := dbtest.MixedOps(t, load(t, s, id))
		dbtest.Run(t, s, ops)
		dbtest.Run(t, s, change.Inverse(ops))
	}
	if n := len(dbtest.Files(t, path)); n != 1 {
		t.Errorf("%d files, want 1", n)
	}
}

// TestLocate: a path that leads to no database, or to more than one, is refused with the reason.
func TestLocate(t *testing.T) {
	path, _ := dbtest.Unpack(t, "1.18.33")
	dir := filepath.Dir(path)
	empty := t.TempDir()
	move := func(to string) { dbtest.Must(t, os.Rename(path, filepath.Join(dir, to))) }

	wantErr := func(name, want string) {
		t.Helper()
		if _, err := Open(name, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%s): %v, want %q", name, err, want)
		}
	}
	wantErr(empty, "no opencode.db in it")
	wantErr(filepath.Join(empty, "none.db"), "no such file")
	if _, err := Open(empty, Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open of an empty folder: %v, want not exist", err)
	}
	move("opencode-dev.db")
	if s := open(t, dir, Options{}); filepath.Base(s.ID().Root) != "opencode-dev.db" {
		t.Errorf("Open of a folder with one database of a channel: %s", s.ID().Root)
	}
	dbtest.Write(t, filepath.Join(dir, "opencode-nightly.db"), "x")
	wantErr(dir, "more than one database")
	dbtest.Write(t, path+"-wal", "x")
	wantErr(dir, "only its -wal exists")
	wantErr(path, "only its -wal exists")
	if _, err := Open(path, Options{}); !errors.Is(err, sqlstore.ErrUnusable) {
		t.Errorf("Open of a database without its file: %v, want %v", err, sqlstore.ErrUnusable)
	}
}

// TestDatabasesWithOtherNames: a folder's only database with OpenCode's tables is found whatever its name. Other files
// are left alone.
func TestDatabasesWithOtherNames(t *testing.T) {
	from, _ := dbtest.Unpack(t, "1.18.33")
	db := dbtest.Files(t, from)[dbtest.Name]
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	fdb, err := sqlite3.Open(foreign)
	dbtest.Must(t, err)
	dbtest.Must(t, fdb.Exec("create table notes (id text)"))
	dbtest.Must(t, fdb.Close())
	other := dbtest.Files(t, foreign)["foreign.db"]
	link := "link"
	cases := []struct {
		name  string
		files map[string]string
		want  string // the name that is opened, or a part of the error
	}{
		{"none", nil, "no opencode.db in it"},
		{"another name", map[string]string{"other.db": db}, "other.db"},
		{"a channel", map[string]string{"opencode-dev.db": db}, "opencode-dev.db"},
		{"side files", map[string]string{"other.db": db, "other.db-wal": "", "other.db-shm": "", "gone.db-wal": db}, "other.db"},
		{"two", map[string]string{"other.db": db, "opencode-dev.db": db}, "opencode-dev.db, "},
		{"two unknown names", map[string]string{"a.db": db, "b.db": db}, "a.db, "},
		{"a damaged channel", map[string]string{"other.db": db, "opencode-dev.db": "x"}, "more than one database in it, name one: "},
		{"OpenCode's own", map[string]string{"other.db": db, "opencode-dev.db": db, "opencode.db": db}, "opencode.db"},
		{"other tables", map[string]string{"notes.db": other}, "no opencode.db in it"},
		{"other tables beside it", map[string]string{"notes.db": other, "text.db": "text", "empty.db": "", "other.db": db}, "other.db"},
		{"links", map[string]string{"other.db": link, "opencode-dev.db": link}, "no opencode.db in it"},
		{"of Kilo", map[string]string{"kilo.db": db, "kilo-dev.db": db}, "no opencode.db in it"},
		{"a copy", map[string]string{"other.db": db, "other.db.bak": db}, "other.db"},
	}
	for _, c := range cases {
		dir := t.TempDir()
		for name, text := range c.files {
			if text == link {
				dbtest.Must(t, os.Symlink(from, filepath.Join(dir, name)))
				continue
			}
			dbtest.Write(t, filepath.Join(dir, name), text)
		}
		dbtest.Must(t, os.Mkdir(filepath.Join(dir, "folder.db"), 0o755))
		before, err := os.ReadDir(dir)
		dbtest.Must(t, err)
		s, err := Open(dir, Options{})
		got := ""
		if err == nil {
			got = filepath.Base(s.ID().Root)
		}
		if got != c.want && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: Open = %q, %v, want %q", c.name, got, err, c.want)
		}
		if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
			t.Errorf("%s: %v, %v, want %v", c.name, after, err, before)
		}
	}
}
