package fsstore

import (
	"context"
	"iter"

	"mend/session"
)

// ScanRecords reads the records of a session as [Store.Load] does and calls visit for
// each message with its parts, these in the order of their names. It builds no
// session, and a record is valid only until the next one is requested. visit is
// called by several goroutines, in any order.
//
// It returns the session without its messages, with the stamp of what was read. It
// returns nil as soon as visit returns false, and where Load would report Stray or
// an error.
func (s *Store) ScanRecords(ctx context.Context, head session.Session, visit func(*session.Record, iter.Seq[*session.Record]) bool) (*session.Session, session.Stamp) {
	if session.ValidateID(head.ID) != nil {
		return nil, session.Stamp{}
	}
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	v, err := s.view(ctx)
	if err != nil {
		return nil, session.Stamp{}
	}
	defer v.close()
	v.seen = &tally{}
	bare, _ := v.info(head) // which stays: the buffer is another's after this
	v.buf.Keep = false
	folder := v.messageFolder(&bare, head)
	if folder == nil {
		return nil, session.Stamp{}
	}
	defer folder.d.Close()
	v.eachMessage(folder.message(bare.ID), v.messagesIn(folder, bare.ID), func(w *view, ref session.Ref, name string, _ int) {
		r := session.Record{Ref: ref}
		if !w.readInto(&r, folder.d, name) || !visit(&r, w.parts(ref)) || w.foundMore() {
			giveUp()
		}
	})
	if v.failed() || v.foundMore() {
		return nil, session.Stamp{}
	}
	return &bare, v.stamp()
}
