package database

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/sqlstore"
)

// Stamp returns the stamp of the rows of a session without reading their data: from the size of the data
// and all other columns, among them time_updated, which the agent sets with every write. The stamp is
// zero if a row has no such time. Errors are as for [Store.Load].
func (s *Store) Stamp(ctx context.Context, head change.Head) (change.Stamp, error) {
	var stamp change.Stamp
	err := s.read(ctx, func(c *conn) error {
		h := newStampHasher()
		err := c.hashRows(h, head.ID)
		stamp = h.stamp()
		return err
	})
	if err != nil {
		return change.Stamp{}, fmt.Errorf("reading the state of session %s: %w", head.ID, err)
	}
	return stamp, nil
}

type stampHasher struct {
	sum     hash.Hash // of all rows: the session's, messages, parts, and the rest
	newest  int64     // milliseconds since 1970
	unknown bool      // a row has no time of its last change, or cannot be read
	budget  int64     // bytes that may still be loaded
	buf     []byte    // bytes that are not in sum yet
}

func newStampHasher() *stampHasher { return &stampHasher{sum: sha256.New()} }

func (c *conn) hashRows(h *stampHasher, id string) error {
	s := &record.Session{Head: change.Head{ID: id}}
	var b sqlstore.RowBuffer
	for _, kind := range [...]change.Kind{change.KindSession, change.KindMessage, change.KindPart} {
		t := c.Table(kind)
		err := c.Query(t.SelectSizes, []sqlstore.Value{sqlstore.Text(id)}, func(st *sqlite3.Stmt) error {
			r, class := t.Row(st, &b), classNames[0]
			if t.DataIndex >= 0 {
				class = string(r.Data)
			}
			h.addRow(&r, class, st.ColumnInt64(len(t.Cols)))
			if kind == change.KindSession {
				*s = record.NewSession(sqlstore.CopyRecord(r))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return c.loadRest(s, h)
}

// loadRest reads the other inputs of Load, and adds them to h: the session's project and workspace, whether the
// numbers of its next events are free, and whether its parent exists.
func (c *conn) loadRest(s *record.Session, h *stampHasher) error {
	if err := c.loadProject(s); err != nil {
		return err
	}
	var err error
	if s.EventNumberTaken, err = c.isEventNumberTaken(s.ID); err != nil {
		return err
	}
	if s.ParentMissing, err = c.isParentMissing(s); err != nil {
		return err
	}
	for col := range s.ProjectRow.Cols.All {
		h.addValue(sqlstore.ColValue(col))
	}
	flags := fmt.Sprint(s.EventNumberTaken, s.ProjectMissing, s.InWorkspace, s.ParentMissing)
	for _, text := range [...]string{s.Newer, s.Home, s.WorkspaceFault, s.Workspace, flags} {
		h.addValue(sqlstore.Text(text))
	}
	return nil
}

// addRow adds the columns of a row, and the class and the size of its data.
func (h *stampHasher) addRow(r *change.Record, class string, size int64) {
	if len(h.buf) >= 4<<10 {
		h.flush()
	}
	for c := range r.Cols.All {
		h.addValue(sqlstore.ColValue(c))
	}
	h.buf = binary.LittleEndian.AppendUint64(h.buf, uint64(size))
	h.buf = append(h.buf, class...)
	updated, _ := r.Col("time_updated")
	at, ok := updated.Int()
	h.newest = max(h.newest, at)
	h.unknown = h.unknown || !ok
}

func (h *stampHasher) addValue(v sqlstore.Value) {
	h.buf = append(binary.LittleEndian.AppendUint32(append(h.buf, byte(v.Class)), uint32(len(v.Bytes))), v.Bytes...)
}

func (h *stampHasher) flush() {
	h.sum.Write(h.buf)
	h.buf = h.buf[:0]
}

// stamp returns the stamp of what was added.
func (h *stampHasher) stamp() change.Stamp {
	if h.unknown {
		return change.Stamp{}
	}
	h.flush()
	return change.Stamp{Sum: [32]byte(h.sum.Sum(nil)), Newest: time.UnixMilli(h.newest)}
}

// classNames are the results of typeof for the classes of data; a record has class 0 for text.
var classNames = [...]string{
	0: "text", change.ClassNull: "null", change.ClassInteger: "integer", change.ClassReal: "real",
	change.ClassText: "text", change.ClassBlob: "blob",
}

// rowWithinLimit returns a result row of SelectSized, and adds it to h.
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
