package database

import (
	"context"
	"os"

	"github.com/ncruces/go-sqlite3"

	"mend/internal/salvage"
	"mend/sqlstore"
)

// An eventCount is the counter of the events of a session, and the number and the id of the newest one that is there, -1 and "" for none.
type eventCount struct {
	counter, newest int64
	id              string
}

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
	var older []string
	for id, now := range both {
		then, ok := file[id]
		switch {
		case !ok || now.newest < 0 || then.newest < 0:
		case now.newest < then.newest:
			older = append(older, now.id)
		case now.counter > now.newest && then.counter == then.newest:
			moment = salvage.Later
		}
	}
	has, err := s.fileHas(ctx, older)
	if has {
		moment = salvage.Older
	}
	return moment, err
}

// fileHas reports whether the file without its -wal has one of the events. The numbers of a session begin again if it was deleted,
// brought back and continued; its events are others then.
func (s *Store) fileHas(ctx context.Context, events []string) (has bool, err error) {
	if len(events) == 0 {
		return false, nil
	}
	err = s.ViewFile(ctx, func(c *sqlstore.Conn) error {
		for _, id := range events {
			if has, err = c.Has("SELECT 1 FROM event WHERE id = ?1", sqlstore.Text(id)); has || err != nil {
				return err
			}
		}
		return nil
	})
	return has, err
}

func countEvents(c *sqlstore.Conn, into map[string]eventCount) error {
	for _, name := range []string{"event", "event_sequence"} {
		if has, err := c.Has("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1", sqlstore.Text(name)); !has || err != nil {
			return err
		}
	}
	const count = "SELECT s.aggregate_id, s.seq, coalesce(e.seq, -1), coalesce(e.id, '') FROM event_sequence AS s " +
		"LEFT JOIN event AS e ON e.aggregate_id = s.aggregate_id AND e.seq = (SELECT max(seq) FROM event WHERE event.aggregate_id = s.aggregate_id)"
	return c.Query(count, nil, func(st *sqlite3.Stmt) error {
		into[st.ColumnText(0)] = eventCount{st.ColumnInt64(1), st.ColumnInt64(2), st.ColumnText(3)}
		return nil
	})
}
