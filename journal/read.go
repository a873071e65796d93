package journal

import (
	"errors"
	"fmt"
	"slices"

	"mend/change"
)

// A Query chooses entries. Its zero value chooses all.
type Query struct {
	Limit   int             // 0: no limit
	Session string          // "": of any session
	Store   *change.StoreID // nil: of any store
	State   change.State    // "": in any state
	Before  uint64          // only entries with a lower number; 0: all
	InForce bool            // only changes that were not taken back, and take none back
}

// List is the entries that q chooses, newest first. What it costs depends on the
// entries it looks at: the newest, those of one session and the pending ones are
// found at once, however many there are.
func (j *Journal) List(q Query) ([]change.Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []change.Entry
	d := &deriver{s: j.snap, know: map[uint64]uint64{}}
	err := j.candidates(q, func(seq uint64) error {
		h, err := j.snap.history(seq)
		if err != nil || !q.chooses(h) {
			return err
		}
		if q.InForce {
			if by, err := d.undoneBy(h); err != nil || by != 0 || h.begin.Begin.takesBack() {
				return err
			}
		}
		e, err := j.describe(h, d)
		if err != nil {
			return err
		}
		if all = append(all, e); len(all) == q.Limit {
			return errStop
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing repairs: %w", err)
	}
	return all, nil
}

func (q Query) chooses(h *history) bool {
	b := h.begin.Begin
	return (q.Session == "" || q.Session == string(b.Session)) &&
		(q.State == "" || q.State == h.state()) &&
		(q.Store == nil || q.Store.Kind == b.Store.Kind && q.Store.Root == string(b.Store.Root))
}

// candidates calls fn for the entries that q may choose, newest first.
func (j *Journal) candidates(q Query, fn func(uint64) error) error {
	if err := j.readable(); err != nil || j.snap == nil {
		return err
	}
	top := j.head.begun
	if q.Before != 0 {
		top = min(top, q.Before-1)
	}
	switch {
	case top == 0:
		return nil
	case q.State == change.Pending:
		return j.pendingOnes(top, fn)
	case q.Session != "":
		prefix := sessionPrefix([]byte(q.Session))
		return j.snap.scan(bucketBySession, prefix, sessionKey([]byte(q.Session), top), func(it item) error {
			seq, err := entryOfSessionKey(it.key)
			if err == nil {
				_, err = it.open(bucketBySession)
			}
			if err != nil {
				return err
			}
			return fn(seq)
		})
	}
	for seq := top; seq > 0; seq-- {
		if err := fn(seq); err != nil {
			return notStop(err)
		}
	}
	return nil
}

// notStop is the error, unless it only ends a loop early.
func notStop(err error) error {
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// pendingOnes calls fn for the pending entries up to top, newest first.
func (j *Journal) pendingOnes(top uint64, fn func(uint64) error) error {
	var pending []uint64
	err := j.snap.scan(bucketPending, nil, nil, func(it item) error {
		n, ok := splitU64(it.key, 1)
		if !ok {
			return damaged("pending has a key %x", it.key)
		}
		if n[0] > top {
			return errStop
		}
		pending = append(pending, n[0])
		_, err := it.open(bucketPending)
		return err
	})
	if err != nil {
		return err
	}
	for _, seq := range slices.Backward(pending) {
		if err := fn(seq); err != nil {
			return notStop(err)
		}
	}
	return nil
}

// readable says why nothing can be read, if nothing can.
func (j *Journal) readable() error {
	if j.file == nil && j.dead != nil {
		return j.dead
	}
	return nil
}
