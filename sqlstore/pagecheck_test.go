package sqlstore_test

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/internal/test/dbtest"
	"mend/sqlstore"
)

// TestCheckedPath: a change that would read or write a damaged page is refused, and nothing is written. Any other change is
// made, and CheckFile reports the damage. With a damaged free list every change is refused.
func TestCheckedPath(t *testing.T) {
	whole := severalSessions(t)
	s := open(t, whole, sqlstore.Options{})
	ids, err := sessionIDs(t.Context(), s)
	dbtest.Must(t, err)
	dbtest.Alter(t, whole, "DELETE FROM part WHERE session_id > '"+ids[1]+"'", "DELETE FROM message WHERE session_id > '"+ids[1]+"'")
	pages := treePages(t, whole)
	data := []byte(dbtest.Files(t, whole)[dbtest.Name])
	trunk := int(binary.BigEndian.Uint32(data[32:]))
	page := func(b []byte, n int) []byte { return b[(n-1)*pageSize : n*pageSize] }
	if trunk == 0 || page(data, trunk)[7] == 0 {
		t.Fatal("no page is free")
	}
	last := func(tree string) int { return pages[tree][len(pages[tree])-1] }
	cases := []struct {
		name    string
		do      func(b []byte)
		allowed bool
		why     string // why the change is refused
	}{
		{"no damage", func([]byte) {}, true, ""},
		{"free list, its length", func(b []byte) { b[39]++ }, false, "reelist"},
		{"free list, its first page", func(b []byte) { binary.BigEndian.PutUint32(b[32:], 1<<30) }, false, "reelist"},
		{"free list, an entry", func(b []byte) { binary.BigEndian.PutUint32(page(b, trunk)[8:], 1<<30) }, false, "invalid page"},
		{"free list, a page of the schema", func(b []byte) { binary.BigEndian.PutUint32(page(b, trunk)[8:], 1) }, false, ""},
		{"free list, a page on the path", func(b []byte) {
			binary.BigEndian.PutUint32(page(b, trunk)[8:], uint32(last("session")))
		}, false, "in use and on the free list"},
		{"free list, an index page on the path", func(b []byte) {
			binary.BigEndian.PutUint32(page(b, trunk)[8:], uint32(pages["session_project_idx"][0]))
		}, false, "in use and on the free list"},
		{"the row's page, its unused bytes", func(b []byte) { page(b, pages["session"][0])[7]++ }, false, "unused"},
		{"an index page on the path", func(b []byte) { clear(page(b, pages["session_project_idx"][0])) }, false, "malformed"},
		{"an index without the row", func(b []byte) {
			p := page(b, pages["session_project_idx"][0])
			clear(p)
			p[0], p[5], p[6] = 10, pageSize>>8, 0
		}, false, "is missing from the index session_project_idx"},
		{"a page of another table", func(b []byte) { clear(page(b, last("part"))) }, true, ""},
		{"a page of another index", func(b []byte) { clear(page(b, last("part_session_idx"))) }, true, ""},
	}
	for _, open := range []bool{false, true} {
		for _, c := range cases {
			name := c.name
			if open {
				name += ", open elsewhere"
			}
			t.Run(name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), dbtest.Name)
				b := slices.Clone(data)
				c.do(b)
				dbtest.Write(t, path, string(b))
				if open {
					agent, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
					dbtest.Must(t, err)
					defer func() { _ = agent.Close() }()
					dbtest.Exec(t, agent, "PRAGMA user_version = 7") // so that there is a -wal
				}
				s, err := sqlstore.Open(path, specs(), sqlstore.Options{})
				dbtest.Must(t, err)
				before := dbtest.Files(t, path)
				op := titleOp(s, ids[0])
				_, err = s.Prepare(t.Context(), change.Plan{Ops: []change.Op{op}})
				if !c.allowed {
					if !errors.Is(err, sqlstore.ErrUnusable) || !strings.Contains(err.Error(), c.why) || strings.Contains(err.Error(), "\n") {
						t.Errorf("Prepare = %v, want %q", err, c.why)
					}
					after := dbtest.Files(t, path)
					delete(before, dbtest.Name+"-shm") // it has the marks of readers
					delete(after, dbtest.Name+"-shm")
					dbtest.WantSame(t, before, after)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if out := dbtest.Run(t, s, []change.Op{op}); out.State != change.Committed {
					t.Errorf("%+v", out)
				}
				err = s.CheckFile(t.Context(), change.CheckAll)
				if _, damaged := errors.AsType[*change.DamagedError](err); damaged != (c.name != "no damage") {
					t.Errorf("CheckFile = %v", err)
				}
			})
		}
	}
}

// TestCheckedTable: a table with an index that mend cannot search is checked as a whole.
func TestCheckedTable(t *testing.T) {
	for _, damaged := range []bool{false, true} {
		path, id := dbtest.Unpack(t, "1.18.33")
		dbtest.Alter(t, path, "CREATE INDEX partial ON session (title) WHERE title > ''")
		if damaged {
			pages := treePages(t, path)
			b := []byte(dbtest.Files(t, path)[dbtest.Name])
			p := rootOf(b, pages["session_parent_idx"])
			clear(p)
			p[0], p[5], p[6] = 10, pageSize>>8, 0 // a sound page without entries
			dbtest.Write(t, path, string(b))
		}
		s := open(t, path, sqlstore.Options{})
		if _, err := s.Prepare(t.Context(), change.Plan{Ops: []change.Op{titleOp(s, id)}}); errors.Is(err, sqlstore.ErrUnusable) != damaged || (err == nil) == damaged {
			t.Errorf("damaged %t: Prepare = %v", damaged, err)
		}
	}
}

// TestCheckedPathInLog: damage is found in a page that is in the -wal.
func TestCheckedPathInLog(t *testing.T) {
	path := severalSessions(t)
	pages := treePages(t, path)
	data := []byte(dbtest.Files(t, path)[dbtest.Name])
	data[(pages["session"][0]-1)*pageSize+7] += 2
	dbtest.Write(t, path, string(data))
	agent := dbtest.Agent(t, path)
	dbtest.Exec(t, agent, "UPDATE session SET time_updated = time_updated + 1") // the size of no row changes
	s := open(t, path, sqlstore.Options{})
	ids, err := sessionIDs(t.Context(), s)
	dbtest.Must(t, err)
	_, err = s.Prepare(t.Context(), change.Plan{Ops: []change.Op{titleOp(s, ids[0])}})
	if !errors.Is(err, sqlstore.ErrUnusable) || !strings.Contains(err.Error(), "unused") {
		t.Errorf("Prepare = %v", err)
	}
}
