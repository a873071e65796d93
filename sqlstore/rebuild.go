package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// The agent may still read a database with a damaged index, if it does not use that index. So mend reads such a
// database, too: it rebuilds all indexes in a transaction that is never committed, whose pages stay in memory. This
// reads each table once; after that every query is as fast as before.

// readRebuilt runs f as [Store.View] does, on a connection with rebuilt indexes. first is the error of the read with
// the file's own indexes; readRebuilt returns it if the indexes cannot be rebuilt.
func (s *Store) readRebuilt(ctx context.Context, files fileState, f func(*Conn) error, first error) (again bool, err error) {
	before, err := s.state()
	if err != nil {
		return false, err
	}
	var c *Conn
	same := func() bool {
		after, err := s.state()
		now, errFiles := inspectFiles(s.id.Root)
		return errors.Join(err, errFiles) == nil && after.Sum == before.Sum && now == files
	}
	defer func() { err = explain(ctx, err) }()
	defer func() {
		again = !same() && ctx.Err() == nil
		if c != nil && !again && ctx.Err() == nil && (err == nil || isAny(err, sqlite3.CORRUPT) || errors.Is(err, ErrStop)) {
			s.putIdle(c, files)
		} else {
			c.closeReader()
		}
	}()
	defer recoverPanic(&err)
	if c = s.takeIdle(files, true); c != nil {
		c.db.SetInterrupt(ctx)
	} else if c, err = s.openRebuilt(ctx, files); err != nil {
		if ctx.Err() != nil || first == nil {
			return false, err
		}
		return false, first
	}
	return false, f(c)
}

// openRebuilt returns a connection in a transaction with rebuilt indexes. If a table cannot be read, the file's own
// indexes of it are used.
func (s *Store) openRebuilt(ctx context.Context, files fileState) (*Conn, error) {
	var damaged []string // tables that cannot be read
	for {
		c, err := s.openScratch(ctx, files)
		if err != nil {
			return nil, err
		}
		var table string
		if err = c.db.Exec("BEGIN"); err == nil {
			table, err = c.rebuildIndexes(damaged)
		}
		if err == nil {
			c.schema, err = s.schemaOf(c)
		}
		if err == nil {
			return c, nil
		}
		c.closeReader()
		if table == "" || !errors.Is(err, sqlite3.CORRUPT) {
			return nil, err
		}
		damaged = append(damaged, table)
	}
}

// openScratch opens the database for changes that reach no file.
func (s *Store) openScratch(ctx context.Context, files fileState) (*Conn, error) {
	vfs.Register(scratchVFS, readVFS{scratch: true})
	pragmas := unlockedPragma + "PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON; PRAGMA cache_size=-256; PRAGMA cache_spill=OFF; PRAGMA foreign_keys=OFF;"
	if !files.walMode {
		pragmas += "PRAGMA journal_mode=MEMORY;"
	}
	c, err := connect(ctx, uri(s.id.Root, "mode=rw&vfs="+scratchVFS), sqlite3.OPEN_READWRITE, s.opt.BusyTimeout, pragmas)
	if err != nil {
		return nil, err
	}
	c.rebuilt = true
	_, err = c.db.Config(sqlite3.DBCONFIG_DEFENSIVE, false) // so that the schema can be written
	if err = errors.Join(err, c.keepFiles()); err != nil {
		c.closeReader()
		return nil, err
	}
	return c, nil
}

// rebuildIndexes rebuilds each index, except the indexes of some tables. On an error it returns the table that it was
// reading.
func (c *Conn) rebuildIndexes(except []string) (table string, err error) {
	if err := c.db.Exec("PRAGMA writable_schema=ON"); err != nil {
		return "", err
	}
	const temporary = "mend rebuilt"
	tables, err := c.Strings("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND NOT wr")
	if err != nil {
		return "", err
	}
	for _, table := range tables {
		if slices.Contains(except, table) {
			continue
		}
		indexes, err := c.indexesOf(table)
		if err != nil {
			return "", err
		}
		for _, name := range slices.Sorted(maps.Keys(indexes)) {
			if err := c.db.Exec(`CREATE INDEX "` + temporary + `" ON ` + sqlite3.QuoteIdentifier(table) + " (" + indexes[name] + ")"); err != nil {
				return table, err
			}
			swap := `UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = '` + temporary + `') WHERE type = 'index' AND name = ?1`
			if _, err := c.exec(swap, []Value{Text(name)}); err != nil {
				return "", err
			}
			if err := c.db.Exec(`DELETE FROM sqlite_schema WHERE name = '` + temporary + `'; PRAGMA writable_schema=RESET; PRAGMA writable_schema=ON`); err != nil {
				return "", err
			}
		}
	}
	return "", c.db.Exec("PRAGMA writable_schema=RESET")
}

// indexesOf returns the columns of each index of a table, by name. It leaves out partial indexes and indexes of
// expressions.
func (c *Conn) indexesOf(table string) (map[string]string, error) {
	const columns = `SELECT l.name, x.name, x."desc", x.coll FROM pragma_index_list(?1) AS l, pragma_index_xinfo(l.name) AS x WHERE x.key AND NOT l.partial ORDER BY l.seq, x.seqno`
	found := map[string]string{}
	var odd []string
	err := c.Query(columns, []Value{Text(table)}, func(st *sqlite3.Stmt) error {
		name := st.ColumnText(0)
		if st.ColumnType(1) == sqlite3.NULL {
			odd = append(odd, name)
			return nil
		}
		column := fmt.Sprintf("%s COLLATE %s", sqlite3.QuoteIdentifier(st.ColumnText(1)), sqlite3.QuoteIdentifier(st.ColumnText(3)))
		if st.ColumnBool(2) {
			column += " DESC"
		}
		found[name] = strings.TrimPrefix(found[name]+", "+column, ", ")
		return nil
	})
	for _, name := range odd {
		delete(found, name)
	}
	return found, err
}
