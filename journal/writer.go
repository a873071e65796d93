package journal

import (
	"bytes"
	"errors"

	bolt "go.etcd.io/bbolt"
)

// A writer is one transaction. bbolt follows no pointer for it that was not
// checked before.
type writer struct {
	tx   *bolt.Tx
	snap *snapshot // the state before; nil for a file that is being made
	head head

	wrote int // an estimate of what the commit writes, in bytes
}

// run runs fn after checking that the transaction starts where the snapshot is.
// Every transaction also takes the mark away that only the open needs.
func (w *writer) run(fn func(*writer) error) error {
	if id := uint64(w.tx.ID()); id != w.snap.txid+1 {
		return damaged("transaction %d follows %d: somebody else writes this file", id, w.snap.txid)
	}
	if _, ok, err := w.snap.get(bucketMeta, []byte(markNew)); err != nil {
		return err
	} else if ok {
		if err := w.del(bucketMeta, []byte(markNew)); err != nil {
			return err
		}
	}
	return fn(w)
}

// bucket opens the bucket, on the path that was checked, for a change at key.
func (w *writer) bucket(name string, key []byte) (*bolt.Bucket, error) {
	if w.snap != nil {
		t, err := w.snap.tree(name)
		if err == nil {
			_, _, _, err = t.find(key)
		}
		if err != nil {
			return nil, err
		}
	}
	b := w.tx.Bucket([]byte(name))
	if b == nil {
		return nil, damaged("it has no bucket %s", name)
	}
	return b, nil
}

// put writes a value with its checksum.
func (w *writer) put(name string, key, val []byte) error {
	return w.putSealed(name, key, seal(name, key, val))
}

func (w *writer) putSealed(name string, key, sealed []byte) error {
	b, err := w.bucket(name, key)
	if err != nil {
		return err
	}
	if name == bucketEvents || name == bucketEntries || w.snap == nil {
		b.FillPercent = 0.95 // only ever grows at its end
	}
	w.wrote += len(key) + len(sealed)
	return b.Put(key, sealed)
}

func (w *writer) del(name string, key []byte) error {
	b, err := w.bucket(name, key)
	if err != nil {
		return err
	}
	return b.Delete(key)
}

// keys is up to n keys that begin with prefix, in the state so far. Only for
// buckets whose structure was checked as a whole.
func (w *writer) keys(name string, prefix []byte, n int) ([][]byte, error) {
	b, err := w.bucket(name, prefix)
	if err != nil {
		return nil, err
	}
	var keys [][]byte
	c := b.Cursor()
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix) && len(keys) < n; k, v = c.Next() {
		keys = append(keys, bytes.Clone(k))
		w.wrote += len(v)
	}
	return keys, nil
}

// event appends an event to the chain, at the time and with the totals that
// follow, and puts it into the lists of the entries that it is about.
func (w *writer) event(j *Journal, ev *event, about ...uint64) error {
	now := j.opts.Now()
	ev.Sec, ev.Nsec = now.Unix(), int64(now.Nanosecond())
	ev.Begun, ev.Pending = w.head.begun, w.head.pending
	var err error
	switch ev.Kind {
	case kindBegin:
		ev.Begun, ev.Pending = ev.Begun+1, ev.Pending+1
		err = errors.Join(
			w.put(bucketPending, u64(ev.Entry), nil),
			w.put(bucketBySession, sessionKey(ev.Begin.Session, ev.Entry), nil))
	case kindFinish:
		ev.Pending--
		err = w.del(bucketPending, u64(ev.Entry))
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
	if err := w.put(bucketEvents, u64(seq), b); err != nil {
		return err
	}
	w.head = head{seq: seq, hash: sum, begun: ev.Begun, pending: ev.Pending}
	for _, entry := range about {
		if err := w.put(bucketEntries, u64(entry, seq), nil); err != nil {
			return err
		}
	}
	return nil
}
