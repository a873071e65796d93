//go:build e2e

package database

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/agent"
	"mend/internal/test/dbtest"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
)

// TestRealMigrations stops the migrations of a database at any step, with the same number of rows, one more or one
// less, or without a table or a column. mend finds the database damaged exactly if the real program does not answer.
// After a salvage the program answers, unless the schema is incomplete.
func TestRealMigrations(t *testing.T) {
	storetest.Long(t)
	exe, err := opencode.Install("1.18.34")
	dbtest.Must(t, err)
	api := endpoint.New(nil)
	t.Cleanup(api.Close)
	h := opencode.New(t, exe, api, false)
	store := filepath.Join(h.DataDir(), "opencode.db")
	type state struct {
		fixture string
		n, rows int
		alter   string
	}
	states := []state{
		{"1.18.33", 0, 0, "DELETE FROM migration"},
		{"1.18.33", 0, 0, "DELETE FROM migration WHERE id > '20260611'"},
		{"1.18.33", 0, 0, "DELETE FROM migration WHERE id LIKE '%_next_venus'"},
		{"1.18.33", 0, 0, "DROP TABLE migration"},
		{"1.18.33", 0, 0, "ALTER TABLE session DROP COLUMN agent"},
		{"1.18.33", 0, 0, "ALTER TABLE session DROP COLUMN agent; ALTER TABLE session DROP COLUMN metadata; DELETE FROM migration WHERE id > '20260611'"},
		{"1.18.33", 0, 0, "ALTER TABLE event_sequence DROP COLUMN owner_id"},
		{"1.18.33", 0, 0, "ALTER TABLE project DROP COLUMN icon_url_override"},
		{"1.18.33", 0, 0, "DROP TABLE event"},
		{"1.18.33", 0, 0, "DROP TABLE account_state"},
		{"1.18.33", 0, 0, "DROP TABLE session_message"},
		{"1.18.33", 0, 0, "DROP TABLE permission"},
		{"1.18.33", 0, 0, "DROP INDEX event_aggregate_seq_idx"},
		{"1.2.27", 0, 0, "DELETE FROM __drizzle_migrations WHERE id > 7"},
		{"1.2.27", 0, 0, "DROP TABLE __drizzle_migrations"},
		{"1.2.27", 9, 38, ""},
	}
	for n := drizzleCount; n <= 38; n++ {
		for _, rows := range []int{n - 1, n, min(n+1, 38)} {
			states = append(states, state{"1.2.27", n, rows, ""})
		}
	}
	for i, c := range states {
		t.Run(fmt.Sprintf("%s %d %d %s", c.fixture, c.n, c.rows, c.alter), func(t *testing.T) {
			if i > 0 {
				storetest.Long(t)
			}
			for _, suffix := range []string{"", "-wal", "-shm"} {
				_ = os.Remove(store + suffix)
			}
			id := h.Unpack(dbtest.Fixtures[c.fixture])
			if c.n > 0 {
				migrate(t, store, c.n, c.rows)
			}
			if c.alter != "" {
				dbtest.Alter(t, store, c.alter)
			}
			dbtest.Alter(t, store, "PRAGMA wal_checkpoint(TRUNCATE)")
			whole, err := os.ReadFile(store)
			dbtest.Must(t, err)
			why := fault(t, store)
			r := h.Continue(id, "one more")
			if (why == "") != (r.Verdict == opencode.Alive) {
				t.Errorf("the real program is %s: %.300s\nmend says %q", r.Verdict, r.Output, why)
			}
			if why == "" {
				return
			}
			for _, suffix := range []string{"", "-wal", "-shm"} {
				_ = os.Remove(store + suffix)
			}
			dbtest.Write(t, store, string(whole))
			s := open(t, store, Options{})
			_, err = s.Salvage(t.Context(), agent.SalvageOptions{DryRun: true, Check: func(fresh string) error {
				salvaged, err := os.ReadFile(fresh)
				dbtest.Write(t, store, string(salvaged))
				return err
			}})
			if err != nil && strings.Contains(err.Error(), noVersion) {
				lacks := c.rows > c.n || strings.Contains(c.alter, "DROP COLUMN") || strings.Contains(why, "it has no column") || strings.Contains(why, "it is missing")
				if !lacks {
					t.Errorf("%v, although the rows can be created again: %s", err, why)
				}
				return
			}
			dbtest.Must(t, err)
			if r := h.Continue(id, "one more"); r.Verdict != opencode.Alive {
				t.Errorf("after a salvage the real program is %s: %.500s\n%s", r.Verdict, r.Output, why)
			}
		})
	}
}
