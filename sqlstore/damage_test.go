package sqlstore_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/internal/test/dbtest"
	"mend/internal/test/storetest"
	"mend/sqlstore"
)

// try reads every session, prepares a change of each, and returns the first error.
func try(t testing.TB, path string) error {
	t.Helper()
	s, err := sqlstore.Open(path, specs(), sqlstore.Options{})
	if err != nil {
		return err
	}
	ids, err := sessionIDs(t.Context(), s)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if change.ValidateID(id) != nil {
			continue
		}
		if _, err := read(t.Context(), s, id); err != nil {
			return err
		}
		if _, err := s.Prepare(t.Context(), change.Plan{Ops: []change.Op{titleOp(s, id)}}); err != nil {
			return err
		}
	}
	return nil
}

// TestUnusable: an unusable file is refused with an error of one line, and every byte stays.
func TestUnusable(t *testing.T) {
	cases := map[string]struct {
		do   func(t *testing.T, path string)
		want string
	}{
		"empty":         {func(t *testing.T, path string) { dbtest.Write(t, path, "") }, "empty"},
		"short":         {func(t *testing.T, path string) { dbtest.Write(t, path, "SQLite format 3\x00") }, "truncated: 16 bytes"},
		"garbage":       {func(t *testing.T, path string) { dbtest.Write(t, path, strings.Repeat("garbage ", 4096)) }, "not an SQLite database"},
		"json":          {func(t *testing.T, path string) { dbtest.Write(t, path, "{}") }, "not an SQLite database"},
		"zeros":         {func(t *testing.T, path string) { dbtest.Write(t, path, strings.Repeat("\x00", 8192)) }, "not an SQLite database"},
		"later format":  {func(t *testing.T, path string) { poke(t, path, 19, 3) }, "later SQLite"},
		"page size":     {func(t *testing.T, path string) { poke(t, path, 16, 7) }, "not an SQLite database"},
		"utf-16":        {func(t *testing.T, path string) { poke(t, path, 59, 2) }, "not UTF-8"},
		"wal of empty":  {func(t *testing.T, path string) { walAlone(t, path); dbtest.Write(t, path, "") }, "empty"},
		"hot journal":   {func(t *testing.T, path string) { dbtest.Write(t, path+"-journal", "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7") }, "-journal must be rolled back"},
		"foreign wal":   {foreignWAL, "must be another database's"},
		"hard link":     {func(t *testing.T, path string) { dbtest.Must(t, os.Link(path, path+".bak")) }, "2 names"},
		"linked wal":    {func(t *testing.T, path string) { dbtest.Must(t, os.Symlink("/etc/passwd", path+"-wal")) }, "-wal is not a plain file"},
		"linked shm":    {func(t *testing.T, path string) { dbtest.Must(t, os.Symlink("/etc/passwd", path+"-shm")) }, "-shm is not a plain file"},
		"named wal":     {func(t *testing.T, path string) { linkTo(t, path+"-wal") }, "-wal has 2 names"},
		"named shm":     {func(t *testing.T, path string) { linkTo(t, path+"-shm") }, "-shm has 2 names"},
		"named journal": {func(t *testing.T, path string) { linkTo(t, path+"-journal") }, "-journal has 2 names"},
		"no page":       {func(t *testing.T, path string) { dbtest.Must(t, os.Truncate(path, 4096)) }, "damaged"},
		"cut in a page": {func(t *testing.T, path string) { dbtest.Must(t, os.Truncate(path, 100_000)) }, "damaged"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path, _ := dbtest.Unpack(t, "1.18.33")
			c.do(t, path)
			before := dbtest.Files(t, path)
			err := try(t, path)
			if !errors.Is(err, sqlstore.ErrUnusable) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v; want %q in one line", err, c.want)
			}
			dbtest.WantSame(t, before, dbtest.Files(t, path))
		})
	}
}

// linkTo gives a file of the user a second name. SQLite would write to the file.
func linkTo(t testing.TB, name string) {
	t.Helper()
	file := filepath.Join(filepath.Dir(name), "thesis.txt")
	dbtest.Write(t, file, strings.Repeat("v", 40000))
	dbtest.Must(t, os.Link(file, name))
}

func poke(t testing.TB, path string, at int, b byte) {
	t.Helper()
	data := []byte(dbtest.Files(t, path)[filepath.Base(path)])
	data[at] = b
	dbtest.Write(t, path, string(data))
}

func walAlone(t testing.TB, path string) {
	t.Helper()
	from, _ := leftover(t, true)
	dbtest.Write(t, path+"-wal", dbtest.Files(t, from)[dbtest.Name+"-wal"])
	dbtest.Must(t, os.Remove(path))
}

func foreignWAL(t *testing.T, path string) {
	t.Helper()
	dbtest.Alter(t, path, "PRAGMA journal_mode=DELETE")
	from, _ := leftover(t, true)
	dbtest.Write(t, path+"-wal", dbtest.Files(t, from)[dbtest.Name+"-wal"])
}

// TestTruncated: a truncated database is refused, and a truncated -wal is read up to its last complete transaction.
func TestTruncated(t *testing.T) {
	storetest.Long(t)
	whole, _ := dbtest.Unpack(t, "1.18.33")
	data := dbtest.Files(t, whole)[dbtest.Name]
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		path := filepath.Join(t.TempDir(), dbtest.Name)
		n := r.IntN(len(data))
		dbtest.Write(t, path, data[:n])
		before := dbtest.Files(t, path)
		if err := try(t, path); !errors.Is(err, sqlstore.ErrUnusable) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
		dbtest.WantSame(t, before, dbtest.Files(t, path))
	}
	whole, _ = leftover(t, false)
	wal := dbtest.Files(t, whole)[dbtest.Name+"-wal"]
	for range 30 {
		path := filepath.Join(t.TempDir(), dbtest.Name)
		dbtest.Write(t, path, dbtest.Files(t, whole)[dbtest.Name])
		dbtest.Write(t, path+"-wal", wal[:r.IntN(len(wal))])
		before := dbtest.Files(t, path)
		if err := try(t, path); err != nil {
			t.Errorf("cut -wal: %v", err)
		}
		dbtest.WantSame(t, before, dbtest.Files(t, path))
	}
}

// TestFlippedBytes: if random bytes are changed, a change is refused and no byte is written, or the damage is off its path:
// then CheckFile finds the damage, and the change adds none.
func TestFlippedBytes(t *testing.T) {
	storetest.Long(t)
	whole, id := dbtest.Unpack(t, "1.2.27")
	data := dbtest.Files(t, whole)[dbtest.Name]
	r := rand.New(rand.NewPCG(3, 4))
	refused, offPath, n := 0, 0, storetest.Count(300, 20)
	for i := range n {
		path := filepath.Join(t.TempDir(), dbtest.Name)
		flipped := []byte(data)
		for range 1 + i%3 {
			// Half of them where pages have their structure.
			at := r.IntN(len(data))
			if i%2 == 0 {
				at = at/4096*4096 + r.IntN(64)
			}
			flipped[at] ^= byte(1 + r.IntN(255))
		}
		dbtest.Write(t, path, string(flipped))
		before := dbtest.Files(t, path)
		err := try(t, path)
		dbtest.WantSame(t, before, dbtest.Files(t, path))
		if err != nil {
			if refused++; strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
			continue
		}
		found := damageIn(t, path)
		if len(found) == 0 {
			continue
		}
		offPath++
		s := open(t, path, sqlstore.Options{})
		if err := s.CheckFile(t.Context(), change.CheckAll); !errors.Is(err, sqlstore.ErrUnusable) {
			t.Errorf("CheckFile = %v, but SQLite finds %q", err, found)
		}
		op := titleOp(s, id)
		if op.Pre == nil {
			continue // the id was changed
		}
		if out := dbtest.Run(t, s, []change.Op{op}); out.State != change.Committed {
			t.Errorf("%+v", out)
		}
		if after := damageIn(t, path); !slices.Equal(after, found) {
			t.Errorf("after the change SQLite finds %q, before %q", after, found)
		}
		op.Pre, op.Post = op.Post, op.Pre
		if out := dbtest.Run(t, s, []change.Op{op}); out.State != change.Committed {
			t.Errorf("%+v", out)
		}
	}
	t.Logf("%d of %d refused; %d are damaged off the path", refused, n, offPath)
	if refused < n/10 || offPath == 0 {
		t.Errorf("%d refused, %d off the path", refused, offPath)
	}
}

// damageIn returns the lines of SQLite's most thorough check.
func damageIn(t testing.TB, path string) (found []string) {
	t.Helper()
	err := dbtest.View(path, func(c *sqlstore.Conn) (err error) {
		found, err = c.Strings("PRAGMA integrity_check")
		return err
	})
	if err != nil {
		found = append(found, err.Error())
	}
	return slices.DeleteFunc(found, func(line string) bool { return line == "ok" })
}

// TestVirtualTable: a virtual table of an unknown module does not prevent a change.
func TestVirtualTable(t *testing.T) {
	path, _ := dbtest.Unpack(t, "1.18.33")
	c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	dbtest.Must(t, err)
	dbtest.Exec(t, c, "PRAGMA writable_schema=ON; INSERT INTO sqlite_schema VALUES ('table', 'search', 'search', 0, 'CREATE VIRTUAL TABLE search USING fts5(a)')")
	dbtest.Must(t, c.Close())
	if err := try(t, path); err != nil {
		t.Error(err)
	}
}

// TestDamageNames: the check of the file names the damaged tables and indexes. If nothing else is damaged, it names their
// tables as the only ones that the damage touches.
func TestDamageNames(t *testing.T) {
	whole, _ := dbtest.Unpack(t, "1.18.33")
	pages := treePages(t, whole)
	for name, c := range map[string]struct {
		do             func(b []byte)
		parts, touched []string
	}{
		"an index": {func(b []byte) { clear(rootOf(b, pages["session_project_idx"])) }, []string{"the index session_project_idx"}, []string{"session"}},
		"two indexes of one": {func(b []byte) {
			clear(rootOf(b, pages["session_project_idx"]))
			clear(rootOf(b, pages["session_parent_idx"]))
		}, []string{"the index session_parent_idx", "the index session_project_idx"}, []string{"session"}},
		"and the free list": {func(b []byte) { clear(rootOf(b, pages["session_project_idx"])); b[39]++ }, []string{"the index session_project_idx"}, nil},
		"a table":           {func(b []byte) { clear(rootOf(b, pages["todo"])) }, []string{"the table todo"}, []string{"todo"}},
	} {
		path := filepath.Join(t.TempDir(), dbtest.Name)
		b := []byte(dbtest.Files(t, whole)[dbtest.Name])
		c.do(b)
		dbtest.Write(t, path, string(b))
		var damage *change.DamagedError
		if err := open(t, path, sqlstore.Options{}).CheckFile(t.Context(), change.CheckAll); !errors.As(err, &damage) {
			t.Errorf("%s: CheckFile = %v", name, err)
			continue
		}
		slices.Sort(damage.Parts)
		if !slices.Equal(damage.Parts, c.parts) || !slices.Equal(damage.Touched, c.touched) {
			t.Errorf("%s: %+v", name, damage)
		}
	}
}

func rootOf(data []byte, pages []int) []byte { return data[(pages[0]-1)*pageSize:][:pageSize] }

// TestLogOfOtherState: a -wal that belongs to another state of the file is damage.
func TestLogOfOtherState(t *testing.T) {
	path, _ := dbtest.Unpack(t, "1.18.33")
	var states []map[string]string
	for n := range 3 {
		c := dbtest.Agent(t, path)
		dbtest.Exec(t, c, "CREATE TABLE extra%d (x)", n)
		states = append(states, dbtest.Files(t, path))
		dbtest.Exec(t, c, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	for _, db := range []int{0, 2} {
		for _, wal := range []int{0, 2} {
			path := filepath.Join(t.TempDir(), dbtest.Name)
			dbtest.Write(t, path, states[db][dbtest.Name])
			dbtest.Write(t, path+"-wal", states[wal][dbtest.Name+"-wal"])
			err := open(t, path, sqlstore.Options{}).CheckFile(t.Context(), change.CheckLog)
			damage, damaged := errors.AsType[*change.DamagedError](err)
			if damaged != (db != wal) || damaged && !damage.WAL {
				t.Errorf("state %d with the -wal of %d: CheckFile = %v", db, wal, err)
			}
		}
	}
}
