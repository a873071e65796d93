package sqlstore_test

import (
	"encoding/binary"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/internal/test/bigstore"
	"mend/internal/test/dbtest"
	"mend/internal/test/storetest"
	"mend/sqlstore"
)

// severalSessions returns a database whose tables have several pages.
func severalSessions(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	dbtest.Must(t, bigstore.Database(dir, bigstore.Uniform{Sessions: 12, Turns: 25, Folder: dir}.Mix))
	return filepath.Join(dir, "opencode", dbtest.Name)
}

const pageSize = 4096

// treePages returns the numbers of the pages of each table and index, the root first.
func treePages(t testing.TB, path string) map[string][]int {
	t.Helper()
	data, err := os.ReadFile(path)
	dbtest.Must(t, err)
	all := map[string][]int{}
	var add func(name string, page int)
	add = func(name string, page int) {
		all[name] = append(all[name], page)
		p := data[(page-1)*pageSize : page*pageSize]
		if p[0] != 2 && p[0] != 5 {
			return
		}
		for i := range int(binary.BigEndian.Uint16(p[3:])) {
			add(name, int(binary.BigEndian.Uint32(p[binary.BigEndian.Uint16(p[12+2*i:]):])))
		}
		add(name, int(binary.BigEndian.Uint32(p[8:])))
	}
	dbtest.Must(t, dbtest.View(path, func(c *sqlstore.Conn) error {
		return c.Query("SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0", nil, func(st *sqlite3.Stmt) error {
			add(st.ColumnText(0), st.ColumnInt(1))
			return nil
		})
	}))
	return all
}

// everyRow reads every session, message and part, each session by its id as the agent does.
func everyRow(t testing.TB, s *sqlstore.Store) (rows map[string]int, err error) {
	t.Helper()
	rows = map[string]int{}
	err = s.View(t.Context(), func(c *sqlstore.Conn) error {
		clear(rows)
		ids, err := c.Strings(`SELECT id FROM session ORDER BY id`)
		if err != nil {
			return err
		}
		for _, id := range ids {
			for _, kind := range []change.Kind{change.KindSession, change.KindMessage, change.KindPart} {
				err := c.Query(c.Table(kind).SelectSized, []sqlstore.Value{sqlstore.Text(id)}, func(*sqlite3.Stmt) error {
					rows[id]++
					return nil
				})
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	return rows, err
}

// TestDamagedIndex: if only an index is damaged, the check of the file names the index, no byte is changed, and a change is
// refused if the index is on its path. A read returns an error or the rows that the index leads to, as in the agent.
func TestDamagedIndex(t *testing.T) {
	storetest.Long(t)
	for name, make := range map[string]func(t testing.TB) string{
		"several sessions": severalSessions,
		"1.2.27":           func(t testing.TB) string { path, _ := dbtest.Unpack(t, "1.2.27"); return path },
		"1.18.33":          func(t testing.TB) string { path, _ := dbtest.Unpack(t, "1.18.33"); return path },
	} {
		if name == "1.2.27" && !storetest.AllCases() {
			continue
		}
		path := make(t)
		whole := []byte(dbtest.Files(t, path)[dbtest.Name])
		s, err := sqlstore.Open(path, specs(), sqlstore.Options{})
		dbtest.Must(t, err)
		want, err := everyRow(t, s)
		dbtest.Must(t, err)
		rnd := rand.New(rand.NewPCG(1, 2))
		pages := treePages(t, path)
		for _, tree := range slices.Sorted(maps.Keys(pages)) {
			if page := whole[(pages[tree][0]-1)*pageSize]; pages[tree][0] == 1 || page != 2 && page != 10 {
				continue // a table
			}
			spoils := map[string]func(data []byte){
				"the root is zeroed": func(data []byte) { clear(data[(pages[tree][0]-1)*pageSize:][:pageSize]) },
				"all pages are overwritten": func(data []byte) {
					for _, n := range pages[tree] {
						for i := range pageSize {
							data[(n-1)*pageSize+i] = byte(rnd.Uint32())
						}
					}
				},
				"it is empty": func(data []byte) {
					p := data[(pages[tree][0]-1)*pageSize:][:pageSize]
					clear(p)
					p[0], p[5], p[6] = 10, pageSize>>8, 0
				},
			}
			for _, how := range slices.Sorted(maps.Keys(spoils)) {
				if !storetest.AllCases() && how != "the root is zeroed" {
					continue
				}
				spoil := spoils[how]
				t.Run(name+" "+tree+" "+how, func(t *testing.T) {
					path := filepath.Join(t.TempDir(), dbtest.Name)
					data := slices.Clone(whole)
					spoil(data)
					dbtest.Write(t, path, string(data))
					s, err := sqlstore.Open(path, specs(), sqlstore.Options{})
					dbtest.Must(t, err)
					before := dbtest.Files(t, path)
					err = s.CheckFile(t.Context(), change.CheckAll)
					var damage *change.DamagedError
					switch {
					case err == nil && slices.Equal(data, whole): // an index without an entry
					case !errors.As(err, &damage) || !slices.Equal(damage.Parts, []string{"the index " + tree}) || strings.Contains(err.Error(), "\n"):
						t.Errorf("CheckFile = %v, want damage of %s alone", err, tree)
					}
					got, errRead := everyRow(t, s)
					if errRead != nil && !errors.Is(errRead, sqlstore.ErrUnusable) {
						t.Error(errRead)
					}
					for id, n := range got {
						if n > want[id] {
							t.Errorf("session %s has %d rows, want at most %d", id, n, want[id])
						}
					}
					for id := range want {
						_, errPrepare := s.Prepare(t.Context(), change.Plan{Ops: []change.Op{titleOp(s, id)}})
						onPath := err != nil && slices.Contains([]string{"session_parent_idx", "session_project_idx", "session_workspace_idx", "sqlite_autoindex_session_1"}, tree)
						if (errPrepare != nil) != onPath {
							t.Errorf("Prepare = %v, want an error %t", errPrepare, onPath)
						}
						break
					}
					dbtest.WantSame(t, before, dbtest.Files(t, path))
				})
			}
		}
	}
}
