package database

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
// says that the migration to one is complete. The tables session_message and session_input alone
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
	cols, err := c.Strings(`SELECT name FROM pragma_table_xinfo('kv') WHERE hidden = 0 ORDER BY pk = 0, pk, cid`)
	if err != nil || len(cols) == 0 {
		return err
	}
	values := slices.DeleteFunc(slices.Clone(cols[1:]), func(name string) bool { return strings.HasPrefix(strings.ToLower(name), "time") })
	key := sqlite3.QuoteIdentifier(cols[0])
	var query strings.Builder
	query.WriteString("SELECT " + key)
	for _, name := range values {
		query.WriteString(", " + sqlite3.QuoteIdentifier(name))
	}
	return c.Query(query.String()+` FROM kv WHERE `+key+` GLOB 'migration.v[0-9]*-v[0-9]*'`, nil, func(st *sqlite3.Stmt) error {
		for i := range values {
			if isUnfinished(st.ColumnText(i + 1)) {
				return nil
			}
		}
		return newerError(c, "key", st.ColumnText(0))
	})
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

// unfinished are the words for a migration that is not complete.
var unfinished = []string{
	"", "0", "false", "null", "none", "no", "pending", "queued", "scheduled", "started", "running", "active",
	"in_progress", "in-progress", "inprogress", "progress", "failed", "failure", "error", "aborted", "cancelled", "canceled", "incomplete", "skipped",
}

// isUnfinished reports whether the value of a migration's key says that it is not complete: such a
// word, alone, in JSON or as the state in an object. What mend does not understand counts as
// complete, since then nothing is changed.
func isUnfinished(value string) bool {
	var v any
	if json.Unmarshal([]byte(value), &v) != nil {
		v = value
	}
	if object, ok := v.(map[string]any); ok {
		for _, name := range []string{"status", "state", "completed", "complete", "done", "value"} {
			if member, ok := object[name]; ok {
				v = member
				break
			}
		}
	}
	if v == nil {
		return true
	}
	return slices.Contains(unfinished, strings.ToLower(strings.TrimSpace(fmt.Sprint(v))))
}
