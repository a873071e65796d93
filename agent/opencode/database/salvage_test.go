package database

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mend/agent"
	"mend/internal/test/dbtest"
	"mend/testdata"
)

// TestSalvageRebuilds: a lost row is rebuilt from its last event, and so are counters and migrations. All other losses
// are counted.
func TestSalvageRebuilds(t *testing.T) {
	dir := t.TempDir()
	id, err := testdata.Unpack(testdata.OpenCode11833, dir)
	dbtest.Must(t, err)
	path := filepath.Join(dir, "opencode", "opencode.db")
	roots := map[string]int{}
	c, err := sqlite3.Open(path)
	dbtest.Must(t, err)
	dbtest.Must(t, c.Exec("PRAGMA wal_checkpoint(TRUNCATE)"))
	st, _, err := c.Prepare("SELECT name, rootpage FROM sqlite_schema WHERE type = 'table'")
	dbtest.Must(t, err)
	for st.Step() {
		roots[st.ColumnText(0)] = st.ColumnInt(1)
	}
	_, _ = st.Close(), c.Close()
	data, err := os.ReadFile(path)
	dbtest.Must(t, err)
	for _, table := range []string{"session", "project", "event_sequence", "migration"} { // each on one page
		clear(data[(roots[table]-1)*4096:][:4096])
	}
	dbtest.Must(t, os.WriteFile(path, data, 0o600))
	s, err := Open(path, Options{})
	dbtest.Must(t, err)
	got := map[string]int{}
	out, err := s.Salvage(t.Context(), agent.SalvageOptions{DryRun: true, Check: func(path string) error {
		c, err := sqlite3.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		for _, table := range []string{"session", "project", "event_sequence", "migration"} {
			st, _, err := c.Prepare("SELECT count(*) FROM " + table)
			if err != nil {
				return err
			}
			for st.Step() {
				got[table] = st.ColumnInt(0)
			}
			_ = st.Close()
		}
		st, _, err := c.Prepare("SELECT id || title || version || directory || tokens_output || (SELECT seq FROM event_sequence) FROM session")
		if err != nil {
			return err
		}
		for st.Step() {
			if text := st.ColumnText(0); text != id+"A title1.18.33/home/user/project12099" {
				t.Errorf("the session is %q", text)
			}
		}
		return st.Close()
	}})
	dbtest.Must(t, err)
	for table, want := range map[string]int{"session": 1, "project": 1, "event_sequence": 1, "migration": 38} {
		if got[table] != want {
			t.Errorf("%s has %d rows, want %d", table, got[table], want)
		}
	}
	if len(out.Sessions) != 1 || len(out.Sessions[0].Lost) > 0 || out.Sessions[0].Rebuilt["session"] != 1 || out.Sessions[0].Title != "A title" || !out.Damaged ||
		len(out.Sessions[0].Notes) != 1 || !strings.Contains(out.Sessions[0].Notes[0], "last event") || !out.Complete() {
		t.Errorf("Salvage = %+v", out)
	}
}

// TestSalvageTorn: two rows on swapped pages can be read, but differ from the rows that OpenCode wrote. They are
// rebuilt from their events. Without events they are counted as torn.
func TestSalvageTorn(t *testing.T) {
	for _, events := range []bool{true, false} {
		dir := t.TempDir()
		id, err := testdata.Unpack(testdata.OpenCode11833, dir)
		dbtest.Must(t, err)
		path := filepath.Join(dir, "opencode", "opencode.db")
		c, err := sqlite3.Open(path)
		dbtest.Must(t, err)
		const two = `(SELECT id FROM part WHERE json_extract(data, '$.type') = 'text' ORDER BY id LIMIT 2)`
		sql := "PRAGMA journal_mode=DELETE; UPDATE part SET data = json_set(data, '$.text', replace(hex(zeroblob(4070 + rowid)), '00', char(65 + rowid % 26))) WHERE id IN " + two
		if !events {
			sql += "; DELETE FROM event"
		}
		dbtest.Must(t, errors.Join(c.Exec(sql), c.Close()))
		data, err := os.ReadFile(path)
		dbtest.Must(t, err)
		var pages [][]byte // of one letter
		for page := range slices.Chunk(data, 4096) {
			if text := page[4:1000]; text[0] >= 'A' && bytes.Count(text, text[:1]) == len(text) {
				pages = append(pages, page)
			}
		}
		if len(pages) != 2 {
			t.Fatalf("%d pages of long rows, want 2", len(pages))
		}
		previous := bytes.Clone(pages[0])
		copy(pages[0], pages[1])
		copy(pages[1], previous)
		dbtest.Must(t, os.WriteFile(path, data, 0o600))
		s, err := Open(path, Options{})
		dbtest.Must(t, err)
		out, err := s.Salvage(t.Context(), agent.SalvageOptions{DryRun: true})
		if err != nil || len(out.Sessions) != 1 || out.Sessions[0].ID != id {
			t.Fatalf("Salvage = %+v, %v", out, err)
		}
		one := out.Sessions[0]
		if events && (one.Rebuilt["part"] != 2 || len(one.Torn) > 0 || !out.Complete()) {
			t.Errorf("with events, Salvage = %+v", out)
		}
		if !events && (one.Torn["part"] != 2 || len(one.Rebuilt) > 0 || one.Whole() || out.Complete() || one.From == 0) {
			t.Errorf("without events, Salvage = %+v", out)
		}
	}
}

// TestSalvageRemoved: OpenCode removes the parts of a removed message without events of their own. Salvage does not
// bring them back from their older events.
func TestSalvageRemoved(t *testing.T) {
	dir := t.TempDir()
	_, err := testdata.Unpack(testdata.OpenCode11833, dir)
	dbtest.Must(t, err)
	path := filepath.Join(dir, "opencode", "opencode.db")
	c, err := sqlite3.Open(path)
	dbtest.Must(t, err)
	const last = "(SELECT max(id) FROM message)"
	dbtest.Must(t, c.Exec("PRAGMA journal_mode=DELETE; INSERT INTO event SELECT 'evt_removed', session_id, "+
		"(SELECT max(seq) + 1 FROM event), 'message.removed.1', json_object('sessionID', session_id, 'messageID', id) "+
		"FROM message WHERE id = "+last+"; UPDATE event_sequence SET seq = seq + 1; DELETE FROM part WHERE message_id = "+last+
		"; DELETE FROM message WHERE id = "+last))
	st, _, err := c.Prepare("SELECT rootpage, (SELECT count(*) FROM part) FROM sqlite_schema WHERE tbl_name = 'part'")
	dbtest.Must(t, err)
	var roots []int
	parts := 0
	for st.Step() {
		roots, parts = append(roots, st.ColumnInt(0)), st.ColumnInt(1)
	}
	dbtest.Must(t, errors.Join(st.Close(), c.Close()))
	data, err := os.ReadFile(path)
	dbtest.Must(t, err)
	for _, root := range roots {
		clear(data[(root-1)*4096:][:4096])
	}
	dbtest.Must(t, os.WriteFile(path, data, 0o600))
	s, err := Open(path, Options{})
	dbtest.Must(t, err)
	out, err := s.Salvage(t.Context(), agent.SalvageOptions{DryRun: true, Check: func(path string) error {
		c, err := sqlite3.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		st, _, err := c.Prepare("SELECT count(*), sum(message_id NOT IN (SELECT id FROM message)) FROM part")
		if err != nil {
			return err
		}
		st.Step()
		if all, removed := st.ColumnInt(0), st.ColumnInt(1); all != parts || removed != 0 {
			t.Errorf("%d parts, %d of a removed message; want %d and 0", all, removed, parts)
		}
		return st.Close()
	}})
	dbtest.Must(t, err)
	if len(out.Sessions) != 1 || out.Sessions[0].Orphans != 0 {
		t.Errorf("Salvage = %+v", out)
	}
}
