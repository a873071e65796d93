package database

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"mend/agent/opencode/record"
	"mend/change"
)

// LoadRaw reads the records of a session: all, or those behind the last of marks that the session has. Of
// the messages before that mark it reads what a [Store.Stamp] is made of. Errors as of [Store.Load].
func (s *Store) LoadRaw(ctx context.Context, head change.Head, marks []change.Mark) (record.Copied, error) {
	if err := change.ValidateID(head.ID); err != nil {
		return record.Copied{}, fmt.Errorf("%w: %w", errNoSession, err)
	}
	var is record.Copied
	err := s.read(ctx, func(c *conn) (err error) {
		is = record.Copied{}
		h := c.newPrintingHasher()
		if len(marks) > 0 && !c.Rebuilt() {
			if is.Session, err = c.hashRows(h, head.ID); err != nil {
				return err
			}
			if !h.unknown {
				is.Skipped = record.CommonMark(h.prints.marks(), marks)
			}
		}
		tail := newStampHasher()
		if is.Skipped == 0 {
			h = c.newPrintingHasher()
			tail = h
		}
		tail.budget = s.opt.MaxSession
		if is.Skipped == 0 {
			is.Session, err = c.loadSession(head.ID, tail, true)
		} else if err = c.loadMessages(is.Session, tail, true, is.Skipped); err == nil {
			_, err = c.loadParts(is.Session, tail, true, is.Skipped)
		}
		if tail.budget < 0 {
			err = &change.SizeError{Most: s.opt.MaxSession}
		}
		is.First = h.prints.first
		if !c.Rebuilt() && s.damaged.Load() == nil && !h.unknown {
			is.Stamp, is.Marks = h.stamp(), h.prints.marks()
		}
		return err
	})
	if err != nil {
		return record.Copied{}, fmt.Errorf("loading session %s: %w", head.ID, err)
	}
	return is, nil
}

// prints are of the messages of a session, each with its parts.
type prints struct {
	columns string // the names of those of messages and parts
	first   string // the id of the first message
	at      map[string]int
	each    []change.Mark // of each message alone
	buf     []byte
}

// newPrintingHasher returns a stampHasher that has prints.
func (c *conn) newPrintingHasher() *stampHasher {
	h := newStampHasher()
	h.prints = &prints{
		columns: strings.Join(slices.Concat(c.Table(change.KindMessage).Cols, c.Table(change.KindPart).Cols), "\x00"),
		at:      map[string]int{},
	}
	return h
}

// add adds a row that was changed at a time, in milliseconds since 1970. row is all that a stamp has of it. The
// rows of messages precede those of parts.
func (p *prints) add(r *change.Record, row []byte, changed int64) {
	if message, ok := r.Col("message_id"); ok {
		i, ok := p.at[string(message.Bytes)]
		if !ok {
			return
		}
		m := &p.each[i]
		m.Print = p.next(m.Print, row)
		if at := time.UnixMilli(changed); at.After(m.Newest) {
			m.Newest = at
		}
		return
	}
	if _, ok := r.Col("session_id"); !ok { // the row of the session
		return
	}
	id := idOf(r)
	if len(p.each) == 0 {
		p.first = id
	}
	p.at[id] = len(p.each)
	p.each = append(p.each, change.Mark{Print: p.next([16]byte{}, row), Newest: time.UnixMilli(changed)})
}

// marks returns one mark behind each message.
func (p *prints) marks() []change.Mark {
	return record.Marks(p.next([16]byte{}, []byte(p.columns)), p.each)
}

// next returns the print of what has the print before and then these bytes.
func (p *prints) next(before [16]byte, b []byte) [16]byte {
	p.buf = append(append(p.buf[:0], before[:]...), b...)
	sum := sha256.Sum256(p.buf)
	return [16]byte(sum[:16])
}
