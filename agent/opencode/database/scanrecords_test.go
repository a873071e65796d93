package database

import (
	"bytes"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mend/agent/opencode/record"
	"mend/internal/dbtest"
	"mend/session"
	"mend/sqlstore"
)

// scanned is what ScanRecords shows of a session, copied; nil where it gives up.
func scanned(t testing.TB, s *Store, id string) (*record.Session, session.Stamp) {
	t.Helper()
	var messages []record.Message
	bare, stamp := s.ScanRecords(t.Context(), session.Head{ID: id}, record.Memory{}, func(r *session.Record, parts iter.Seq[*session.Record]) bool {
		m := record.NewMessage(sqlstore.CopyRecord(*r))
		for p := range parts {
			m.Parts = append(m.Parts, record.NewPart(sqlstore.CopyRecord(*p)))
		}
		messages = append(messages, m)
		return true
	})
	if bare != nil {
		bare.Messages = messages
	}
	return bare, stamp
}

// TestScanRecords shows what Load has, or gives up; and what was read has one stamp,
// however it was read.
func TestScanRecords(t *testing.T) {
	const message = `(SELECT id FROM message ORDER BY id LIMIT 1 OFFSET 1)`
	nullable := dbtest.Rebuild("part", "id text PRIMARY KEY, message_id text, session_id text, time_created integer, time_updated integer, data") +
		"; INSERT INTO part SELECT * FROM old; "
	rows := []struct {
		name, do string
		shows    bool
	}{
		{"as it is", "SELECT 1", true},
		{"a message without parts", "DELETE FROM part WHERE message_id = " + message, true},
		{"no messages", "DELETE FROM part; DELETE FROM message", true},
		{"data of all classes", nullable + `UPDATE part SET data = CASE rowid % 4 WHEN 0 THEN NULL WHEN 1 THEN 7 WHEN 2 THEN 0.5 ELSE x'00ff' END`, true},
		{"empty data", `UPDATE part SET data = ''`, true},
		{"text that is no UTF-8", `UPDATE part SET data = CAST(x'61006200ff' AS TEXT)`, true},
		{"large data", `UPDATE part SET data = hex(zeroblob(100000 + rowid))`, true},
		{"data above the limit", `UPDATE part SET data = hex(zeroblob(600000)) WHERE message_id = ` + message, true},
		{"another column", `ALTER TABLE part ADD COLUMN extra; UPDATE part SET extra = rowid || 'x'`, true},
		{"a newer project", `INSERT INTO project SELECT 'newer', worktree, vcs, name, icon_url, icon_color, time_created, time_updated + 1, time_initialized, sandboxes, commands FROM project`, true},
		{"a part that says it is of another session", `UPDATE part SET session_id = 'ses_other' WHERE message_id = ` + message, true},
		{"messages in another order by time", `UPDATE message SET time_created = -rowid`, false},
		{"a part whose message is gone", `INSERT INTO part SELECT 'prt_x', 'msg_gone', session_id, time_created, time_updated, data FROM part LIMIT 1`, false},
		{"a part that has no name", `UPDATE part SET id = '../' || rowid WHERE message_id = ` + message, false},
		{"a message that has no name", `UPDATE part SET message_id = '/' WHERE message_id = ` + message + `; UPDATE message SET id = '/' WHERE id = ` + message, false},
		{"an id that is a blob", `UPDATE part SET id = CAST(id AS blob) WHERE message_id = ` + message, false},
		{"no row of the session", `DELETE FROM session`, false},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			path, id := dbtest.Unpack(t, "1.2.27")
			dbtest.Alter(t, path, "PRAGMA foreign_keys=OFF", r.do)
			s := open(t, path, Options{MaxRecord: 1 << 20})
			loaded, stamp, err := s.LoadStamped(t.Context(), session.Head{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			shown, shownStamp := scanned(t, s, id)
			if !r.shows {
				if shown != nil {
					t.Error("ScanRecords shows it")
				}
				return
			}
			if diff := cmp.Diff(loaded, shown, cmp.Comparer(sameBytes), cmpopts.IgnoreUnexported(record.Message{}, record.Part{})); diff != "" {
				t.Errorf("ScanRecords shows something else than Load has (-load +scan):\n%s", diff)
			}
			seen, err := s.Stamp(t.Context(), session.Head{ID: id})
			if err != nil || slices.Contains([]session.Stamp{shownStamp, seen}, session.Stamp{}) != (stamp == session.Stamp{}) {
				t.Errorf("Stamp = %v, %v", seen, err)
			}
			if stamp != (session.Stamp{}) && (stamp != shownStamp || stamp != seen) {
				t.Errorf("the stamp is %x of Load, %x of ScanRecords, %x of Stamp", stamp.Sum, shownStamp.Sum, seen.Sum)
			}
		})
	}
}

// sameBytes is what cmp would say, sooner.
func sameBytes(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

// TestScanRecordsStops checks that a scan stops when visit returns false, and that the next
// reader, which probably gets the same connection, reads everything.
func TestScanRecordsStops(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.2.27")
	s := open(t, path, Options{})
	looks := 0
	shown, _ := s.ScanRecords(t.Context(), session.Head{ID: id}, record.Memory{}, func(*session.Record, iter.Seq[*session.Record]) bool {
		looks++
		return looks < 2
	})
	if shown != nil || looks != 2 {
		t.Errorf("ScanRecords shows a session = %v after %d looks, want false after 2", shown != nil, looks)
	}
	want := load(t, open(t, path, Options{}), id)
	if diff := cmp.Diff(want, load(t, s, id), cmpopts.IgnoreUnexported(record.Message{}, record.Part{})); diff != "" {
		t.Errorf("Load after it shows something else (-want +got):\n%s", diff)
	}
	if again, _ := scanned(t, s, id); again == nil || len(again.Messages) != len(want.Messages) {
		t.Error("ScanRecords after it does not show the session")
	}
}

// A row of many pages is read whole, also where a -wal has newer ones under the
// same numbers.
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
		t.Error("Load does not see what the database has")
	}

	dbtest.Exec(t, dbtest.Agent(t, from), set, text("b"))
	path := filepath.Join(t.TempDir(), dbtest.Name)
	for name, data := range dbtest.Files(t, from) {
		dbtest.Write(t, filepath.Join(filepath.Dir(path), name), data)
	}
	if !dbtest.HasText(load(t, open(t, path, Options{}), id), text("b")) {
		t.Error("Load does not see what the -wal has")
	}
}
