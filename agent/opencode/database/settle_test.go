package database

import (
	"testing"

	"mend/change"
	"mend/session"
)

// TestSettle is the table of decisions.
func TestSettle(t *testing.T) {
	path, id := unpack(t, "1.18.33")
	s := open(t, path, Options{})
	before := load(t, s, id)
	after := before.Clone()
	for i := range 2 {
		if err := after.Messages[1].Parts[2+i].Set([]byte(`"changed"`), "text"); err != nil {
			t.Fatal(err)
		}
	}
	ops := change.Diff(before.AllRecords, after.AllRecords)
	st, err := s.Prepare(t.Context(), ops)
	if err != nil || len(ops) != 2 {
		t.Fatal(len(ops), err)
	}
	first, second := ops[0].Ref.Part, ops[1].Ref.Part
	const mine = "UPDATE part SET data = '{}' WHERE id = "
	cases := []struct {
		name  string
		do    string
		half  bool // one row is put back to Pre
		want  change.State
		count int // conflicts
	}{
		{name: "post", want: change.Committed},
		{name: "post and foreign", do: mine + quote(first), want: change.Committed, count: 1},
		{name: "foreign alone", do: mine + quote(first) + ";" + mine + quote(second), want: change.Conflicted, count: 2},
		{name: "pre and post", half: true, want: change.Conflicted, count: 1},
		{name: "pre and foreign", half: true, do: mine + quote(second), want: change.Aborted, count: 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			run(t, s, ops)
			if c.half {
				run(t, s, change.Inverse(ops[:1]))
			}
			if c.do != "" {
				alter(t, path, c.do)
			}
			was := dump(t, path)
			for range 2 {
				out, err := s.Settle(t.Context(), st)
				if err != nil || out.State != c.want || len(out.Conflicts) != c.count {
					t.Errorf("Settle = %+v, %v; want %s", out, err, c.want)
				}
			}
			if dump(t, path) != was {
				t.Error("Settle changed rows")
			}
			restore(t, s, ops)
		})
	}
}

// TestAbsentRows: anybody may have deleted a row, so that it is not there says
// little.
func TestAbsentRows(t *testing.T) {
	path, id := unpack(t, "1.18.33")
	s := open(t, path, Options{})
	all := surgery(t, load(t, s, id))
	part := map[string]change.Op{}
	for _, o := range onlyOf(all, load(t, s, id).Messages[1].ID) {
		part[o.Verb()] = o
	}
	create, remove, replace := part["create"], part["delete"], part["change"]
	gone := func(o change.Op) string { return "DELETE FROM part WHERE id = " + quote(o.Ref.Part) }
	cases := []struct {
		name string
		ops  []change.Op
		done bool
		do   []string
		want change.State
	}{
		{"our deletion done by others", []change.Op{replace, remove}, false, []string{gone(remove)}, change.Aborted},
		{"our creation deleted", []change.Op{replace, create}, true, []string{gone(create)}, change.Committed},
		{"deletion alone", []change.Op{remove}, true, nil, change.Committed},
		{"creation alone", []change.Op{create}, false, nil, change.Aborted},
		{"creation alone, deleted", []change.Op{create}, true, []string{gone(create)}, change.Aborted},
		{"nothing left to tell", []change.Op{replace, remove}, true, []string{gone(replace)}, change.Conflicted},
		{"creation and deletion, both absent", []change.Op{create, remove}, true, []string{gone(create)}, change.Conflicted},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			st, err := s.Prepare(t.Context(), c.ops)
			must(t, err)
			if c.done {
				run(t, s, c.ops)
			}
			alter(t, path, c.do...)
			if out, err := s.Settle(t.Context(), st); err != nil || out.State != c.want {
				t.Errorf("Settle = %+v, %v; want %s", out, err, c.want)
			}
			restore(t, s, c.ops)
		})
	}
}

func quote(s string) string { return "'" + s + "'" }

// restore puts every Pre back, whatever is there.
func restore(t *testing.T, s *Store, ops []change.Op) {
	t.Helper()
	var force []change.Op
	for _, o := range ops {
		now, err := s.Read(t.Context(), []session.Ref{o.Ref})
		must(t, err)
		if !now[0].Equal(o.Pre) {
			force = append(force, change.Op{Ref: o.Ref, Pre: now[0], Post: o.Pre})
		}
	}
	if len(force) == 0 {
		return
	}
	if out := run(t, s, force); out.State != change.Committed {
		t.Fatalf("restoring: %+v", out)
	}
}
