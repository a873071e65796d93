package database

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/sqlstore"
)

// Stamp returns the stamp of the rows of a session without reading their data: from the
// size of the data and all other columns, among them time_updated, which the agent sets
// with every write. It is the zero stamp if a row has no such time. Errors as of
// [Store.Load].
func (s *Store) Stamp(ctx context.Context, head change.Head) (change.Stamp, error) {
	var stamp change.Stamp
	err := s.read(ctx, func(c *conn) error {
		h := newStampHasher()
		err := c.hashRows(h, head.ID)
		h.unknown = h.unknown || c.Rebuilt() // whether the agent can read the session shows in none of its rows
		stamp = h.stamp()
		return err
	})
	if err != nil {
		return change.Stamp{}, fmt.Errorf("looking at session %s: %w", head.ID, err)
	}
	return stamp, nil
}

// A stampHasher computes the stamp of a session.
type stampHasher struct {
	sum      hash.Hash // of all rows: the session's, messages, parts, and the rest
	newest   int64     // milliseconds since 1970
	unknown  bool      // a row has no time of its last change, or cannot be read
	budget   int64     // bytes that may still be loaded
	ownParts int64     // number of parts with the session's id
	events   record.Events
	buf      []byte
}

func newStampHasher() *stampHasher { return &stampHasher{sum: sha256.New()} }

// hashRows adds the rows of a session.
func (c *conn) hashRows(h *stampHasher, id string) error {
	var b sqlstore.RowBuffer
	for _, kind := range [...]change.Kind{change.KindSession, change.KindMessage, change.KindPart} {
		t := c.Table(kind)
		err := c.Query(t.SelectSizes, []sqlstore.Value{sqlstore.Text(id)}, func(st *sqlite3.Stmt) error {
			r, class := t.Row(st, &b), classNames[0]
			if t.DataIndex >= 0 {
				class = string(r.Data)
			}
			h.addRow(&r, class, st.ColumnInt64(len(t.Cols)))
			return nil
		})
		if err != nil {
			return err
		}
	}
	return c.hashRest(h, id)
}

// hashRest adds what else the result of Load depends on: the projects of the session's
// folder, the number of parts with the session's id, and its events.
func (c *conn) hashRest(h *stampHasher, id string) error {
	const claims = `SELECT count(*) FROM "part" WHERE "session_id" = ?1`
	err := c.Query(claims, []sqlstore.Value{sqlstore.Text(id)}, func(st *sqlite3.Stmt) error {
		h.ownParts = st.ColumnInt64(0)
		h.addValue(sqlstore.CopyValue(st, 0))
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.hashProjects(h, id); err != nil {
		return err
	}
	if h.events, err = c.readEvents(id); err != nil {
		return err
	}
	for col := range h.events.Counter.Cols.All {
		h.addValue(sqlstore.ColValue(col))
	}
	h.addNumber(h.events.Last)
	h.addNumber(int64(h.events.Clash))
	return nil
}

// hashProjects adds what [Conn.loadProject] reads: the projects of the session's folder,
// all projects if its own does not exist, and its workspace.
func (c *conn) hashProjects(h *stampHasher, id string) error {
	each := func(st *sqlite3.Stmt) error {
		for i := range st.ColumnCount() {
			h.addValue(sqlstore.CopyValue(st, i))
		}
		return nil
	}
	if c.HasTable("project") {
		const projects = `SELECT b.id, b.time_updated FROM session AS s JOIN project AS a ON a.id = s.project_id
			JOIN project AS b ON b.worktree = a.worktree WHERE s.id = ?1 ORDER BY b.id`
		if err := c.Query(projects, []sqlstore.Value{sqlstore.Text(id)}, each); err != nil {
			return err
		}
		const own = `SELECT a.* FROM session AS s JOIN project AS a ON a.id = s.project_id WHERE s.id = ?1`
		if err := c.Query(own, []sqlstore.Value{sqlstore.Text(id)}, each); err != nil {
			return err
		}
		const others = `SELECT b.id, b.worktree, b.time_updated FROM session AS s JOIN project AS b
			WHERE s.id = ?1 AND NOT EXISTS (SELECT 1 FROM project AS a WHERE a.id = s.project_id) ORDER BY b.id`
		if err := c.Query(others, []sqlstore.Value{sqlstore.Text(id)}, each); err != nil {
			return err
		}
	}
	if !c.HasTable("workspace") || !slices.Contains(c.Table(change.KindSession).Cols, "workspace_id") {
		return nil
	}
	const workspace = `SELECT w.* FROM session AS s JOIN workspace AS w ON w.id = s.workspace_id WHERE s.id = ?1`
	return c.Query(workspace, []sqlstore.Value{sqlstore.Text(id)}, each)
}

// addRow adds a row: its columns, and class and size of its data.
func (h *stampHasher) addRow(r *change.Record, class string, size int64) {
	for c := range r.Cols.All {
		h.addValue(sqlstore.ColValue(c))
	}
	h.addNumber(size)
	h.add(append(h.buf[:0], class...))
	updated, _ := r.Col("time_updated")
	at, ok := updated.Int()
	h.newest = max(h.newest, at)
	h.unknown = h.unknown || !ok
}

// addValue adds a value.
func (h *stampHasher) addValue(v sqlstore.Value) {
	h.add(binary.LittleEndian.AppendUint32(append(h.buf[:0], byte(v.Class)), uint32(len(v.Bytes))))
	h.sum.Write(v.Bytes)
}

func (h *stampHasher) addNumber(n int64) {
	h.add(binary.LittleEndian.AppendUint64(h.buf[:0], uint64(n)))
}

// add adds bytes that were appended to the empty buf.
func (h *stampHasher) add(buf []byte) {
	h.buf = buf
	h.sum.Write(buf)
}

// stamp returns the stamp of what was added.
func (h *stampHasher) stamp() change.Stamp {
	if h.unknown {
		return change.Stamp{}
	}
	return change.Stamp{Sum: [32]byte(h.sum.Sum(nil)), Newest: time.UnixMilli(h.newest)}
}

// classNames are the names of typeof for the classes of data; a record has class 0 for
// text.
var classNames = [...]string{
	0: "text", change.ClassNull: "null", change.ClassInteger: "integer", change.ClassReal: "real",
	change.ClassText: "text", change.ClassBlob: "blob",
}

// rowWithinLimit returns a row of the result of SelectSized, and adds it to h.
func rowWithinLimit(t *sqlstore.Table, st *sqlite3.Stmt, b *sqlstore.RowBuffer, h *stampHasher) change.Record {
	r := t.Row(st, b)
	size := st.ColumnInt64(len(t.Cols))
	h.addRow(&r, classNames[r.Class], size)
	h.budget -= int64(len(r.Data))
	if size > t.Limit {
		h.unknown = true
		r.Class, r.Data = 0, nil
		r.Defect = &change.Defect{
			Kind: change.Unreadable,
			Why:  fmt.Sprintf("%d bytes, more than the %d that are read", size, t.Limit),
		}
	}
	return r
}
