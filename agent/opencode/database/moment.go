package database

import (
	"context"
	"os"

	"github.com/ncruces/go-sqlite3"

	"mend/internal/salvage"
	"mend/sqlstore"
)

// An eventCount is the counter of the events of a session, and the number of the newest one that is there, -1 for none.
type eventCount struct{ counter, newest int64 }

// rowsMoment returns how the -wal fits the file, as events show it: OpenCode never removes the newest events of a session that
// stays, and writes an event and its counter together. A version without events shows nothing.
func (s *Store) rowsMoment(ctx context.Context) (salvage.Moment, error) {
	if info, err := os.Lstat(s.ID().Root + "-wal"); err != nil || info.Size() == 0 {
		return salvage.Fits, nil // it may have been removed
	}
	file, both := map[string]eventCount{}, map[string]eventCount{}
	err := s.ViewFile(ctx, func(c *sqlstore.Conn) error { return countEvents(c, file) })
	if err != nil || len(file) == 0 {
		return salvage.Fits, ctx.Err() // the file alone may be damaged, or in a state of no moment
	}
	// This comes second: a program that writes meanwhile is then ahead here.
	err = s.read(ctx, func(c *conn) error {
		clear(both)
		return countEvents(c.Conn, both)
	})
	if err != nil {
		return salvage.Fits, err
	}
	moment := salvage.Fits
	for id, now := range both {
		then, ok := file[id]
		switch {
		case !ok || now.newest < 0 || then.newest < 0:
		case now.newest < then.newest:
			return salvage.Older, nil
		case now.counter > now.newest && then.counter == then.newest:
			moment = salvage.Later
		}
	}
	return moment, nil
}

func countEvents(c *sqlstore.Conn, into map[string]eventCount) error {
	for _, name := range []string{"event", "event_sequence"} {
		if has, err := c.Has("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1", sqlstore.Text(name)); !has || err != nil {
			return err
		}
	}
	const count = "SELECT aggregate_id, seq, coalesce((SELECT max(seq) FROM event WHERE event.aggregate_id = s.aggregate_id), -1) FROM event_sequence AS s"
	return c.Query(count, nil, func(st *sqlite3.Stmt) error {
		into[st.ColumnText(0)] = eventCount{st.ColumnInt64(1), st.ColumnInt64(2)}
		return nil
	})
}
