package sqlstore_test

import (
	"iter"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/internal/test/dbtest"
	"mend/internal/test/storetest"
	"mend/sqlstore"
)

// TestContract cuts and fails a change, its undo and their recovery at each call.
func TestContract(t *testing.T) {
	storetest.Long(t)
	t.Parallel()
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, func(t *testing.T) storetest.Harness { return harness(t, "1.2.27", false) })
	})
	t.Run("beside an agent", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, func(t *testing.T) storetest.Harness { return harness(t, "1.18.33", true) })
	})
}

// harness returns a new database, which an agent has open if live is set.
func harness(t *testing.T, version string, live bool) storetest.Harness {
	t.Helper()
	path, id := unpackSmall(t, version)
	if live {
		dbtest.Agent(t, path)
	}
	s := open(t, path, sqlstore.Options{})
	return storetest.Harness{
		Open:    func(step func(string) error) storetest.Store { return open(t, path, sqlstore.Options{Step: step}) },
		Records: func() iter.Seq[*change.Record] { return load(t, s, id).AllRecords },
		Read: func(ref change.Ref) *change.Image {
			images, err := s.Read(t.Context(), []change.Ref{ref})
			if err != nil {
				t.Fatal(err)
			}
			return images[0]
		},
		Snapshot: func() map[string]string {
			rows := map[string]string{}
			for line := range strings.Lines(dbtest.DumpRows(t, path)) {
				name, _, _ := strings.Cut(line, " time_created")
				rows[name] = line
			}
			return rows
		},
		Leftovers: func() []string { return nil },
		Slow:      true,
		Write:     func(ref change.Ref, image *change.Image) { overwriteRow(t, path, ref, image) },
	}
}

// overwriteRow writes or deletes a row as another program would, with other SQL than mend's.
func overwriteRow(t *testing.T, path string, ref change.Ref, image *change.Image) {
	t.Helper()
	c, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE)
	dbtest.Must(t, err)
	defer func() { _ = c.Close() }()
	dbtest.Must(t, c.BusyTimeout(time.Second))
	exec := func(sql string, args []sqlstore.Value) {
		st, _, err := c.Prepare(sql)
		dbtest.Must(t, err)
		defer func() { _ = st.Close() }()
		for i, v := range args {
			dbtest.Must(t, v.Bind(st, i+1))
		}
		dbtest.Must(t, st.Exec())
	}
	dbtest.Must(t, c.Exec("PRAGMA foreign_keys=OFF"))
	table := ref.Kind.String()
	exec("DELETE FROM "+table+" WHERE id = ?", []sqlstore.Value{sqlstore.Text(ref.ID())})
	if image == nil {
		return
	}
	r, err := change.RowOf(ref, image)
	dbtest.Must(t, err)
	cols := map[string]sqlstore.Value{"data": {Class: change.ClassText, Bytes: r.Data}}
	for col := range r.Cols.All {
		cols[col.Name] = sqlstore.ColValue(col)
	}
	var names, marks []string
	var args []sqlstore.Value
	for name := range maps.Keys(cols) {
		names, marks, args = append(names, name), append(marks, "?"), append(args, cols[name])
	}
	exec("INSERT INTO "+table+"("+strings.Join(names, ",")+") VALUES ("+strings.Join(marks, ",")+")", args)
}
