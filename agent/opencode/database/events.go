package database

import (
	"math"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/change"
	"mend/sqlstore"
)

const (
	noEvent       = -1      // the counter before the first event
	maxEventClash = 1 << 20 // more events than a session gets
)

// Each of these reads the unique index of events alone.
const (
	lastEvent  = `SELECT "seq" FROM "event" WHERE "aggregate_id" = ?1 AND typeof("seq") = 'integer' ORDER BY "seq" DESC LIMIT 1`
	eventAfter = `SELECT "seq" FROM "event" WHERE "aggregate_id" = ?1 AND typeof("seq") = 'integer' AND "seq" > ?2 ORDER BY "seq" LIMIT 1`
)

// readEvents reads where the numbers of the session's events end (docs/opencode.md).
func (c *conn) readEvents(id string) (record.Events, error) {
	e := record.Events{Last: noEvent}
	t := c.Table(change.KindEvents)
	if t == nil || !c.HasTable("event") { // or it lacks the index, without which no number is taken
		return e, nil
	}
	owner, at := sqlstore.Text(id), change.IntCol("seq", noEvent)
	e.Counter = newCounter(t, id)
	err := c.Query(t.SelectRow, []sqlstore.Value{owner}, func(st *sqlite3.Stmt) error {
		e.Counter = t.CopyRow(st)
		e.Counter.Ref = change.Ref{Kind: change.KindEvents, Session: id}
		if seq, _ := e.Counter.Col("seq"); seq.Class != change.ClassNull {
			at = seq
		}
		return nil
	})
	if err != nil {
		return e, err
	}
	err = c.Query(lastEvent, []sqlstore.Value{owner}, func(st *sqlite3.Stmt) error {
		e.Last = st.ColumnInt64(0)
		return nil
	})
	if err == nil {
		e.Clash, err = c.eventClash(owner, at)
	}
	return e, err
}

// newCounter returns a counter that is not stored.
func newCounter(t *sqlstore.Table, id string) change.Record {
	cols := make([]change.Col, len(t.Cols))
	for i, name := range t.Cols {
		cols[i] = change.Col{Name: name, Class: change.ClassNull}
	}
	return change.Record{Cols: change.NewCols(cols...)}.WithCol(change.TextCol(t.Key, id))
}

// eventClash returns the Clash of a counter with that value. It counts as JavaScript does.
func (c *conn) eventClash(owner sqlstore.Value, at change.Col) (int, error) {
	n, ok := at.Float()
	if !ok { // JavaScript appends the 1, and SQLite stores a number if the text is one
		next, err := strconv.ParseFloat(strings.TrimSpace(js.ColumnString(at)+"1"), 64)
		if err != nil {
			return 0, nil
		}
		n, at = next-1, change.RealCol("seq", next-1)
	}
	if n+1 == n {
		return 1, nil
	}
	clash := 1<<53 + 1 - n // the first number that JavaScript does not have
	err := c.Query(eventAfter, []sqlstore.Value{owner, sqlstore.ColValue(at)}, func(st *sqlite3.Stmt) error {
		if next := float64(st.ColumnInt64(0)) - n; next == math.Trunc(next) {
			clash = min(clash, next)
		}
		return nil
	})
	if clash > maxEventClash {
		return 0, err
	}
	return int(clash), err
}
