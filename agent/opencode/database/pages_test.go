package database

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"mend/internal/test/dbtest"
)

// TestReadManyPages: a row of many pages is read completely, even if a -wal has newer pages with the same numbers.
func TestReadManyPages(t *testing.T) {
	text := func(between string) string {
		var b strings.Builder
		for n := range 20_000 {
			fmt.Fprint(&b, n, between)
		}
		return b.String()
	}
	from, id := dbtest.Unpack(t, "1.18.33")
	const set = `UPDATE part SET data = json_set(data, '$.text', '%s') WHERE data LIKE '%%"type":"text"%%'`
	dbtest.Alter(t, from, fmt.Sprintf(set, text("a")))
	if !dbtest.HasText(load(t, open(t, from, Options{}), id), text("a")) {
		t.Error("Load does not return the text in the database")
	}

	dbtest.Exec(t, dbtest.Agent(t, from), set, text("b"))
	path := filepath.Join(t.TempDir(), dbtest.Name)
	for name, data := range dbtest.Files(t, from) {
		dbtest.Write(t, filepath.Join(filepath.Dir(path), name), data)
	}
	if !dbtest.HasText(load(t, open(t, path, Options{}), id), text("b")) {
		t.Error("Load does not return the text in the -wal")
	}
}
