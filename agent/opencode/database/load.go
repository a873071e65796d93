package database

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/sqlstore"
)

// List returns the sessions without their messages, by id, including those that have messages but no row of their
// own. Rows with an id that does not name a session are in the Stray of an additional last head without an ID. The
// error wraps [sqlstore.ErrUnusable] or [change.ErrLocked], or comes from the context or the system.
func (s *Store) List(ctx context.Context) ([]change.Head, error) {
	var heads []change.Head
	err := s.read(ctx, func(c *conn) (err error) {
		heads, err = c.list()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing sessions of %s: %w", s.ID().Root, err)
	}
	return heads, nil
}

func (c *conn) list() ([]change.Head, error) {
	var heads []change.Head
	var stray []change.Stray
	add := func(table string, id change.Col, h change.Head) {
		if err := cmp.Or(checkText(id), change.ValidateSessionID(string(id.Bytes))); err != nil {
			kind := change.StrayOther
			switch {
			case table != "session":
			case isListable(id):
				kind = change.StraySession
			default:
				kind = change.StrayRow
			}
			stray = append(stray, change.Stray{Path: rowPath(table, id), Why: err.Error(), Kind: kind})
			return
		}
		heads = append(heads, h)
	}
	t := c.Table(change.KindSession)
	err := c.Query(t.SelectAll+` ORDER BY "id"`, nil, func(st *sqlite3.Stmt) error {
		r := t.CopyRow(st)
		id, _ := r.Col("id")
		add("session", id, record.NewSession(r).Head)
		return nil
	})
	if err != nil {
		return nil, err
	}
	// Messages of sessions without a row: SQLite refuses to write such a message while foreign keys are on.
	const lost = `SELECT session_id COLLATE BINARY FROM message EXCEPT SELECT id FROM session`
	err = c.Query(lost, nil, func(st *sqlite3.Stmt) error {
		v := sqlstore.CopyValue(st, 0)
		id := change.Col{Class: v.Class, Bytes: v.Bytes}
		add("message of session", id, change.Head{ID: string(id.Bytes)})
		return nil
	})
	if len(stray) > 0 {
		heads = append(heads, change.Head{Stray: stray})
	}
	return heads, err
}

// SessionByID returns the session of List with exactly that id. The error wraps errNoSession if no row has the id.
func (s *Store) SessionByID(ctx context.Context, id string) (change.Head, error) {
	head, err := change.Head{}, change.ValidateID(id)
	if err != nil {
		return head, fmt.Errorf("%w: %w", errNoSession, err)
	}
	err = s.read(ctx, func(c *conn) error {
		t := c.Table(change.KindSession)
		return c.Query(t.SelectRow, []sqlstore.Value{sqlstore.Text(id)}, func(st *sqlite3.Stmt) error {
			head = record.NewSession(t.CopyRow(st)).Head
			return nil
		})
	})
	if err == nil && head.ID != id {
		err = errNoSession
	}
	if err != nil {
		return change.Head{}, fmt.Errorf("finding session %s: %w", id, err)
	}
	return head, nil
}

// isListable reports whether the agent can list a session with that id (measured with 1.18.33; 1.2.27 lists all).
func isListable(id change.Col) bool {
	return id.Class == change.ClassText && strings.HasPrefix(string(id.Bytes), "ses")
}

// Load returns the session with its messages and parts, and the stamp of its rows when they were read. A row with a
// problem has a Defect; a row that OpenCode cannot have written is in Stray. The error wraps errNoSession,
// [sqlstore.ErrUnusable] or [change.ErrLocked], or comes from the system.
func (s *Store) Load(ctx context.Context, head change.Head) (*record.Session, change.Stamp, error) {
	return s.load(ctx, head, false)
}

// LoadRaw is Load without decoding the records.
func (s *Store) LoadRaw(ctx context.Context, head change.Head) (*record.Session, change.Stamp, error) {
	return s.load(ctx, head, true)
}

func (s *Store) load(ctx context.Context, head change.Head, raw bool) (*record.Session, change.Stamp, error) {
	if err := change.ValidateID(head.ID); err != nil {
		return nil, change.Stamp{}, fmt.Errorf("%w: %w", errNoSession, err)
	}
	var loaded *record.Session
	var stamp change.Stamp
	err := s.read(ctx, func(c *conn) (err error) {
		h := newStampHasher()
		h.budget = s.opt.MaxSession
		loaded, err = c.loadSession(head.ID, h, raw)
		if h.budget < 0 {
			err = &change.SizeError{Most: s.opt.MaxSession}
		}
		stamp = h.stamp()
		return err
	})
	if err != nil {
		return nil, change.Stamp{}, fmt.Errorf("loading session %s: %w", head.ID, err)
	}
	if why := s.misfit.Load(); why != nil {
		loaded.IndexFault = *why
	} else if mayAffectPrompts(s.damaged.Load()) {
		loaded.IndexFault = "The database is damaged, and not all of the session may be readable. OpenCode may show only a " +
			"part of the session, or answer no prompt in it."
	}
	if s.damaged.Load() != nil {
		stamp = change.Stamp{}
	}
	return loaded, stamp, nil
}

// mayAffectPrompts reports whether the agent reads, or may read, the damaged part when it answers a prompt (measured
// with 1.18.34).
func mayAffectPrompts(d *change.DamagedError) bool {
	return d != nil && (d.Touched == nil || slices.ContainsFunc(d.Touched, func(table string) bool {
		return slices.Contains([]string{"session", "message", "part", "project", "event", "event_sequence"}, table)
	}))
}

// loadSession reads a session, and adds its rows to h in the order they are read.
func (c *conn) loadSession(id string, h *stampHasher, raw bool) (*record.Session, error) {
	s := &record.Session{Head: change.Head{ID: id}}
	t := c.Table(change.KindSession)
	err := c.Query(t.SelectSized, []sqlstore.Value{sqlstore.Text(id)}, func(st *sqlite3.Stmt) error {
		*s = record.NewSession(sqlstore.CopyRecord(rowWithinLimit(t, st, new(sqlstore.RowBuffer), h)))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := c.loadMessages(s, h, raw); err != nil {
		return nil, err
	}
	s.InfoMissing = s.Info.Ref.Kind == 0
	if s.InfoMissing && len(s.Messages)+len(s.Stray) == 0 {
		return nil, errNoSession
	}
	if err := c.loadParts(s, h, raw); err != nil {
		return nil, err
	}
	return s, c.loadRest(s, h)
}

// RemovedMessages returns the ids of the messages of a session that the agent has removed itself, according to its
// events: after /undo the next prompt removes what was undone. It returns nil if the database has no events.
func (s *Store) RemovedMessages(ctx context.Context, session string) (removed map[string]bool, err error) {
	const query = `SELECT json_extract(data, '$.messageID') FROM event
		WHERE aggregate_id = ?1 AND type = 'message.removed.1' AND json_valid(data)`
	err = s.read(ctx, func(c *conn) error {
		if c.Table(change.KindEvents) == nil || !c.HasTable("event") {
			return nil
		}
		removed = map[string]bool{} // also if a read is repeated
		return c.Query(query, []sqlstore.Value{sqlstore.Text(session)}, func(st *sqlite3.Stmt) error {
			removed[st.ColumnText(0)] = true
			return nil
		})
	})
	return removed, err
}

// loadProject reads the rows that the session's row refers to: its project, its workspace, and a project that replaced
// its own (docs/opencode.md F16).
func (c *conn) loadProject(s *record.Session) error {
	if s.Info.Ref.Kind == 0 {
		return nil
	}
	project, _ := s.Info.Col("project_id")
	if c.HasTable("project") {
		t := c.Table(change.KindProject)
		found := false
		err := c.Query(t.SelectRow, []sqlstore.Value{sqlstore.ColValue(project)}, func(st *sqlite3.Stmt) error {
			found, s.ProjectRow = true, t.CopyRow(st)
			s.ProjectRow.Ref = change.Ref{Kind: change.KindProject, Project: string(project.Bytes)}
			return nil
		})
		if err != nil {
			return err
		}
		if !found {
			return c.findProject(s, project)
		}
		if s.ProjectRow.Ref.Validate() != nil { // no ref can name it
			s.ProjectRow = change.Record{}
		}
		const newer = `SELECT b.id FROM project AS a
			JOIN project AS b ON b.worktree = a.worktree AND b.time_updated > a.time_updated
			WHERE a.id = ?1 ORDER BY b.time_updated DESC LIMIT 1`
		err = c.Query(newer, []sqlstore.Value{sqlstore.Text(s.Project)}, func(st *sqlite3.Stmt) error {
			s.Newer = st.ColumnText(0)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return c.loadWorkspace(s)
}

// findProject finds the project with the folder that contains the session's directory: the innermost such project,
// and if there are several, the one used last. The project global contains every directory. When the agent starts, it
// creates the project global, and the project of a repository, whose id is the hash of a commit.
func (c *conn) findProject(s *record.Session, project change.Col) error {
	const home = `SELECT id FROM project WHERE typeof(id) = 'text' AND id <> ''
			AND (worktree = ?1 OR substr(?1, 1, length(worktree) + 1) = worktree || '/'
				OR id = 'global' OR id = CAST(?2 AS TEXT))
		ORDER BY id = CAST(?2 AS TEXT) DESC, id = 'global', length(worktree) DESC, time_updated DESC LIMIT 1`
	err := c.Query(home, []sqlstore.Value{sqlstore.Text(s.Directory), sqlstore.ColValue(project)},
		func(st *sqlite3.Stmt) error {
			s.Home = st.ColumnText(0)
			return nil
		})
	if err != nil {
		return err
	}
	isHash := len(s.Project) == 40 && strings.Trim(s.Project, "0123456789abcdef") == ""
	made := isHash && (s.Home == "" || s.Home == record.GlobalProject) // the agent creates it
	s.ProjectMissing = s.Project != record.GlobalProject && !made
	return c.loadWorkspace(s)
}

// isEventNumberTaken returns [record.Session].EventNumberTaken. Without the index that makes the numbers of events
// unique, a used number does no harm.
func (c *conn) isEventNumberTaken(id string) (bool, error) {
	if c.Table(change.KindEvents) == nil || !c.HasTable("event") {
		return false, nil
	}
	// A prompt that is answered with a text creates at least 14 events (observed with 1.18.33). So a used number beyond
	// the next 14 is harmless for that prompt.
	const ahead = `SELECT 1 FROM event, (SELECT coalesce((SELECT seq FROM event_sequence WHERE aggregate_id = ?1), -1) AS last)
		WHERE aggregate_id = ?1 AND seq > last AND seq <= last + 14 LIMIT 1`
	return c.Has(ahead, sqlstore.Text(id))
}

// isParentMissing returns [record.Session].ParentMissing.
func (c *conn) isParentMissing(s *record.Session) (bool, error) {
	if s.Parent == "" {
		return false, nil
	}
	exists, err := c.Has(`SELECT 1 FROM session WHERE id = ?1`, sqlstore.Text(s.Parent))
	return err == nil && !exists, err
}

// loadWorkspace checks whether the agent can use the session's workspace.
func (c *conn) loadWorkspace(s *record.Session) error {
	workspace, ok := s.Info.Col("workspace_id")
	if !ok || workspace.Class == change.ClassNull || len(workspace.Bytes) == 0 || !c.HasTable("workspace") {
		return nil
	}
	s.WorkspaceFault = " names a workspace that is not in the database"
	return c.Query(`SELECT * FROM workspace WHERE id = ?1`, []sqlstore.Value{sqlstore.ColValue(workspace)},
		func(st *sqlite3.Stmt) error {
			s.WorkspaceFault = ""
			texts := map[string]string{}
			for i := range st.ColumnCount() {
				texts[st.ColumnName(i)] = st.ColumnText(i)
			}
			if texts["type"] == "worktree" { // for another type a plugin decides where the workspace is
				s.InWorkspace, s.Workspace = true, texts["directory"]
			}
			return nil
		})
}

// loadMessages reads the messages in the agent's order.
func (c *conn) loadMessages(s *record.Session, h *stampHasher, raw bool) error {
	return c.eachRow(s, change.KindMessage, h, func(r change.Record) {
		r.Ref = change.Ref{Kind: change.KindMessage, Session: s.ID, Message: idOf(&r)}
		m := record.Message{Record: r}
		if !raw {
			m = record.NewMessage(r)
		}
		checkNamed(&m.Record)
		s.Messages = append(s.Messages, m)
	})
}

// loadParts reads the parts of each message, in the order of their ids.
func (c *conn) loadParts(s *record.Session, h *stampHasher, raw bool) error {
	at := make(map[string]int, len(s.Messages))
	for i := range s.Messages {
		at[s.Messages[i].Ref.Message] = i
	}
	return c.eachRow(s, change.KindPart, h, func(r change.Record) {
		message, _ := r.Col("message_id")
		i, ok := at[string(message.Bytes)]
		if !ok || message.Class != change.ClassText {
			return
		}
		m := &s.Messages[i]
		r.Ref = change.Ref{Kind: change.KindPart, Session: s.ID, Message: m.Ref.Message, Part: idOf(&r)}
		p := record.Part{Record: r}
		if !raw {
			p = record.NewPart(r)
		}
		checkNamed(&p.Record)
		m.Parts = append(m.Parts, p)
	})
}

// eachRow calls f for each row of a kind in the session that OpenCode may have written. Other rows are strays.
func (c *conn) eachRow(s *record.Session, kind change.Kind, h *stampHasher, f func(change.Record)) error {
	t := c.Table(kind)
	var b sqlstore.RowBuffer
	return c.Query(t.SelectSized, []sqlstore.Value{sqlstore.Text(s.ID)}, func(st *sqlite3.Stmt) error {
		seen := rowWithinLimit(t, st, &b, h)
		if h.budget < 0 {
			return sqlstore.ErrStop
		}
		if why := whyUnread(&seen); why != "" {
			id, _ := seen.Col("id")
			s.Stray = append(s.Stray, change.Stray{Kind: change.StrayUnread, Path: rowPath(kind.String(), id), Why: why})
			return nil
		}
		f(sqlstore.CopyRecord(seen))
		return nil
	})
}

// whyUnread returns why OpenCode cannot have written a row of a message or a part, "" if it may have. mend does not
// examine a session with such a row.
func whyUnread(r *change.Record) string {
	id, _ := r.Col("id")
	if err := checkText(id); err != nil {
		return err.Error()
	}
	if _, isPart := r.Col("message_id"); !isPart {
		if at, _ := r.Col("time_created"); at.Class != change.ClassInteger {
			return fmt.Sprintf("its time is %v, not an integer", at.Class)
		}
	}
	if r.Class == change.ClassBlob {
		return "its data is a blob, such as SQLite's binary JSON, which OpenCode cannot read"
	}
	return ""
}

func idOf(r *change.Record) string {
	id, _ := r.Col("id")
	return string(id.Bytes)
}

func checkText(id change.Col) error {
	if id.Class != change.ClassText {
		return fmt.Errorf("its id is %v, not text", id.Class)
	}
	if len(id.Bytes) == 0 {
		return errors.New("its id is empty")
	}
	return nil
}

// checkNamed sets the defect of a record with an invalid id. The agent reads it like any other, but no plan can change
// it.
func checkNamed(r *change.Record) {
	if err := r.Ref.Validate(); err != nil && r.Defect == nil {
		r.Defect = &change.Defect{Kind: change.WrongName, Why: err.Error()}
	}
}

// rowPath returns a name for a row without a ref.
func rowPath(table string, id change.Col) string {
	return table + "/" + strconv.QuoteToASCII(string(id.Bytes))
}
