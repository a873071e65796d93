package database

import (
	"cmp"
	"context"
	"iter"

	"github.com/ncruces/go-sqlite3"

	"mend/agent/opencode/record"
	"mend/session"
	"mend/sqlstore"
)

// ScanRecords reads the rows of a session as [Store.Load] does and calls visit for each
// message with its parts, both in the order of their ids. It builds no session, and
// a record is valid only until the next one is requested. visit is not called for the messages
// that m knows; then all other data is read row by row.
//
// It returns the session without its messages, and the stamp of the rows that it read. It
// returns nil as soon as visit returns false, if the order of messages by time is another
// one, or if Load would report Stray or an error.
func (s *Store) ScanRecords(ctx context.Context, head session.Head, m record.Memory, visit func(*session.Record, iter.Seq[*session.Record]) bool) (*record.Session, session.Stamp) {
	if session.ValidateID(head.ID) != nil {
		return nil, session.Stamp{}
	}
	var scan *recordScan
	var stamp session.Stamp
	err := s.read(ctx, func(c *conn) error {
		if scan != nil {
			return sqlstore.ErrStop // visit has seen rows that may have changed since
		}
		scan = &recordScan{c: c, session: record.Session{Head: session.Head{ID: head.ID}}, visit: visit, memory: m, hasher: c.hasher.reset()}
		err := scan.run()
		stamp = scan.hasher.stamp()
		return err
	})
	if err != nil {
		return nil, session.Stamp{}
	}
	return &scan.session, stamp
}

// A recordScan reads the messages and the parts of a session side by side.
type recordScan struct {
	c        *conn
	session  record.Session
	visit    func(*session.Record, iter.Seq[*session.Record]) bool
	memory   record.Memory
	hasher   *stampHasher
	ownParts int64 // number of parts with the session's id

	row        func(*sqlstore.Table, *sqlite3.Stmt, *sqlstore.RowBuffer, *stampHasher) session.Record
	parts      *sqlite3.Stmt
	part       session.Record // the next part; no message has had it yet
	hasPart    bool           // part is valid
	partBuffer sqlstore.RowBuffer
	partStart  int   // where it begins among what the hasher has of parts
	err        error // of reading parts
}

func (scan *recordScan) run() error {
	t := scan.c.Table(session.KindSession)
	found := false
	err := scan.c.Query(t.SelectSized, []sqlstore.Value{sqlstore.Text(scan.session.ID)}, func(st *sqlite3.Stmt) error {
		found, scan.session = true, newSession(sqlstore.CopyRecord(rowWithinLimit(t, st, new(sqlstore.RowBuffer), scan.hasher), nil))
		return nil
	})
	if err != nil || !found {
		return stopOr(err)
	}
	if err := scan.scanMessages(); err != nil {
		return err
	}
	if err := scan.c.loadProject(&scan.session); err != nil {
		return err
	}
	if err := scan.c.hashRest(scan.hasher, scan.session.ID); err != nil || scan.hasher.ownParts != scan.ownParts {
		return stopOr(err)
	}
	return nil
}

func stopOr(err error) error {
	if err == nil {
		err = sqlstore.ErrStop
	}
	return err
}

func (scan *recordScan) scanMessages() error {
	messages, parts := scan.c.Table(session.KindMessage), scan.c.Table(session.KindPart)
	selectMessages, selectParts := messages.SelectSized, parts.SelectSized
	if scan.row = rowWithinLimit; scan.memory.Known != nil {
		selectMessages, selectParts, scan.row = messages.SelectSizes, parts.SelectSizes, rowSizes
	}
	var err error
	if scan.parts, err = scan.c.Prepare(selectParts); err != nil {
		return err
	}
	defer func() { _ = scan.parts.Reset() }() // it repeats the last error
	if err := sqlstore.Text(scan.session.ID).Bind(scan.parts, 1); err != nil {
		return err
	}
	info := scan.hasher.newest
	scan.hasher.newest = 0 // that of the messages so far
	scan.nextPart()
	var b sqlstore.RowBuffer
	err = scan.c.Query(selectMessages, []sqlstore.Value{sqlstore.Text(scan.session.ID)}, func(st *sqlite3.Stmt) error {
		start, partStart := len(scan.hasher.data[session.KindMessage]), scan.partStart
		r := scan.row(messages, st, &b, scan.hasher)
		id, ok := validID(&r)
		if !ok {
			return sqlstore.ErrStop
		}
		r.Ref = session.Ref{Kind: session.KindMessage, Session: scan.session.ID, Message: id}
		stamp := func() session.Stamp { return scan.hasher.stampOf(start, partStart, scan.partStart) }
		if !scan.message(&r, stamp) {
			return stopOr(scan.err)
		}
		if scan.memory.Learn != nil {
			scan.memory.Learn(id, stamp())
		}
		return scan.err
	})
	if err == nil && scan.hasPart { // of a message that was passed already
		err = sqlstore.ErrStop
	}
	scan.hasher.newest = max(scan.hasher.newest, info)
	return cmp.Or(scan.err, err)
}

// message shows a message and its parts, unless they are known.
func (scan *recordScan) message(r *session.Record, stamp func() session.Stamp) bool {
	parts := scan.partsOf(r.Ref.Message)
	if scan.memory.Known == nil {
		return scan.visit(r, parts)
	}
	var refs []session.Ref
	for p := range parts {
		refs = append(refs, p.Ref)
	}
	if scan.hasher.unknown || scan.err != nil {
		return false
	}
	return scan.memory.Known(r.Ref.Message, stamp().Sum) || scan.readRow(r.Ref, func(r *session.Record) bool {
		return scan.visit(r, func(yield func(*session.Record) bool) {
			for _, ref := range refs {
				if !scan.readRow(ref, yield) {
					return
				}
			}
		})
	})
}

// readRow calls use with a record, and returns its result.
func (scan *recordScan) readRow(ref session.Ref, use func(*session.Record) bool) (ok bool) {
	t := scan.c.Table(ref.Kind)
	scan.err = cmp.Or(scan.err, scan.c.Query(t.SelectRow, []sqlstore.Value{sqlstore.Text(ref.ID())}, func(st *sqlite3.Stmt) error {
		r := t.Row(st, new(sqlstore.RowBuffer))
		r.Ref = ref
		ok = use(&r)
		return nil
	}))
	return ok
}

// partsOf returns the next parts as long as they belong to that message.
func (scan *recordScan) partsOf(message string) iter.Seq[*session.Record] {
	return func(yield func(*session.Record) bool) {
		for scan.hasPart {
			of, _ := scan.part.Col("message_id")
			if string(of.Bytes) != message {
				return
			}
			id, ok := validID(&scan.part)
			if !ok {
				scan.err = sqlstore.ErrStop
				return
			}
			scan.part.Ref = session.Ref{Kind: session.KindPart, Session: scan.session.ID, Message: message, Part: id}
			if !yield(&scan.part) {
				return
			}
			scan.nextPart()
		}
	}
}

// nextPart reads the next part.
func (scan *recordScan) nextPart() {
	scan.partStart = len(scan.hasher.data[session.KindPart])
	if scan.hasPart = scan.parts.Step(); !scan.hasPart {
		scan.err = scan.parts.Err()
		return
	}
	scan.part = scan.row(scan.c.Table(session.KindPart), scan.parts, &scan.partBuffer, scan.hasher)
	if belongsTo(&scan.part, scan.session.ID) {
		scan.ownParts++
	}
}

// validID returns the id of a row; ok is false if no ref can name it.
func validID(r *session.Record) (string, bool) {
	c, _ := r.Col("id")
	id := string(c.Bytes)
	return id, c.Class == session.ClassText && session.ValidateID(id) == nil
}
