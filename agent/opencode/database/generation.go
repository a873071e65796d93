package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"mend/internal/fail"
	"mend/sqlstore"
)

// errNewer means that a newer generation of OpenCode has taken over the database: it keeps its sessions in tables of
// its own, and no longer uses the rows that mend knows. mend reads these rows, but does not diagnose or change them.
var errNewer = errors.New("a newer generation of OpenCode has taken it over")

// checkGeneration returns an error that wraps errNewer if the database has a table of sessions, messages or parts of a
// later generation, such as session_v2 of OpenCode 2, or if its table kv has the state of a migration to a later
// generation. The tables session_message and session_input do not count: OpenCode 1.18 has them, too.
func checkGeneration(c *sqlstore.Conn) error {
	const later = `SELECT name FROM sqlite_schema WHERE type = 'table' AND (lower(name) GLOB 'session_v[0-9]*'
		OR lower(name) GLOB 'message_v[0-9]*' OR lower(name) GLOB 'part_v[0-9]*') ORDER BY name DESC LIMIT 1`
	found, err := c.Strings(later)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return newerError("table", found[0])
	}
	// The key is in the first column of the primary key, or in the first column if there is no primary key.
	cols, err := c.Strings(`SELECT name FROM pragma_table_xinfo('kv') WHERE hidden = 0 ORDER BY pk = 0, pk, cid LIMIT 1`)
	if err != nil || len(cols) == 0 {
		return err
	}
	key := sqlite3.QuoteIdentifier(cols[0])
	found, err = c.Strings("SELECT " + key + " FROM kv WHERE " + key + " GLOB 'migration.v[0-9]*-v[0-9]*' LIMIT 1")
	if err != nil || len(found) == 0 {
		return err
	}
	return newerError("key", found[0])
}

func newerError(kind, name string) error {
	return fail.New(fail.Unusable, `"mend scan" lists the sessions that it did not import, "mend scan SESSION --text" `+
		`prints one, even a deleted one that was kept (--from DIR: kept by keep --to DIR), and "mend keep" copies them all`,
		"%w (%s %.60s), which mend does not know: nothing in it is judged or changed", errNewer, kind, name)
}

// Takeover returns an error if a newer generation of OpenCode has taken over the database. It then also returns the ids
// of the sessions that the newer generation has imported, nil if unknown. A newer generation imports once: it never
// imports sessions that an older version creates later. An unreadable database counts as not taken over.
func (s *Store) Takeover(ctx context.Context) (imported map[string]bool, err error) {
	err = s.View(ctx, func(c *sqlstore.Conn) error {
		err := checkGeneration(c)
		if !errors.Is(err, errNewer) {
			return err
		}
		ids, unknown := c.Strings("SELECT id FROM session_v2 WHERE id IN (SELECT id FROM session)")
		if unknown != nil || len(ids) == 0 { // tables or columns are unknown
			return err
		}
		imported = make(map[string]bool, len(ids))
		for _, id := range ids {
			imported[id] = true
		}
		return err
	})
	if !errors.Is(err, errNewer) {
		return nil, nil
	}
	return imported, fmt.Errorf("%s: %w", s.ID().Root, err)
}
