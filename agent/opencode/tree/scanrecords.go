package tree

import (
	"context"
	"iter"

	"mend/agent/opencode/record"
	"mend/internal/safedir"
	"mend/session"
)

// ScanRecords reads the records of a session as [Store.Load] does and calls visit for each
// message with its parts, these in the order of their names. It builds no session, and a
// record is valid only until the next one is requested. visit is called by several
// goroutines, in any order. It is not called for the messages that m knows.
//
// It returns the session without its messages, with the stamp of what was read. It returns
// nil as soon as visit returns false, and where Load would report Stray or an error.
func (s *Store) ScanRecords(ctx context.Context, head session.Head, m record.Memory, visit func(*session.Record, iter.Seq[*session.Record]) bool) (*record.Session, session.Stamp) {
	if session.ValidateID(head.ID) != nil {
		return nil, session.Stamp{}
	}
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	tr, err := s.newReader(ctx)
	if err != nil {
		return nil, session.Stamp{}
	}
	defer tr.close()
	tr.stamp = &stampHasher{}
	bare, _ := tr.readInfo(head) // before the buffer is used for other records
	tr.buf.Keep = false
	folder := tr.messageFolder(&bare, head)
	if folder == nil || bare.InfoMissing {
		if folder != nil {
			folder.dir.Close()
		}
		return nil, session.Stamp{}
	}
	defer folder.dir.Close()
	tr.eachMessage(folder.messageRef(bare.ID), tr.messageNames(folder, bare.ID), func(w *treeReader, ref session.Ref, name string, _ int) {
		if m.Known != nil && w.isKnown(folder.dir, ref, name, m.Known) {
			return
		}
		r := session.Record{Ref: ref}
		if !w.readInto(&r, folder.dir, name) || !visit(&r, w.parts(ref)) || w.foundNonRecords() {
			giveUp()
		} else if m.Learn != nil {
			m.Learn(ref.Message, w.sum())
		}
	})
	if tr.failed() || tr.foundNonRecords() || tr.unopened {
		return nil, session.Stamp{}
	}
	return &bare, tr.sum()
}

// isKnown reports whether a message is known by its stamp, and adds that to the session's.
func (tr *treeReader) isKnown(d *safedir.Dir, message session.Ref, name string, known func(string, [32]byte) bool) bool {
	tr.statOnly = true
	defer func() { tr.statOnly = false }()
	if tr.statRecord(d, message, name) {
		tr.statParts(message)
	}
	if known(message.Message, tr.sum().Sum) {
		return true
	}
	tr.stamp.data = tr.stamp.data[:0]
	return false
}
