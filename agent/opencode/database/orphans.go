package database

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/sqlstore"
)

// Orphans returns the rows that belong to no session: the messages of sessions that have
// no row and the parts of these messages, and the parts of messages that do not exist.
// Rows whose id is not valid are left out. The session of a part is the one in its row,
// else [change.NoSession].
//
// The error wraps [change.ErrHidden] if no session has a row at all, [sqlstore.ErrUnusable] or
// [change.ErrLocked], or is the context's or the system's.
func (s *Store) Orphans(ctx context.Context) ([]change.Ref, error) {
	var refs []change.Ref
	err := s.read(ctx, func(c *conn) (err error) {
		refs, err = c.findOrphans()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("looking for orphans in %s: %w", s.ID().Root, err)
	}
	return refs, nil
}

// These queries read only indexes, and each id once.
const (
	orphanMessages = `SELECT "id", "session_id" FROM "message"
		WHERE "session_id" IN (SELECT "session_id" COLLATE BINARY FROM "message" EXCEPT SELECT "id" FROM "session") ORDER BY "session_id", "id"`
	messageParts    = `SELECT "id", "message_id", "session_id" FROM "part" WHERE "message_id" = ?1 ORDER BY "id"`
	missingMessages = `SELECT "message_id" COLLATE BINARY FROM "part" EXCEPT SELECT "id" FROM "message" ORDER BY 1`
)

func (c *conn) findOrphans() (refs []change.Ref, err error) {
	owners := map[string]string{} // sessions of messages without a session, by message
	var lost []string
	err = c.Query(orphanMessages, nil, func(st *sqlite3.Stmt) error {
		ref := change.Ref{Kind: change.KindMessage, Session: st.ColumnText(1), Message: st.ColumnText(0)}
		if isText(st, 2) && ref.Validate() == nil {
			refs = append(refs, ref)
			owners[ref.Message] = ref.Session
			lost = append(lost, ref.Message)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	switch some, err := c.Has(`SELECT 1 FROM "session" LIMIT 1`); {
	case err != nil:
		return nil, err
	case !some && len(refs) > 0:
		return nil, fmt.Errorf("%w: no session has a row", change.ErrHidden)
	}
	missing, err := c.Strings(missingMessages)
	if err != nil {
		return nil, err
	}
	for _, message := range append(lost, missing...) {
		parts, err := c.partsOf(message, owners[message])
		if err != nil {
			return nil, err
		}
		refs = append(refs, parts...)
	}
	return refs, nil
}

// partsOf returns the parts of a message. Their session is owner, or else the one in their row.
func (c *conn) partsOf(message, owner string) (refs []change.Ref, err error) {
	err = c.Query(messageParts, []sqlstore.Value{sqlstore.Text(message)}, func(st *sqlite3.Stmt) error {
		ref := change.Ref{Kind: change.KindPart, Session: cmp.Or(owner, st.ColumnText(2)), Message: message, Part: st.ColumnText(0)}
		if change.ValidateID(ref.Session) != nil {
			ref.Session = change.NoSession
		}
		if isText(st, 2) && ref.Validate() == nil {
			refs = append(refs, ref)
		}
		return nil
	})
	return refs, err
}

// isText reports whether the first n columns hold text.
func isText(st *sqlite3.Stmt, n int) bool {
	for i := range n {
		if st.ColumnType(i) != sqlite3.TEXT {
			return false
		}
	}
	return true
}
