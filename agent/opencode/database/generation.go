package database

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/internal/fail"
	"mend/sqlstore"
)

// errNewer means that a newer generation of OpenCode has taken over the database: it keeps its
// sessions in tables of its own, and the rows that mend knows are no longer in use. Such a
// database is neither judged nor changed.
var errNewer = errors.New("a newer generation of OpenCode has taken it over")

// checkGeneration returns an error that wraps errNewer if the database has a table of sessions,
// messages or parts of a later generation, such as session_v2 of OpenCode 2, or if its table kv
// has the state of a migration to one. The tables session_message and session_input alone
// say nothing: OpenCode 1.18 has them.
func checkGeneration(c *sqlstore.Conn) error {
	const later = `SELECT name FROM sqlite_schema WHERE type = 'table' AND (lower(name) GLOB 'session_v[0-9]*'
		OR lower(name) GLOB 'message_v[0-9]*' OR lower(name) GLOB 'part_v[0-9]*') ORDER BY name DESC LIMIT 1`
	found, err := c.Strings(later)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return newerError(c, "table", found[0])
	}
	// The key is in the first column of the primary key, or without one in the first column.
	cols, err := c.Strings(`SELECT name FROM pragma_table_xinfo('kv') WHERE hidden = 0 ORDER BY pk = 0, pk, cid LIMIT 1`)
	if err != nil || len(cols) == 0 {
		return err
	}
	key := sqlite3.QuoteIdentifier(cols[0])
	found, err = c.Strings("SELECT " + key + " FROM kv WHERE " + key + " GLOB 'migration.v[0-9]*-v[0-9]*' LIMIT 1")
	if err != nil || len(found) == 0 {
		return err
	}
	return newerError(c, "key", found[0])
}

func newerError(c *sqlstore.Conn, kind, name string) error {
	err := fmt.Errorf("%w: %w (%s %.60s), which mend does not know: nothing in it is judged or changed", sqlstore.ErrUnusable, errNewer, kind, name)
	if left := leftBehind(c); left != "" {
		err = fmt.Errorf("%w; %s", err, left)
	}
	return fail.WithHint(err, "\"opencode export ID\" of that version writes a session to a file")
}

// leftBehind says which sessions OpenCode 2 did not import, "" if that is not known: it imports once, and sessions that
// an older version made later are never seen. It keeps the ids.
func leftBehind(c *sqlstore.Conn) string {
	const left = `FROM session WHERE id NOT IN (SELECT id FROM session_v2 WHERE id IS NOT NULL)`
	count, err := c.Strings(`SELECT count(*) || '/' || (SELECT count(*) FROM session_v2 WHERE id IN (SELECT id FROM session)) ` + left)
	var n, both int
	if err != nil || len(count) == 0 { // tables or columns that are not known
		return ""
	}
	if _, err := fmt.Sscanf(count[0], "%d/%d", &n, &both); err != nil || n == 0 || both == 0 {
		return ""
	}
	names, err := c.Strings(`SELECT id || ' "' || coalesce(substr(title, 1, 40), '') || '"' ` + left + ` ORDER BY time_updated DESC LIMIT 3`)
	if err != nil {
		return ""
	}
	if n > len(names) {
		names = append(names, "...")
	}
	return fmt.Sprintf("older sessions that it did not import: %d (%s)", n, strings.Join(names, ", "))
}
