package sqlstore

import (
	"maps"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/storetest"
	"mend/session"
)

func TestContract(t *testing.T) {
	inMemory(t)
	t.Run("alone", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) storetest.Harness { return harness(t, "1.2.27", false) })
	})
	t.Run("beside an agent", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) storetest.Harness { return harness(t, "1.18.33", true) })
	})
}

// inMemory puts the test's folders into memory where that can be had: a kill
// loses nothing there, and a sync costs nothing.
func inMemory(t *testing.T) {
	t.Helper()
	const dir = "/dev/shm"
	if exists(dir) {
		t.Setenv("TMPDIR", dir)
	}
}

// harness is a fixture with a message that has no parts, and a running agent if
// live.
func harness(t *testing.T, version string, live bool) storetest.Harness {
	t.Helper()
	path, id := unpack(t, version)
	alter(t, path, `INSERT INTO message SELECT id || '0', session_id, time_created + 1, time_updated, data
		FROM message ORDER BY time_created DESC LIMIT 1`)
	if live {
		agent(t, path)
	}
	s := open(t, path, Options{})
	return storetest.Harness{
		Open: func(step func(string) error) storetest.Store { return open(t, path, Options{Step: step}) },
		Load: func() *session.Session { return load(t, s, id) },
		Read: func(ref session.Ref) *change.Image {
			images, err := s.Read(t.Context(), []session.Ref{ref})
			if err != nil {
				t.Fatal(err)
			}
			return images[0]
		},
		Snapshot: func() map[string]string {
			rows := map[string]string{}
			for line := range strings.Lines(dumpRows(t, path)) {
				name, _, _ := strings.Cut(line, " time_created")
				rows[name] = line
			}
			return rows
		},
		Leftovers: func() []string { return nil },
		Write:     func(ref session.Ref, image *change.Image) { overwriteRow(t, path, ref, image) },
	}
}

// overwriteRow writes a row by other SQL than ours.
func overwriteRow(t *testing.T, path string, ref session.Ref, image *change.Image) {
	t.Helper()
	c, err := connect(t.Context(), uri(path, "mode=rw"), 2, 1e9, "PRAGMA foreign_keys=OFF")
	must(t, err)
	defer c.closeReader()
	table := ref.Kind.String()
	_, err = c.exec("DELETE FROM "+table+" WHERE id = ?", []value{text(ref.ID())})
	must(t, err)
	if image == nil {
		return
	}
	r, err := change.RowOf(ref, image)
	must(t, err)
	cols := map[string]value{"data": {session.ClassText, r.Data}}
	for _, col := range r.Cols {
		cols[col.Name] = value{col.Class, col.Bytes}
	}
	var names, marks []string
	var args []value
	for name := range maps.Keys(cols) {
		names, marks, args = append(names, name), append(marks, "?"), append(args, cols[name])
	}
	_, err = c.exec("INSERT INTO "+table+"("+strings.Join(names, ",")+") VALUES ("+strings.Join(marks, ",")+")", args)
	must(t, err)
}
