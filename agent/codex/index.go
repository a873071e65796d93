package codex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/sqlstore"
)

// threads is the table of the index with a row for each session.
var threads = sqlstore.TableSpec{
	Kind: change.KindIndex, Name: "threads", Columns: []string{"id", "rollout_path"}, SessionRows: `"id" = ?1`,
	Triggers: []string{
		"threads_created_at_ms_after_insert", "threads_updated_at_ms_after_insert", "threads_recency_at_after_insert",
		"threads_created_at_ms_after_update", "threads_updated_at_ms_after_update",
	},
}

// shown is the table of thread_history_1.sqlite with the offset in the rollout up to which Codex has derived the
// history that it shows of a session. The tables of With contain that history. Codex continues from the offset even
// if the rollout has changed. Without these rows it derives the history again.
var shown = sqlstore.TableSpec{
	Kind: change.KindHistory, Name: "thread_history_projection_state", Key: "thread_id",
	Columns:     []string{"thread_id", "next_rollout_byte_offset", "next_rollout_ordinal"},
	SessionRows: `"thread_id" = ?1`, Optional: true,
	Triggers: []string{"thread_realtime_items_projection_cleanup"},
	With:     []string{"thread_turns", "thread_items", "thread_realtime_items"},
}

// openHistory opens the database with the histories that Codex shows, nil if it does not exist.
func (s *store) openHistory() (*sqlstore.Store, error) {
	return openTable(filepath.Join(s.ID().Root, "thread_history_1.sqlite"), shown,
		sqlstore.Options{Step: s.step, MaxRecord: s.Most})
}

// openIndex opens the index, nil if it does not exist.
func (s *store) openIndex() (*sqlstore.Store, error) {
	return openTable(s.indexFile(), threads, sqlstore.Options{Step: s.step})
}

// openTable opens a database for the records of one table, nil if it does not exist.
func openTable(file string, spec sqlstore.TableSpec, o sqlstore.Options) (*sqlstore.Store, error) {
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	return sqlstore.Open(file, []sqlstore.TableSpec{spec}, o)
}

// indexFile returns the path of the newest index, "" for none.
func (s *store) indexFile() string {
	all, _ := fs.Glob(os.DirFS(s.ID().Root), "state_*.sqlite")
	if len(all) == 0 {
		return ""
	}
	return filepath.Join(s.ID().Root, slices.MaxFunc(all, func(a, b string) int {
		return cmp.Or(len(a)-len(b), strings.Compare(a, b))
	}))
}

// rows returns the rows of the index by session. Codex rebuilds a missing or unreadable index.
func (s *store) rows() map[string]*change.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	file := s.indexFile()
	if now := statesOf([]string{file, file + "-wal"}); s.index == nil || s.seen != now {
		s.index, s.seen = s.readIndex(), now
	}
	return s.index
}

func (s *store) readIndex() map[string]*change.Record {
	all := map[string]*change.Record{}
	db, err := s.openIndex()
	if db == nil || err != nil {
		return all
	}
	_ = db.View(context.Background(), func(c *sqlstore.Conn) error {
		clear(all)
		t := c.Table(change.KindIndex)
		return c.Query(t.SelectAll, nil, func(st *sqlite3.Stmt) error {
			r := t.CopyRow(st)
			id := r.Text("id")
			r.Ref = change.Ref{Kind: change.KindIndex, Session: id}
			all[id] = &r
			return nil
		})
	})
	return all
}

// CheckAccess implements [agent.Store]. An unreadable index hides no session: Codex rebuilds it, or CheckFile
// reports it.
func (s *store) CheckAccess(inUse bool) error {
	err := s.Unread()
	if err != nil || !inUse {
		return err
	}
	err = sqlstore.CheckSpace(s.ID().Root, 0, "a prompt needs")
	for _, name := range []string{databases[0].name, locks} { // and the folder that contains them
		if e := s.file(name).CheckWritable(); err == nil && !errors.Is(e, fs.ErrNotExist) {
			err = e
		}
	}
	if err != nil {
		return fmt.Errorf("%s may answer no prompt: %w", Agent{}.Title(), err)
	}
	return nil
}
