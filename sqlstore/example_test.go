package sqlstore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/sqlstore"
)

// A row is read, and replaced in one transaction that compares it first.
func Example() {
	dir, err := os.MkdirTemp("", "rows")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "a.db")
	c, err := sqlite3.Open(path)
	if err == nil {
		err = c.Exec(`PRAGMA journal_mode = wal; CREATE TABLE topic (id TEXT PRIMARY KEY, title TEXT); INSERT INTO topic VALUES ('t1', 'old')`)
	}
	if err != nil {
		panic(err)
	}
	if err := c.Close(); err != nil {
		panic(err)
	}
	s, err := sqlstore.Open(path, []sqlstore.TableSpec{
		{Kind: change.KindSession, Name: "topic", Columns: []string{"id", "title"}, SessionRows: `"id" = ?1`},
	}, sqlstore.Options{})
	if err != nil {
		panic(err)
	}
	ctx, ref := context.Background(), change.Ref{Kind: change.KindSession, Session: "t1"}
	now, err := s.Read(ctx, []change.Ref{ref})
	if err != nil {
		panic(err)
	}
	row, err := change.RowOf(ref, now[0])
	if err != nil {
		panic(err)
	}
	row = row.WithCol(change.TextCol("title", "new"))
	st, err := s.Prepare(ctx, change.Plan{Session: "t1", Ops: []change.Op{{Ref: ref, Pre: now[0], Post: change.ImageOf(&row)}}})
	if err != nil {
		panic(err)
	}
	out, err := s.Commit(ctx, st)
	fmt.Println(out.State, err)
	// Output:
	// committed <nil>
}
