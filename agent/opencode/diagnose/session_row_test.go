package diagnose

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mend/agent/opencode/database"
	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/repair"
	"mend/testdata"
)

// A rowStore is the database of a version's fixture.
type rowStore struct {
	t       *testing.T
	db      *sqlite3.Conn
	store   *database.Store
	session *record.Session
}

func newRowStore(t *testing.T, archive []byte) rowStore {
	t.Helper()
	dir := storetest.FastDir(t)
	id, err := testdata.Unpack(archive, dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "opencode", "opencode.db")
	s := rowStore{t: t}
	if s.store, err = database.Open(path, database.Options{}); err != nil {
		t.Fatal(err)
	}
	if s.db, err = sqlite3.Open(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() })
	s.exec("pragma synchronous = off; pragma foreign_keys = off; create table whole as select * from session")
	s.session = s.load(id)
	return s
}

func (s rowStore) exec(sql string) {
	s.t.Helper()
	if err := s.db.Exec(sql); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
}

func (s rowStore) load(id string) *record.Session {
	s.t.Helper()
	loaded, _, err := s.store.Load(s.t.Context(), change.Head{ID: id})
	if err != nil {
		s.t.Fatal(err)
	}
	return loaded
}

// withCell returns the session with the cell's value, as SQLite stores it.
func (s rowStore) withCell(c damage.Cell) *record.Session {
	s.t.Helper()
	s.exec(c.Statement())
	defer s.exec("delete from session; insert into session select * from whole")
	return s.load(s.session.ID)
}

// applyAndUndo applies ops and their inverse to a store with the cell's value. The error also reports a table that
// differs from before.
func (s rowStore) applyAndUndo(c damage.Cell, ops []change.Op) error {
	s.t.Helper()
	s.exec(c.Statement() + "; create table damaged as select * from session")
	defer s.exec("delete from session; insert into session select * from whole; drop table damaged")
	for _, ops := range [][]change.Op{ops, change.Inverse(ops)} {
		staged, err := s.store.Prepare(s.t.Context(), change.Plan{Ops: ops})
		if err != nil {
			return err
		}
		if out, err := s.store.Commit(s.t.Context(), staged); err != nil || out.State != change.Committed {
			return fmt.Errorf("Commit = %+v, %w", out, err)
		}
	}
	s.exec("select case when exists (select * from session except select * from damaged) then abs(-9223372036854775808) end")
	return nil
}

// TestSessionRow: each value of each column of the session's row is broken exactly if the real program fails. The fix
// changes only the row. For one value of each column the fix and its undo are applied to the store. A plain run has one
// value for each column and verdict.
func TestSessionRow(t *testing.T) {
	applied := map[string]bool{}
	stores := map[string]rowStore{
		"1.2.27":  newRowStore(t, testdata.OpenCode1227),
		"1.18.33": newRowStore(t, testdata.OpenCode11833),
	}
	tried := map[string]bool{} // by column and verdict
	for _, cell := range damage.Cells() {
		key := cell.Version + cell.Column + cell.Want
		if tried[key] && !storetest.AllCases() {
			continue
		}
		tried[key] = true
		s := stores[cell.Version].withCell(cell)
		o := Options{Now: now, Version: cell.Version}
		ds := diagnosed(s, o)
		if broken := len(ds) > 0 && ds[0].Severity == repair.Broken; broken != (cell.Want != damage.Alive) {
			t.Errorf("%s: %s: Diagnose = %s, the real program: %s", cell.Version, cell.Statement(), summary(ds), cell.Want)
			continue
		}
		if cell.Want == damage.Alive {
			continue
		}
		r, err := Plan(s, Request{Options: o})
		if err != nil || len(r.Plan.Ops) != 1 || r.Plan.Ops[0].Ref != s.Info.Ref || len(r.Remaining) > 0 {
			t.Errorf("%s: %s: Plan = %v, %v; left: %s", cell.Version, cell.Statement(), r.Plan.Ops, err, summary(r.Remaining))
			continue
		}
		if column := cell.Version + cell.Column; !applied[column] {
			applied[column] = true
			if err := stores[cell.Version].applyAndUndo(cell, r.Plan.Ops); err != nil {
				t.Errorf("%s: %s: %v", cell.Version, cell.Statement(), err)
			}
		}
	}
}

// TestProjectRow: a value in the project's row is broken exactly if the real program does not start with it. The row is
// not changed, because other sessions share it.
func TestProjectRow(t *testing.T) {
	for version, archive := range map[string][]byte{"1.2.27": testdata.OpenCode1227, "1.18.33": testdata.OpenCode11833} {
		st := newRowStore(t, archive)
		st.exec("create table project_whole as select * from project")
		for _, c := range []struct {
			value  string
			broken string // the versions in which the real program does not start
		}{
			{"vcs = null", ""},
			{"vcs = ''", ""},
			{"vcs = 'garbage'", "1.2.27 1.18.33"},
			{"vcs = x'00'", "1.2.27 1.18.33"},
			{"vcs = x'676974'", "1.2.27 1.18.33"},
			{"worktree = ''", "1.18.33"},
			{"worktree = 'garbage'", "1.18.33"},
			{"worktree = x'2f'", "1.18.33"},
			{"sandboxes = ''", "1.2.27 1.18.33"},
			{"sandboxes = 'garbage'", "1.2.27 1.18.33"},
			{"sandboxes = '{}'", "1.2.27 1.18.33"},
			{"sandboxes = '[5]'", "1.18.33"},
			{"sandboxes = '[\"/tmp/x\"]'", ""},
			{"commands = ''", "1.2.27 1.18.33"},
			{"commands = 'garbage'", "1.2.27 1.18.33"},
			{"commands = '{}'", ""},
			{"commands = '[5]'", ""},
			{"name = x'00'", ""},
			{"icon_url = 'garbage'", ""},
			{"icon_color = x'00'", ""},
			{"time_updated = 'garbage'", ""},
		} {
			s := st.withCell(damage.Cell{Column: "title", Value: "title; update project set " + c.value})
			st.exec("delete from project; insert into project select * from project_whole")
			o := Options{Now: now, Version: version}
			ds := diagnosed(s, o)
			want := strings.Contains(c.broken, version)
			if broken := len(ds) > 0 && ds[0].Severity == repair.Broken; broken != want {
				t.Errorf("%s: %s: Diagnose = %s, want broken: %t", version, c.value, summary(ds), want)
			}
			if !want {
				continue
			}
			r, err := Plan(s, Request{Options: o})
			if err != nil || len(r.Plan.Ops) > 0 || len(r.Remaining) != 1 || !strings.Contains(r.Remaining[0].WhyNot, "changes no row") {
				t.Errorf("%s: %s: Plan = %v, %v; left: %s", version, c.value, r.Plan.Ops, err, summary(r.Remaining))
			}
		}
	}
}

// TestProjectFile: a project's file with an unexpected value stops 1.1.53. A file that cannot be parsed, or whose value
// is false in JavaScript, is not broken: the agent writes it again.
func TestProjectFile(t *testing.T) {
	s := fixture(t)
	for data, broken := range map[string]bool{
		`{"id":"global","worktree":"/","sandboxes":["/x"],"time":{}}`: false, `{"id":"global"}`: false, "\ufeff{\"id\":\"global\"}": false,
		`{"id":"./global","sandboxes":0}`: false, `{"id":"global","sandboxes":[1],"time":"x"}`: false, `{"id":1,"id":"global"}`: false,
		``: false, `x`: false, `null`: false, `0`: false, `""`: false,
		`{}`: true, `[]`: true, `5`: true, `"x"`: true, `true`: true, `{"id":"x"}`: true, `{"id":null}`: true,
		`{"id":"global","sandboxes":"x"}`: true, `{"id":"global","sandboxes":{}}`: true, "\ufeff{\"id\":\"global\",\"sandboxes\":1e400}": true,
	} {
		s.ProjectRow = change.Record{Ref: change.Ref{Kind: change.KindProject, Project: "global"}, Data: []byte(data), Mode: 0o644}
		o := Options{Now: now, Version: "1.1.53"}
		ds := diagnosed(s, o)
		if got := len(ds) > 0 && ds[0].Severity == repair.Broken; got != broken {
			t.Errorf("%s: Diagnose = %s, want broken: %t", data, summary(ds), broken)
		}
		r, err := Plan(s, Request{Options: o})
		if err != nil || len(r.Plan.Ops) > 0 || broken != (len(r.Remaining) == 1 && r.Remaining[0].WhyNot != "") {
			t.Errorf("%s: Plan = %v, %v; left %s", data, r.Plan.Ops, err, summary(r.Remaining))
		}
	}
}

// TestLostPermissionRules: the fix that rebuilds a session's record in a tree warns that permission rules may be lost.
func TestLostPermissionRules(t *testing.T) {
	s, o := damagedFixture(t, 0, nil)
	s.Info.Data = s.Info.Data[:60]
	s.Info.Defect = &change.Defect{Kind: change.Malformed, Why: "the text ends early"}
	r, err := Plan(s, Request{Options: o})
	if err != nil || len(r.Fixed) == 0 || !strings.Contains(r.Fixed[0].Loses, "may allow what a lost rule denied") {
		t.Errorf("Plan = %+v, %v", r.Fixed, err)
	}
}
