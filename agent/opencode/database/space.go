package database

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/agent"
	"mend/change"
	"mend/sqlstore"
)

// Space returns how the space of the database is used. The content of rows is measured; the rest of the file is free
// pages, indexes, and unused space in pages.
func (s *Store) Space(ctx context.Context, progress func(done, total int64)) (space agent.Space, err error) {
	err = s.read(ctx, func(c *conn) (err error) {
		space, err = c.space(progress)
		return err
	})
	if err != nil {
		return space, fmt.Errorf("measuring %s: %w", s.ID().Root, err)
	}
	if info, err := os.Lstat(s.ID().Root + "-wal"); err == nil {
		space.Add("write-ahead log", info.Size(), "pages")
	}
	space.Add("archives of mend, for undo", agent.FolderSize(filepath.Join(filepath.Dir(s.ID().Root), ".mend")), "")
	return space, nil
}

func (c *conn) space(progress func(done, total int64)) (space agent.Space, err error) {
	var pages, free, size int64
	for pragma, n := range map[string]*int64{"page_count": &pages, "freelist_count": &free, "page_size": &size} {
		if err := c.Query("PRAGMA "+pragma, nil,
			func(st *sqlite3.Stmt) error { *n = st.ColumnInt64(0); return nil }); err != nil {
			return space, err
		}
	}
	const ordinary = `SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name`
	tables, err := c.Strings(ordinary)
	var conversation, images, events, others, done int64
	for _, table := range tables {
		if err != nil {
			return space, err
		}
		var one agent.SessionSpace
		err = c.tableSpace(table, &space, &one, func(n int64) {
			if done += n; progress != nil {
				progress(done, pages*size)
			}
		})
		events += one.Events
		if isConversation(table) {
			conversation, images = conversation+one.Conversation, images+one.Images
		} else {
			others += one.Conversation
		}
	}
	space.Add("events", events, "events")
	space.Add(agent.Conversations, conversation, "sessions")
	space.Add(agent.Images, images, "images")
	space.Add("other rows", others, "")
	space.Add("free pages", free*size, "pages")
	space.Add("indexes, and what pages leave empty", (pages-free)*size-events-conversation-images-others, "")
	return space, err
}

// isConversation reports whether rows of a table are part of a session.
func isConversation(table string) bool {
	return table == "session" || table == "message" || table == "part" || table == "todo" ||
		strings.HasPrefix(table, "session_")
}

// tableSpace adds the rows of a table to their sessions and to sum. It reads large values only to search them for
// images.
func (c *conn) tableSpace(table string, space *agent.Space, sum *agent.SessionSpace, read func(n int64)) error {
	cols, err := c.Strings("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", sqlstore.Text(table))
	if err != nil || len(cols) == 0 {
		return err
	}
	owner, image := "NULL", "0"
	var sizes []string
	for _, col := range cols {
		name := sqlite3.QuoteIdentifier(col)
		sizes = append(sizes, "ifnull(octet_length("+name+"), 0)")
		if col == sessionColumn(table) {
			owner = name
		}
		if table == "part" && col == "data" {
			image = "octet_length(" + name + ") > 1000 AND instr(" + name + ", 'data:image/')"
		}
	}
	var session *agent.SessionSpace
	last := ""
	const reportEvery = 1 << 20 // bytes
	unreported := int64(0)
	sql := "SELECT " + owner + ", " + strings.Join(sizes, "+") + ", " + image + " FROM " + sqlite3.QuoteIdentifier(table)
	return c.Query(sql, nil, func(st *sqlite3.Stmt) error {
		n := st.ColumnInt64(1)
		if raw := st.ColumnRawText(0); session == nil || string(raw) != last {
			last = string(raw)
			if session = new(agent.SessionSpace); strings.HasPrefix(last, "ses") {
				session = space.Session(last)
			}
		}
		switch {
		case table == "event":
			session.Events, sum.Events = session.Events+n, sum.Events+n
		case st.ColumnInt64(2) > 0:
			session.Images, sum.Images = session.Images+n, sum.Images+n
		default:
			session.Conversation, sum.Conversation = session.Conversation+n, sum.Conversation+n
		}
		if unreported += n; unreported >= reportEvery {
			read(unreported)
			unreported = 0
		}
		return nil
	})
}

// Clean implements [agent.Store].
func (s *Store) Clean(ctx context.Context, r agent.CleanRequest) (c agent.Cleaned, err error) {
	if err := s.CheckFile(ctx, change.CheckLog); err != nil {
		return c, err
	}
	request := sqlstore.ArchiveRequest{DryRun: r.DryRun, Progress: r.Progress}
	for _, h := range r.Sessions {
		request.Sessions = append(request.Sessions, h.ID)
	}
	if r.Events {
		request.Table = "event"
		found := false
		err := s.read(ctx, func(c *conn) (err error) {
			found, err = c.Has("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", sqlstore.Text(request.Table))
			return err
		})
		if err != nil || !found {
			return c, err
		}
	}
	if len(r.Sessions) > 0 {
		if c.Shared, err = s.sharedSessions(ctx, request.Sessions); err != nil {
			return c, err
		}
	}
	a, err := s.Archive(ctx, request)
	c.Rows, c.Content, c.Packed, c.Discard = a.Rows, a.Content, a.Packed, a.Discard
	if len(a.Ops) > 0 {
		c.Plans = []change.Plan{{Ops: a.Ops}}
	}
	return c, err
}

// sharedSessions returns the ids of the sessions that are shared.
func (s *Store) sharedSessions(ctx context.Context, ids []string) (shared []string, err error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	err = s.read(ctx, func(c *conn) error {
		found, err := c.Has("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'session_share'")
		if err == nil && found {
			shared, err = c.Strings("SELECT session_id FROM session_share WHERE session_id IN (SELECT value FROM "+
				"json_each(?1)) ORDER BY 1", sqlstore.Text(string(list)))
		}
		return err
	})
	return shared, err
}
