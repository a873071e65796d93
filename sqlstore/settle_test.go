package sqlstore_test

import (
	"errors"
	"testing"

	"mend/change"
	"mend/internal/test/dbtest"
	"mend/sqlstore"
)

// TestSettle: the rows alone decide the outcome, and Settle changes none.
func TestSettle(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	before := load(t, s, id)
	after := before.Clone()
	for i := range 2 {
		if err := after.Messages[1].Parts[2+i].Set([]byte(`"changed"`), "text"); err != nil {
			t.Fatal(err)
		}
	}
	ops := change.Diff(before.AllRecords, after.AllRecords)
	st, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
	if err != nil || len(ops) != 2 {
		t.Fatal(len(ops), err)
	}
	first, second := ops[0].Ref.Part, ops[1].Ref.Part
	const foreignWrite = "UPDATE part SET data = '{}' WHERE id = "
	cases := []struct {
		name  string
		do    string // SQL of another program
		half  bool   // one row has its Pre again
		want  change.State
		count int // conflicts
	}{
		{name: "post", want: change.Committed},
		{name: "post and foreign", do: foreignWrite + quote(first), want: change.Committed, count: 1},
		{name: "foreign alone", do: foreignWrite + quote(first) + ";" + foreignWrite + quote(second), want: change.Conflicted, count: 2},
		{name: "pre and post", half: true, want: change.Conflicted, count: 1},
		{name: "pre and foreign", half: true, do: foreignWrite + quote(second), want: change.Aborted, count: 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dbtest.Run(t, s, ops)
			if c.half {
				dbtest.Run(t, s, change.Inverse(ops[:1]))
			}
			if c.do != "" {
				dbtest.Alter(t, path, c.do)
			}
			previous := dbtest.Dump(t, path)
			for range 2 {
				out, err := s.Settle(t.Context(), st)
				if err != nil || out.State != c.want || len(out.Conflicts) != c.count {
					t.Errorf("Settle = %+v, %v; want %s", out, err, c.want)
				}
			}
			if dbtest.Dump(t, path) != previous {
				t.Error("Settle changed rows")
			}
			restore(t, s, ops)
		})
	}
}

// TestAbsentRows: a missing row does not prove that the plan has deleted it, because any program may have. The other rows
// decide.
func TestAbsentRows(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	s := open(t, path, sqlstore.Options{})
	all := dbtest.MixedOps(t, load(t, s, id))
	part := map[string]change.Op{}
	for _, o := range partOps(all, load(t, s, id).Messages[1].ID) {
		part[o.Verb()] = o
	}
	create, remove, replace := part["create"], part["delete"], part["change"]
	deleteRow := func(o change.Op) string { return "DELETE FROM part WHERE id = " + quote(o.Ref.Part) }
	cases := []struct {
		name string
		ops  []change.Op
		done bool     // the ops are applied
		do   []string // SQL of another program, run after that
		want change.State
	}{
		{"another program deletes the row", []change.Op{replace, remove}, false, []string{deleteRow(remove)}, change.Aborted},
		{"another program deletes the new row", []change.Op{replace, create}, true, []string{deleteRow(create)}, change.Committed},
		{"only a deletion", []change.Op{remove}, true, nil, change.Committed},
		{"only a creation, not made", []change.Op{create}, false, nil, change.Aborted},
		{"only a creation, deleted", []change.Op{create}, true, []string{deleteRow(create)}, change.Aborted},
		{"both rows are missing", []change.Op{replace, remove}, true, []string{deleteRow(replace)}, change.Conflicted},
		{"creation and deletion, both absent", []change.Op{create, remove}, true, []string{deleteRow(create)}, change.Conflicted},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			st, err := s.Prepare(t.Context(), change.Plan{Ops: c.ops})
			dbtest.Must(t, err)
			if c.done {
				dbtest.Run(t, s, c.ops)
			}
			dbtest.Alter(t, path, c.do...)
			if out, err := s.Settle(t.Context(), st); err != nil || out.State != c.want {
				t.Errorf("Settle = %+v, %v; want %s", out, err, c.want)
			}
			restore(t, s, c.ops)
		})
	}
}

func quote(s string) string { return "'" + s + "'" }

// restore gives every row its Pre again.
func restore(t *testing.T, s *sqlstore.Store, ops []change.Op) {
	t.Helper()
	var force []change.Op
	for _, o := range ops {
		now, err := s.Read(t.Context(), []change.Ref{o.Ref})
		dbtest.Must(t, err)
		if !now[0].Equal(o.Pre) {
			force = append(force, change.Op{Ref: o.Ref, Pre: now[0], Post: o.Pre})
		}
	}
	if len(force) == 0 {
		return
	}
	if out := dbtest.Run(t, s, force); out.State != change.Committed {
		t.Fatalf("restoring: %+v", out)
	}
}

// TestSettleFirst: Settle syncs the files before it reads them, because a killed process may not have, and refuses a change
// of another store.
func TestSettleFirst(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	var steps []string
	s := open(t, path, sqlstore.Options{Step: func(what string) error {
		steps = append(steps, what)
		return nil
	}})
	st, err := s.Prepare(t.Context(), change.Plan{Ops: []change.Op{titleOp(s, id)}})
	dbtest.Must(t, err)
	steps = nil
	if out, err := s.Settle(t.Context(), st); err != nil || out.State != change.Aborted || len(steps) < 2 || steps[0] != "sync "+path+"-wal" || steps[1] != "sync "+path {
		t.Errorf("Settle = %+v, %v after %q", out, err, steps)
	}
	st.Store.Root += "x"
	st.Store.Ino++
	if _, err := s.Settle(t.Context(), st); !errors.Is(err, change.ErrInvalid) {
		t.Errorf("Settle of another store = %v", err)
	}
}
