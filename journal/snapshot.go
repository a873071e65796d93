package journal

import (
	"mend/internal/boltfile"
)

// A snapshot is the state of the journal after one transaction.
type snapshot struct{ *boltfile.Snapshot }

// event reads an event.
func (s snapshot) event(seq uint64) (*event, error) {
	v, ok, err := s.Get(bucketEvents, boltfile.U64(seq))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, damageError("event %d is missing", seq)
	}
	ev, _, _, err := decodeEvent(seq, v)
	return ev, err
}

// A head is the number and hash of the newest event, and the totals after it.
type head struct {
	seq            uint64 // 0 if there is no event
	hash           hash
	begun, pending uint64 // entries
}

// head reads the newest event.
func (s snapshot) head() (head, error) {
	it, ok, err := s.Last(bucketEvents)
	if err != nil || !ok {
		return head{}, err
	}
	seq, ok := boltfile.SplitU64(it.Key, 1)
	if !ok {
		return head{}, damageError("events has a key %x", it.Key)
	}
	v, err := it.Open(bucketEvents)
	if err != nil {
		return head{}, err
	}
	ev, _, sum, err := decodeEvent(seq[0], v)
	if err != nil {
		return head{}, err
	}
	return head{seq: seq[0], hash: sum, begun: ev.Begun, pending: ev.Pending}, nil
}

// lastEntry returns the number of the newest entry, or 0.
func (s snapshot) lastEntry() (uint64, error) {
	it, ok, err := s.Last(bucketEntries)
	if err != nil || !ok {
		return 0, err
	}
	n, ok := boltfile.SplitU64(it.Key, 2)
	if !ok {
		return 0, damageError("entries has a key %x", it.Key)
	}
	return n[0], nil
}
