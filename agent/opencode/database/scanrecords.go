package database

import (
	"cmp"
	"context"
	"encoding/binary"
	"hash/maphash"
	"iter"

	"github.com/ncruces/go-sqlite3"

	"mend/agent/opencode/record"
	"mend/session"
	"mend/sqlstore"
)

// ScanRecords reads the rows of a session as [Store.Load] does and calls visit for each
// message with its parts, both in the order of their ids. It builds no session, and
// a record is valid only until the next one is requested. visit is not called for the messages
// that m knows by the bytes of their rows.
//
// It returns the session without its messages, and the stamp of the rows that it read. It
// returns nil as soon as visit returns false, if the order of messages by time is another
// one, if Load would report Stray or an error, or if an index is damaged.
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
		if c.Rebuilt() || s.damaged.Load() {
			return sqlstore.ErrStop // Load finds out whether the agent can use them
		}
		scan = &recordScan{c: c, session: record.Session{Head: session.Head{ID: head.ID}}, visit: visit, memory: m, hasher: c.hasher.reset()}
		scan.sum.SetSeed(sumSeed)
		err := scan.run()
		stamp = scan.hasher.stamp()
		return err
	})
	if err != nil {
		return nil, session.Stamp{}
	}
	return &scan.session, stamp
}

// sumSeed makes sums of one process comparable.
var sumSeed = maphash.MakeSeed()

// A recordScan reads the messages and the parts of a session side by side.
type recordScan struct {
	c        *conn
	session  record.Session
	visit    func(*session.Record, iter.Seq[*session.Record]) bool
	memory   record.Memory
	sum      maphash.Hash // of the records of a message
	hasher   *stampHasher
	ownParts int64 // number of parts with the session's id

	parts      *sqlite3.Stmt
	part       session.Record // the next part; no message has had it yet
	hasPart    bool           // part is valid
	partBuffer sqlstore.RowBuffer
	err        error // of reading parts
}

func (scan *recordScan) run() error {
	t := scan.c.Table(session.KindSession)
	found := false
	err := scan.c.Query(t.SelectSized, []sqlstore.Value{sqlstore.Text(scan.session.ID)}, func(st *sqlite3.Stmt) error {
		found, scan.session = true, newSession(sqlstore.CopyRecord(rowWithinLimit(t, st, new(sqlstore.RowBuffer), scan.hasher)))
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
	err = scan.c.hashRest(scan.hasher, scan.session.ID)
	if scan.session.Events = scan.hasher.events; err != nil || scan.hasher.ownParts != scan.ownParts {
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
	var err error
	if scan.parts, err = scan.c.Prepare(scan.c.Table(session.KindPart).SelectSized); err != nil {
		return err
	}
	defer func() { _ = scan.parts.Reset() }() // it repeats the last error
	if err := sqlstore.Text(scan.session.ID).Bind(scan.parts, 1); err != nil {
		return err
	}
	scan.nextPart()
	t := scan.c.Table(session.KindMessage)
	var b sqlstore.RowBuffer
	err = scan.c.Query(t.SelectSized, []sqlstore.Value{sqlstore.Text(scan.session.ID)}, func(st *sqlite3.Stmt) error {
		r := rowWithinLimit(t, st, &b, scan.hasher)
		id, ok := validID(&r)
		if !ok {
			return sqlstore.ErrStop
		}
		r.Ref = session.Ref{Kind: session.KindMessage, Session: scan.session.ID, Message: id}
		if !scan.message(&r) {
			return stopOr(scan.err)
		}
		return scan.err
	})
	if err == nil && scan.hasPart { // of a message that was passed already
		err = sqlstore.ErrStop
	}
	return cmp.Or(scan.err, err)
}

// message shows a message and its parts, unless they are known.
func (scan *recordScan) message(r *session.Record) bool {
	parts := scan.partsOf(r.Ref.Message)
	if scan.memory.Learn == nil {
		return scan.visit(r, parts)
	}
	scan.sum.Reset()
	scan.addToSum(r)
	summed := func(yield func(*session.Record) bool) {
		for p := range parts {
			if scan.addToSum(p); !yield(p) {
				return
			}
		}
	}
	if scan.memory.Known == nil {
		return scan.visit(r, summed) && scan.learn(r.Ref.Message)
	}
	var refs []session.Ref
	for p := range summed {
		refs = append(refs, p.Ref)
	}
	if scan.err != nil {
		return false
	}
	again := func(yield func(*session.Record) bool) {
		for _, ref := range refs {
			if !scan.readRow(ref, yield) {
				return
			}
		}
	}
	visit := func(r *session.Record) bool { return scan.visit(r, again) }
	return scan.memory.Known(r.Ref.Message, scan.stamp().Sum) || scan.readRow(r.Ref, visit) && scan.learn(r.Ref.Message)
}

// addToSum adds every byte of a record to the sum of its message. It stops the scan if the
// record is too large to be read.
func (scan *recordScan) addToSum(r *session.Record) {
	if r.Defect != nil {
		scan.err = sqlstore.ErrStop
	}
	add := func(class session.Class, data []byte) {
		maphash.WriteComparable(&scan.sum, class)
		maphash.WriteComparable(&scan.sum, len(data))
		_, _ = scan.sum.Write(data) // never fails
	}
	for c := range r.Cols.All {
		add(c.Class, c.Bytes)
	}
	add(r.Class, r.Data)
}

// stamp returns the stamp of the message whose records were added to the sum. It follows from
// all bytes, so the time of their change does not matter.
func (scan *recordScan) stamp() session.Stamp {
	s := session.Stamp{Sum: [32]byte{31: 1}} // not the zero stamp
	binary.LittleEndian.PutUint64(s.Sum[:], scan.sum.Sum64())
	return s
}

func (scan *recordScan) learn(message string) bool {
	scan.memory.Learn(message, scan.stamp())
	return true
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
			parent, _ := scan.part.Col("message_id")
			if string(parent.Bytes) != message {
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
	if scan.hasPart = scan.parts.Step(); !scan.hasPart {
		scan.err = scan.parts.Err()
		return
	}
	scan.part = rowWithinLimit(scan.c.Table(session.KindPart), scan.parts, &scan.partBuffer, scan.hasher)
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
