package keep

import (
	"fmt"

	"mend/internal/boltfile"
)

// A Report has the results of Verify.
type Report struct {
	Sessions int
	States   int
	Bytes    int64 // of the blobs in the file
}

// Verify checks the whole file: every page, every checksum, and the hash of every blob. The error wraps
// [ErrDamaged] and names the first problem.
func (k *Keep) Verify() (r Report, err error) {
	if k.file.Snap == nil {
		return r, nil
	}
	k.file.Snap.DropCache()
	if err = k.verifyStates(); err == nil {
		err = k.verifyBlobs(&r)
	}
	if err != nil {
		return r, fmt.Errorf("verifying %s: %w", k.file.Path(), err)
	}
	return r, nil
}

// verifyStates checks everything but the blobs.
func (k *Keep) verifyStates() error {
	if err := k.file.Snap.CheckStructure(buckets); err != nil {
		return err
	}
	for _, bucket := range []string{boltfile.Meta, bucketStores} {
		err := k.file.Snap.Scan(bucket, nil, nil, func(it boltfile.Item) error {
			_, err := it.Open(bucket)
			return err
		})
		if err != nil {
			return err
		}
	}
	sessions := map[uint64]string{} // the key of each state
	err := k.file.Snap.Scan(bucketStates, nil, nil, func(it boltfile.Item) error {
		s, err := decodeItem(it)
		if err == nil && s.seq >= k.next {
			err = damageError("state %d is after the last one", s.seq)
		}
		sessions[s.seq] = string(boltfile.SessionKey(s.Session, s.seq))
		return err
	})
	if err != nil {
		return err
	}
	err = k.file.Snap.Scan(bucketSessions, nil, nil, func(it boltfile.Item) error {
		seq, _ := boltfile.SplitSessionKey(it.Key)
		if key, ok := sessions[seq]; !ok || key != string(it.Key) {
			return damageError("sessions names state %d, which does not exist", seq)
		}
		delete(sessions, seq)
		_, err := it.Open(bucketSessions)
		return err
	})
	if err == nil && len(sessions) > 0 {
		err = damageError("%d states belong to no session", len(sessions))
	}
	return err
}

// verifyBlobs reads each needed blob once.
func (k *Keep) verifyBlobs(r *Report) error {
	states, err := k.States(Query{})
	if err != nil {
		return err
	}
	seen := map[hash]bool{}
	sessions := map[[2]string]bool{} // a session keeps its id when it is moved
	for _, s := range states {
		sessions[[2]string{s.Store.Root, s.Session}] = true
		err := k.tree(s.root, s.depth, func(h hash, depth int) (below bool, err error) {
			if seen[h] {
				return false, nil
			}
			if seen[h] = true; depth == 0 {
				_, err = k.read(h)
			}
			return true, err
		})
		if err != nil {
			return fmt.Errorf("state %s: %w", s.ID, err)
		}
	}
	r.States, r.Sessions = len(states), len(sessions)
	return k.file.Snap.Scan(bucketBlobs, nil, nil, func(it boltfile.Item) error {
		r.Bytes += it.Size()
		_, err := it.Open(bucketBlobs)
		return err
	})
}
