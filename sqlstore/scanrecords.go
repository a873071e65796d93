package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"github.com/ncruces/go-sqlite3"

	"mend/session"
)

// errGivenUp ends the scan of a session that must be loaded to be examined.
var errGivenUp = errors.New("the session must be loaded")

// ScanRecords reads the rows of a session as [Store.Load] does and calls visit for each
// message with its parts, both in the order of their ids. It builds no session, and
// a record is valid only until the next one is requested.
//
// It returns the session without its messages, with the stamp of what was read. It
// returns nil as soon as visit returns false, where messages have another order by
// their times, and where Load would report Stray or an error.
func (s *Store) ScanRecords(ctx context.Context, head session.Session, visit func(*session.Record, iter.Seq[*session.Record]) bool) (*session.Session, session.Stamp) {
	if session.ValidateID(head.ID) != nil {
		return nil, session.Stamp{}
	}
	var k *recordScan
	var stamp session.Stamp
	err := s.read(ctx, func(c *conn) error {
		if k != nil {
			return errGivenUp // visit has seen rows that may have changed since
		}
		k = &recordScan{c: c, bare: session.Session{ID: head.ID}, visit: visit, sum: c.newTally()}
		err := k.run()
		stamp = k.sum.stamp()
		return err
	})
	if err != nil {
		return nil, session.Stamp{}
	}
	return &k.bare, stamp
}

// A recordScan reads the messages and the parts of a session side by side.
type recordScan struct {
	c     *conn
	bare  session.Session
	visit func(*session.Record, iter.Seq[*session.Record]) bool
	sum   *tally
	own   int64 // parts that say that they are of the session

	parts *sqlite3.Stmt
	part  session.Record // the next one that no message has had yet
	more  bool           // there is one
	sight sight          // of part
	err   error          // that reading parts came to
}

func (k *recordScan) run() error {
	t := k.c.schema.tables[session.KindSession]
	found := false
	err := k.c.query(t.selectSized, []value{text(k.bare.ID)}, func(st *sqlite3.Stmt) error {
		found, k.bare = true, head(copied(t.seeSized(st, new(sight), k.sum)))
		return nil
	})
	if err != nil || !found {
		return orGivenUp(err)
	}
	if err := k.messages(); err != nil {
		return err
	}
	if err := k.c.loadProject(&k.bare); err != nil {
		return err
	}
	if err := k.c.tallyRest(k.sum, k.bare.ID); err != nil || k.sum.claims != k.own {
		return orGivenUp(err)
	}
	return nil
}

func orGivenUp(err error) error {
	if err == nil {
		err = errGivenUp
	}
	return err
}

func (k *recordScan) messages() error {
	var err error
	if k.parts, err = k.c.prepare(k.c.schema.tables[session.KindPart].selectSized); err != nil {
		return err
	}
	defer func() { _ = k.parts.Reset() }() // it repeats the last error
	if err := text(k.bare.ID).bind(k.parts, 1); err != nil {
		return err
	}
	k.next()
	t := k.c.schema.tables[session.KindMessage]
	var b sight
	err = k.c.query(t.selectSized, []value{text(k.bare.ID)}, func(st *sqlite3.Stmt) error {
		r := t.seeSized(st, &b, k.sum)
		id, ok := idOf(&r)
		if !ok {
			return errGivenUp
		}
		r.Ref = session.Ref{Kind: session.KindMessage, Session: k.bare.ID, Message: id}
		if !k.visit(&r, k.partsOf(id)) {
			return orGivenUp(k.err)
		}
		return k.err
	})
	if err == nil && k.more { // of a message that was there before
		err = errGivenUp
	}
	return cmp.Or(k.err, err)
}

// partsOf are the next parts, as far as they are of that message.
func (k *recordScan) partsOf(message string) iter.Seq[*session.Record] {
	return func(yield func(*session.Record) bool) {
		for k.more {
			of, _ := k.part.Col("message_id")
			if string(of.Bytes) != message {
				return
			}
			id, ok := idOf(&k.part)
			if !ok {
				k.err = errGivenUp
				return
			}
			k.part.Ref = session.Ref{Kind: session.KindPart, Session: k.bare.ID, Message: message, Part: id}
			if !yield(&k.part) {
				return
			}
			k.next()
		}
	}
}

// next goes to the next part.
func (k *recordScan) next() {
	if k.more = k.parts.Step(); !k.more {
		k.err = k.parts.Err()
		return
	}
	k.part = k.c.schema.tables[session.KindPart].seeSized(k.parts, &k.sight, k.sum)
	if isOf(&k.part, k.bare.ID) {
		k.own++
	}
}

// idOf is the id of a row, and whether a ref can name it.
func idOf(r *session.Record) (string, bool) {
	c, _ := r.Col("id")
	id := string(c.Bytes)
	return id, c.Class == session.ClassText && session.ValidateID(id) == nil
}
