package fsstore

import (
	"context"
	"iter"

	"mend/session"
)

// Skim reads the records of a session as [Store.Load] does and calls look for each
// message with its parts, these in the order of their names. It builds nothing, and
// no record is there longer than until the next one is asked for. look is called by
// several goroutines, and in no order.
//
// It returns the session without its messages, with the stamp of what was read.
// It gives up, and returns nil, when look returns false and when anything is not
// as it should be: what Load has Stray or an error for.
func (s *Store) Skim(ctx context.Context, head session.Session, look func(*session.Record, iter.Seq[*session.Record]) bool) (*session.Session, session.Stamp) {
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
	v.buf.keep = false
	folder := v.messageFolder(&bare, head)
	if folder == nil {
		return nil, session.Stamp{}
	}
	defer folder.d.close()
	v.eachMessage(folder.message(bare.ID), v.messagesIn(folder, bare.ID), func(w *view, ref session.Ref, name string, _ int) {
		r := session.Record{Ref: ref}
		if !w.readInto(&r, folder.d, name) || !look(&r, w.parts(ref)) || w.foundMore() {
			giveUp()
		}
	})
	if v.failed() || v.foundMore() {
		return nil, session.Stamp{}
	}
	return &bare, v.stamp()
}
