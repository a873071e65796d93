package mend

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mend/agent"
	"mend/agent/opencode"
	"mend/change"
	"mend/internal/test/storetest"
	"mend/repair"
	"mend/testdata"
)

// TestDamagedPages: after pages of a database were overwritten at random, a session is healthy only if the agent's
// SQLite reads it completely, sessions that cannot be read are reported together with a damaged file, and no byte is
// changed.
func TestDamagedPages(t *testing.T) {
	storetest.Long(t)
	const page = 4096
	n := storetest.Count(300, 6)
	for version, fixture := range map[string][]byte{"1.2.27": testdata.OpenCode1227, "1.18.33": testdata.OpenCode11833} {
		rnd := rand.New(rand.NewPCG(11, 7)) // with this seed a few cases cover all outcomes
		dir := t.TempDir()
		id, err := testdata.Unpack(fixture, dir)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "opencode", "opencode.db")
		whole := severalCopies(t, path, id, dir)
		ids, want := rowsOfSessions(t, path)
		healthy, broken, unreadable, judged := 0, 0, 0, 0 // sessions, sessions, files, files
		for i := range n {
			data := []byte(whole)
			for range 1 + rnd.IntN(3) {
				at := rnd.IntN(len(data)/page) * page
				p := data[at : at+page]
				switch rnd.IntN(5) {
				case 0:
					clear(p)
				case 1:
					for j := range p {
						p[j] = byte(rnd.Uint32())
					}
				case 2:
					copy(p, data[rnd.IntN(len(data)/page)*page:][:page])
				case 3: // a byte of the page header
					p[rnd.IntN(12)] ^= byte(1 + rnd.IntN(255))
				case 4:
					j := rnd.IntN(page - 64)
					clear(p[j : j+64])
				}
			}
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			c, err := Open(Options{Agents: []agent.Agent{opencode.Agent{}}, Store: path, Journal: OpenJournal(filepath.Join(dir, "journal")), Cache: filepath.Join(dir, fmt.Sprint("cache", i))})
			if err != nil {
				unreadable++
				continue
			}
			c = c.WithCache()
			heads, err := c.Sessions(t.Context())
			damaged := c.CheckFile(t.Context(), 0)
			found := map[string]Finding{}
			for f := range c.Scan(t.Context(), heads) {
				found[f.Session.ID] = f
			}
			var d *change.DamagedError
			if damaged != nil && !errors.As(damaged, &d) && err == nil {
				t.Errorf("%s, case %d: CheckFile = %v", version, i, damaged)
			}
			if err != nil {
				unreadable++
				if damaged == nil {
					t.Errorf("%s, case %d: the sessions cannot be listed (%v), and the file is sound", version, i, err)
				}
				continue
			}
			for _, id := range ids {
				rows, errRows := rowsOf(path, id)
				switch f, listed := found[id]; {
				case !listed && damaged == nil:
					t.Errorf("%s, case %d: session %s is not listed, and the file is sound", version, i, id)
				case !listed:
				case f.Severity() == repair.Broken && f.Err == nil && len(f.Diagnoses) > 0:
					broken++
				case f.Severity() == repair.Broken:
					broken++
					if damaged == nil {
						t.Errorf("%s, case %d: session %s cannot be examined (%v), and the file is sound", version, i, id, f.Err)
					}
				case errRows != nil || rows != want[id] && damaged == nil:
					t.Errorf("%s, case %d: session %s is %v; SQLite reads %d of %d rows, %v; the file: %v", version, i, id, f.Severity(), rows, want[id], errRows, damaged)
				default:
					healthy++
				}
			}
			if damaged != nil && len(found) > 0 {
				judged++
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != string(data) {
				t.Fatalf("%s, case %d: the file was changed (%v)", version, i, err)
			}
		}
		t.Logf("%s: %d files cannot be read; in %d damaged files sessions are judged: %d healthy, %d broken", version, unreadable, judged, healthy, broken)
		if healthy == 0 || broken == 0 || judged == 0 {
			t.Errorf("%s: %d healthy, %d broken, %d damaged files judged, want some of each", version, healthy, broken, judged)
		}
	}
}

// severalCopies makes five copies of the session in its database, leaves free pages in the file, and returns
// the new content.
func severalCopies(t *testing.T, path, id, folder string) string {
	t.Helper()
	db, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	do := func(sql string) {
		t.Helper()
		if err := db.Exec(sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	do("PRAGMA foreign_keys=OFF; UPDATE session SET directory = '" + folder + "'")
	columns := func(table string) (names []string) {
		st, _, err := db.Prepare("SELECT name FROM pragma_table_info('" + table + "')")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = st.Close() }()
		for st.Step() {
			names = append(names, st.ColumnText(0))
		}
		return names
	}
	for i := range 5 {
		for _, table := range []string{"session", "message", "part"} {
			var values []string
			for _, name := range columns(table) {
				value := `"` + name + `"`
				for _, prefix := range []string{"ses_", "msg_", "prt_"} {
					value = fmt.Sprintf("iif(typeof(%[1]s) = 'text', replace(%[1]s, '%[2]se0', '%[2]s%[3]de0'), %[1]s)", value, prefix, i)
					value = fmt.Sprintf("iif(typeof(%[1]s) = 'text', replace(%[1]s, '%[2]s1f', '%[2]s%[3]d1f'), %[1]s)", value, prefix, i)
				}
				values = append(values, value)
			}
			own := map[string]string{"session": "id", "message": "session_id", "part": "session_id"}[table]
			do("INSERT INTO " + table + " SELECT " + strings.Join(values, ", ") + " FROM " + table + " WHERE " + own + " = '" + id + "'")
		}
	}
	do("CREATE TABLE filler AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20) SELECT randomblob(3000) FROM n; DROP TABLE filler; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE; PRAGMA journal_mode=WAL")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// rowsOfSessions returns the ids of the sessions and how many messages and parts each has.
func rowsOfSessions(t *testing.T, path string) (ids []string, rows map[string]int) {
	t.Helper()
	db, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	st, _, err := db.Prepare("SELECT id FROM session")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	rows = map[string]int{}
	for st.Step() {
		id := st.ColumnText(0)
		ids = append(ids, id)
		if rows[id], err = rowsOf(path, id); err != nil {
			t.Fatal(err)
		}
	}
	return ids, rows
}

// rowsOf reads the messages and the parts of a session as the agent does, and returns how many there are.
func rowsOf(path, id string) (n int, err error) {
	db, err := sqlite3.OpenFlags("file:"+path+"?immutable=1", sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
	if err != nil {
		return 0, err
	}
	defer func() { _ = db.Close() }()
	for _, sql := range []string{
		"SELECT * FROM message WHERE session_id = ? ORDER BY time_created, id",
		"SELECT * FROM part WHERE message_id IN (SELECT id FROM message WHERE session_id = ?) ORDER BY message_id, id",
	} {
		st, _, err := db.Prepare(sql)
		if err != nil {
			return n, err
		}
		err = st.BindText(1, id)
		for err == nil && st.Step() {
			for i := range st.ColumnCount() {
				_ = st.ColumnRawText(i)
			}
			n++
		}
		if err = errors.Join(err, st.Err(), st.Close()); err != nil {
			return n, err
		}
	}
	return n, nil
}

// TestDamagedForPrompts: if a table or an index is damaged that a prompt needs, a readable session is broken, and
// otherwise healthy, as OpenCode 1.18.34 shows. A result of the sound file in the cache does not change that.
func TestDamagedForPrompts(t *testing.T) {
	storetest.Long(t)
	const page = 4096
	dir := t.TempDir()
	id, err := testdata.Unpack(testdata.OpenCode11833, dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "opencode", "opencode.db")
	whole := severalCopies(t, path, id, dir)
	db, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READONLY)
	if err != nil {
		t.Fatal(err)
	}
	roots := map[string]int64{}
	st, _, err := db.Prepare("SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0")
	if err != nil {
		t.Fatal(err)
	}
	for st.Step() {
		roots[st.ColumnText(0)] = st.ColumnInt64(1)
	}
	if err := errors.Join(st.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	for name, answers := range map[string]bool{
		"sqlite_autoindex_message_1": false, "sqlite_autoindex_part_1": false, "part_session_idx": false, "sqlite_autoindex_project_1": false,
		"event": false, "sqlite_autoindex_event_1": false, "event_sequence": false,
		"session_input": true, "session_message": true, "permission": true, "project_directory": true, "todo": true,
	} {
		t.Run(name, func(t *testing.T) {
			if plain := []string{"sqlite_autoindex_part_1", "part_session_idx", "event", "session_message", "todo"}; !slices.Contains(plain, name) {
				storetest.NeedAllCases(t)
			}
			scan := func() (found []Finding, damaged error) {
				c, err := Open(Options{Agents: []agent.Agent{opencode.Agent{}}, Store: path, Journal: OpenJournal(filepath.Join(dir, "journal")), Cache: filepath.Join(dir, "cache "+name)})
				if err != nil {
					t.Fatal(err)
				}
				c = c.WithCache()
				all, err := c.Sessions(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				damaged = c.CheckFile(t.Context(), 0)
				return slices.Collect(c.Scan(t.Context(), all)), damaged
			}
			write := func(data []byte) {
				if err := os.WriteFile(path, data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			data := []byte(whole)
			write(data)
			sound, _ := scan()
			for _, f := range sound {
				if f.Severity() == repair.Broken {
					t.Fatalf("before the damage: %+v", f)
				}
			}
			if roots[name] == 0 {
				t.Fatal("the database has no such table or index")
			}
			clear(data[(roots[name]-1)*page:][:page])
			write(data)
			for range 2 { // the second time from the cache
				found, damaged := scan()
				if damaged == nil || len(found) != 6 {
					t.Fatalf("%d sessions, damage %v", len(found), damaged)
				}
				for _, f := range found {
					if broken := f.Severity() == repair.Broken; broken == answers || broken && f.Err == nil && f.Diagnoses[0].Rule != "index" {
						t.Errorf("%s: broken %t, OpenCode answers %t: %v %+v; damage %v", f.Session.ID, broken, answers, f.Err, f.Diagnoses, damaged)
					}
				}
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != string(data) {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
}
