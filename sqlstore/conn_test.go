package sqlstore_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/internal/test/dbtest"
	"mend/sqlstore"
)

// TestQueryError: a query ends with the error of the function that reads its rows.
func TestQueryError(t *testing.T) {
	path, _ := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	want := errors.New("enough")
	rows := 0
	err := s.View(t.Context(), func(c *sqlstore.Conn) error {
		return c.Query("SELECT id FROM part", nil, func(*sqlite3.Stmt) error {
			rows++
			return want
		})
	})
	if !errors.Is(err, want) || rows != 1 {
		t.Errorf("Query = %v after %d rows, want %v after one", err, rows, want)
	}
}

// TestPaths: a path may contain characters that have a meaning in a URI.
func TestPaths(t *testing.T) {
	from, id := dbtest.Unpack(t, "1.18.33")
	data := dbtest.Files(t, from)[dbtest.Name]
	for _, dir := range []string{"a b", "a%20b", "a?b#c", "a&b=c+d", "ä\x7f\n", ":memory:"} {
		dir = filepath.Join(t.TempDir(), dir)
		dbtest.Must(t, os.Mkdir(dir, 0o755))
		path := filepath.Join(dir, dbtest.Name)
		dbtest.Write(t, path, data)
		dbtest.Alter(t, path, "PRAGMA journal_mode=DELETE") // so that the URI of a writer names the file twice
		s := open(t, path, sqlstore.Options{})
		ops := []change.Op{titleOp(s, id)}
		if out := dbtest.Run(t, s, ops); out.State != change.Committed {
			t.Errorf("%q: %+v", dir, out)
		}
		dbtest.Alter(t, path, "PRAGMA journal_mode=WAL")
		if out := dbtest.Run(t, s, change.Inverse(ops)); out.State != change.Committed {
			t.Errorf("%q, with a -wal: %+v", dir, out)
		}
		if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
			t.Errorf("%q: %v, %v", dir, names, err)
		}
		info, err := os.Stat(path)
		dbtest.Must(t, err)
		if other, err := os.Stat(from); err != nil || os.SameFile(info, other) || s.ID().Ino == 0 {
			t.Errorf("%q: the identity is %+v", dir, s.ID())
		}
	}
}

// TestDamagedHeader: a file with a damaged header is opened if it may be a database, so that its content can be
// salvaged.
func TestDamagedHeader(t *testing.T) {
	whole, _ := dbtest.Unpack(t, "1.18.33")
	pages := dbtest.Files(t, whole)[dbtest.Name]
	for _, c := range []struct {
		name, data string
		wal, opens bool
	}{
		{"opencode.db", "garbage", false, true},
		{"notes.txt", "garbage", false, false},
		{"notes.txt", "garbage", true, true},
		{"notes.txt", strings.Repeat("\x00", 100) + pages[100:], false, true},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		dbtest.Write(t, path, c.data)
		if c.wal {
			dbtest.Write(t, path+"-wal", "x")
		}
		if _, err := sqlstore.Open(path, specs(), sqlstore.Options{}); (err == nil) != c.opens || err != nil && !errors.Is(err, sqlstore.ErrUnusable) {
			t.Errorf("%s, -wal %t: Open = %v, want that it opens %t", c.name, c.wal, err, c.opens)
		}
	}
}

// TestNothing: a plan without ops is refused, and a read without refs returns no record.
func TestNothing(t *testing.T) {
	path, _ := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	if _, err := s.WithOwner("own").Prepare(t.Context(), change.Plan{}); !errors.Is(err, change.ErrInvalid) {
		t.Errorf("Prepare = %v, want %v", err, change.ErrInvalid)
	}
	if images, err := s.Read(t.Context(), nil); err != nil || len(images) != 0 {
		t.Errorf("Read = %v, %v", images, err)
	}
}

// TestReadSeveral: rows are read in the order of their refs, and the database as a whole.
func TestReadSeveral(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	var refs []change.Ref
	var want []*change.Image
	for r := range load(t, s, id).AllRecords {
		refs, want = append(refs, r.Ref), append(want, change.ImageOf(r))
	}
	got, err := s.Read(t.Context(), refs)
	if err != nil || !slices.EqualFunc(got, want, (*change.Image).Equal) {
		t.Errorf("Read of %d rows: %v", len(refs), err)
	}
	whole, err := s.Read(t.Context(), []change.Ref{{Kind: change.KindDatabase}})
	if err != nil || len(whole) != 1 || whole[0] == nil {
		t.Errorf("Read of the database = %v, %v", whole, err)
	}
}

// TestState: the stamp of the database changes with each write to it.
func TestState(t *testing.T) {
	path, _ := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	agent := dbtest.Agent(t, path)
	seen := map[[32]byte]bool{{}: true}
	for n := range 4 {
		first, err := s.State(t.Context())
		again, errAgain := s.State(t.Context())
		if err != nil || errAgain != nil || first != again || seen[first.Sum] {
			t.Errorf("State after %d writes = %v, %v, %v, %v", n, first, err, again, errAgain)
		}
		if info, err := os.Stat(path + "-wal"); err == nil && n > 0 && !first.Newest.Equal(info.ModTime()) {
			t.Errorf("Newest = %v, want %v", first.Newest, info.ModTime())
		}
		seen[first.Sum] = true
		dbtest.Exec(t, agent, "PRAGMA user_version = %d", n+1)
	}
	dbtest.Must(t, agent.Close())
	dbtest.Must(t, os.Remove(path))
	if _, err := s.State(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("State of a missing file = %v", err)
	}
}

// TestCheckWritable: CheckWritable fails if the file is missing.
func TestCheckWritable(t *testing.T) {
	path, _ := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	if err := s.CheckWritable(); err != nil {
		t.Errorf("CheckWritable = %v", err)
	}
	dbtest.Must(t, os.Remove(path))
	if err := s.CheckWritable(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("CheckWritable of a missing file = %v", err)
	}
}

// TestLongPath: the longest path that SQLite opens with its side files can be used, and a longer one is refused.
func TestLongPath(t *testing.T) {
	from, id := dbtest.Unpack(t, "1.18.33")
	dir := t.TempDir()
	for len(dir) < 1015-len("/"+dbtest.Name)-2 {
		dir = filepath.Join(dir, strings.Repeat("d", min(200, 1015-len("/"+dbtest.Name)-1-len(dir))))
	}
	dbtest.Must(t, os.MkdirAll(dir, 0o755))
	path := filepath.Join(dir, dbtest.Name)
	dbtest.Write(t, path, dbtest.Files(t, from)[dbtest.Name])
	if out := dbtest.Run(t, open(t, path, sqlstore.Options{}), []change.Op{titleOp(open(t, path, sqlstore.Options{}), id)}); len(path) != 1015 || out.State != change.Committed {
		t.Errorf("a path of %d bytes: %+v", len(path), out)
	}
	if _, err := sqlstore.Open(path+"x", specs(), sqlstore.Options{}); !errors.Is(err, sqlstore.ErrUnusable) || !strings.Contains(err.Error(), "more than 1015") {
		t.Errorf("a longer path: %v", err)
	}
}

// TestBuild: a new database gets the mode of the old one. Nothing is left if it cannot be written, or if the old one was
// changed meanwhile.
func TestBuild(t *testing.T) {
	path, _ := dbtest.Unpack(t, "1.18.33")
	dbtest.Must(t, os.Chmod(path, 0o640))
	s := open(t, path, sqlstore.Options{})
	data := dbtest.Files(t, path)[dbtest.Name]
	mend, failed := filepath.Join(filepath.Dir(path), ".mend"), errors.New("failed")
	for name, c := range map[string]struct {
		then func() error
		want error
	}{
		"built":     {func() error { return nil }, nil},
		"failed":    {func() error { return failed }, failed},
		"meanwhile": {func() error { dbtest.Alter(t, path, "PRAGMA user_version = 7"); return nil }, change.ErrLocked},
	} {
		made := ""
		b, err := s.Build(t.Context(), func(to string) error {
			made = to
			dbtest.Write(t, to, data)
			return c.then()
		})
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: Build = %v, want %v", name, err, c.want)
		}
		if c.want == nil {
			if files := filesBelow(t, mend); len(files) != 1 || files[0].Mode().Perm() != 0o640 || len(b.Ops) != 1 || b.Ops[0].Pre == nil || b.Ops[0].Post == nil {
				t.Errorf("%s: %v, %+v", name, files, b.Ops)
			}
			b.Discard()
		}
		if files := filesBelow(t, mend); made == "" || len(files) > 0 {
			t.Errorf("%s: left: %v", name, files)
		}
	}
}

func filesBelow(t *testing.T, dir string) (files []fs.FileInfo) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		files = append(files, info)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}

// TestSweptBuild: Discard removes the database that a killed process has built.
func TestSweptBuild(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{}).WithOwner("own")
	st, err := s.Prepare(t.Context(), change.Plan{Ops: []change.Op{titleOp(s.Store, id)}})
	dbtest.Must(t, err)
	for name, st := range map[string]change.Staged{"of a row": st, "of all": {}} {
		left := filepath.Join(filepath.Dir(path), ".mend", "built", "left")
		dbtest.Must(t, os.MkdirAll(left, 0o700))
		dbtest.Write(t, filepath.Join(left, dbtest.Name), "x")
		dbtest.Must(t, s.Discard(t.Context(), st))
		if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("after Discard %s: %s is left, %v", name, left, err)
		}
	}
}

// TestKeptConnection: a read through a connection that was kept open returns what another program has written since.
func TestKeptConnection(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	old := time.Now().Add(-time.Hour)
	for n := range 3 {
		old = old.Add(time.Minute)
		dbtest.Must(t, os.Chtimes(path, old, old)) // so that connections are kept
		title := fmt.Sprint("title ", n)
		for range 2 {
			if got := load(t, s, id).Title; n > 0 && got != title {
				t.Errorf("title %q, want %q", got, title)
			}
		}
		dbtest.Alter(t, path, fmt.Sprintf("UPDATE session SET title = 'title %d'", n+1))
	}
}
