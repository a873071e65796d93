package mend_test

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/agent"
	"mend/agent/opencode"
	"mend/internal/mend"
	"mend/internal/test/dbtest"
	"mend/sqlstore"
)

// TestSalvageFromArchive: what a page loses after "mend clean events" is made again from the archive of the events, but nothing of a
// session that was deleted since, and nothing from an archive that is damaged.
func TestSalvageFromArchive(t *testing.T) {
	const remove = "DELETE FROM part; DELETE FROM message; DELETE FROM session; DELETE FROM event_sequence; INSERT INTO session SELECT * FROM other; INSERT INTO message SELECT * FROM others"
	const update = `INSERT INTO event (id, aggregate_id, seq, type, data) SELECT 'evt_newest', session_id, 1, 'message.part.updated.1',
		json_object('part', json_set(data, '$.id', id, '$.messageID', message_id, '$.sessionID', session_id, '$.text', 'newest'), 'time', time_updated)
		FROM part WHERE json_extract(data, '$.type') = 'text' ORDER BY rowid LIMIT 1`
	for _, c := range []struct {
		name, since string // what happened after the clean
		damage      bool   // to the archive
		rebuilt     bool
		newest      int // parts of an event that was written since
	}{
		{name: "a lost page", rebuilt: true},
		{name: "a deleted session", since: remove},
		{name: "a session that was brought back: its numbers begin again", since: update, newest: 1},
		{name: "a damaged archive", damage: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, id := dbtest.Unpack(t, "1.18.33")
			dbtest.Alter(t, path, "PRAGMA foreign_keys=OFF; CREATE TABLE other AS SELECT * FROM session; UPDATE other SET id = 'ses_other'; CREATE TABLE others AS SELECT * FROM message; UPDATE others SET id = id || 'x', session_id = 'ses_other'")
			s, err := mend.Open(mend.Options{Agents: []agent.Agent{opencode.Agent{}}, Store: path, Journal: mend.OpenJournal(t.TempDir()), Cache: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			before := parts(t, path)
			cleaned, err := s.ProposeClean(t.Context(), "events", agent.CleanRequest{Events: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range cleaned.Plans {
				if _, err := s.Apply(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			}
			if c.since != "" {
				dbtest.Alter(t, path, "PRAGMA foreign_keys=OFF; "+c.since)
			}
			dbtest.Alter(t, path, "PRAGMA journal_mode=DELETE", "PRAGMA journal_mode=WAL")
			for _, name := range query(t, path, "SELECT name FROM sqlite_schema WHERE tbl_name = 'part'") {
				if name == "part" || c.since == remove { // with its indexes nothing shows that no row is lost
					loseLeaf(t, path, name)
				}
			}
			if archives, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".mend", "*", "rows-*", "rows.zst")); len(archives) != 1 {
				t.Fatalf("archives %q", archives)
			} else if c.damage {
				data, err := os.ReadFile(archives[0])
				dbtest.Must(t, err)
				data[len(data)/2] ^= 1
				dbtest.Write(t, archives[0], string(data))
			}
			salvaged, err := s.ProposeSalvage(t.Context(), false, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Apply(t.Context(), salvaged.Plan); err != nil {
				t.Fatal(err)
			}
			now := parts(t, path)
			if same := cmp.Equal(now, before); same != c.rebuilt {
				t.Errorf("%d of %d parts are there: %s", len(now), len(before), cmp.Diff(before, now))
			}
			if n := len(query(t, path, "SELECT id FROM part WHERE json_extract(data, '$.text') = 'newest'")); n != c.newest {
				t.Errorf("%d parts are as the newest event has them, want %d", n, c.newest)
			}
			if c.since == remove && (len(now) > 0 || slices.Contains(query(t, path, "SELECT id FROM session"), id)) {
				t.Errorf("a deleted session has %d parts again", len(now))
			}
			if said := strings.Contains(strings.Join(salvaged.Notes, " "), "archive"); said != c.damage {
				t.Errorf("notes %q", salvaged.Notes)
			}
		})
	}
}

// parts returns all parts, decoded: one that is made again may have its members in another order.
func parts(t *testing.T, path string) (all []map[string]any) {
	t.Helper()
	for _, text := range query(t, path, "SELECT json_object('id', id, 'message', message_id, 'session', session_id, 'data', json(data)) FROM part ORDER BY id") {
		var one map[string]any
		dbtest.Must(t, json.Unmarshal([]byte(text), &one))
		all = append(all, one)
	}
	return all
}

func query(t *testing.T, path, sql string) (found []string) {
	t.Helper()
	dbtest.Must(t, dbtest.View(path, func(c *sqlstore.Conn) (err error) {
		found, err = c.Strings(sql)
		return err
	}))
	return found
}

// loseLeaf writes zeros over the first leaf of a table or an index.
func loseLeaf(t *testing.T, path, name string) {
	t.Helper()
	at, err := strconv.Atoi(query(t, path, "SELECT CAST(rootpage AS TEXT) FROM sqlite_schema WHERE name = '"+name+"'")[0])
	dbtest.Must(t, err)
	data, err := os.ReadFile(path)
	dbtest.Must(t, err)
	page := func() []byte { return data[(at-1)*4096:][:4096] }
	for page()[0] == 5 || page()[0] == 2 { // an interior page: to its first child
		at = int(binary.BigEndian.Uint32(page()[binary.BigEndian.Uint16(page()[12:]):]))
	}
	clear(page())
	dbtest.Write(t, path, string(data))
}
