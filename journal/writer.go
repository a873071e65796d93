package journal

import (
	"errors"

	"mend/internal/boltfile"
)

// A writer is one transaction that can append events.
type writer struct {
	*boltfile.Tx
	head head
}

// update runs fn in one transaction, see [boltfile.File.Update].
func (j *Journal) update(what string, fn func(*writer) error) error {
	return j.file.Update(what, func(tx *boltfile.Tx) error { return fn(&writer{tx, j.head}) })
}

// event sets the time and the totals of an event, appends it to the chain, and indexes it under the
// given entries.
func (w *writer) event(j *Journal, ev *event, entries ...uint64) error {
	now := j.opts.Now()
	ev.Sec, ev.Nsec = now.Unix(), int64(now.Nanosecond())
	ev.Begun, ev.Pending = w.head.begun, w.head.pending
	ev.Actor = j.opts.Actor
	var err error
	switch ev.Kind {
	case kindBegin:
		ev.Begun, ev.Pending = ev.Begun+1, ev.Pending+1
		err = errors.Join(
			w.Put(bucketPending, boltfile.U64(ev.Entry), nil),
			w.Put(bucketBySession, sessionKey(ev.Begin.Session, ev.Entry), nil))
	case kindFinish:
		ev.Pending--
		err = w.Del(bucketPending, boltfile.U64(ev.Entry))
	default:
	}
	if err != nil {
		return err
	}
	seq, before := w.head.seq+1, w.head.hash
	if w.head.seq == 0 {
		before = genesis(j.id)
	}
	b, sum, err := encodeEvent(seq, before, ev)
	if err != nil {
		return err
	}
	if err := w.Put(bucketEvents, boltfile.U64(seq), b); err != nil {
		return err
	}
	w.head = head{seq: seq, hash: sum, begun: ev.Begun, pending: ev.Pending}
	for _, entry := range entries {
		if err := w.Put(bucketEntries, boltfile.U64(entry, seq), nil); err != nil {
			return err
		}
	}
	return nil
}
