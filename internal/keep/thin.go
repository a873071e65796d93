package keep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mend/change"
	"mend/internal/boltfile"
)

// A Policy selects the states that stay. The zero Policy keeps only the newest.
type Policy struct {
	Hourly, Daily, Weekly int   // one state stays for each of the last N hours, days and weeks that have one
	MaxBytes              int64 // greatest size of the file; 0: any size

	// Before, unless zero, removes all earlier states, except those that always stay.
	Before time.Time

	Of Query // the states that fields other than MaxBytes may remove
}

// Freed counts what was removed.
type Freed struct {
	States int
	Bytes  int64 // compressed size of the blobs
	Left   int64 // size of the remaining blobs
}

// Thin removes the states of sessions that a policy does not select, as backups are thinned. Of each session it keeps
// the newest state of each of the last hours, days and weeks that have one, and in any case the newest state, the
// newest complete one, the complete one with the most messages, and each state that has more messages, records or
// bytes than the next one. If the rest is larger than MaxBytes, it then removes the oldest states, except for the
// newest, the newest complete one and the one with the most messages of each session.
//
// It also removes leftovers of a crash, and compacts the file if more than a fifth of it, and more than 4 MiB, is free.
func (k *Keep) Thin(ctx context.Context, p Policy) (Freed, error) {
	removed, kept, err := k.split(p)
	if err != nil {
		return Freed{}, err
	}
	freed, err := k.remove(ctx, removed, kept, p.MaxBytes)
	if err == nil {
		err = k.file.Update("thinned", func(w *boltfile.Tx) error {
			return w.Put(boltfile.Meta, []byte(keyThinned), boltfile.U64(uint64(k.opts.Now().Unix())))
		})
	}
	if err != nil {
		return freed, fmt.Errorf("removing old copies: %w", err)
	}
	return freed, nil
}

// Old returns the states that Thin would remove, without those that MaxBytes removes.
func (k *Keep) Old(p Policy) ([]State, error) {
	removed, _, err := k.split(p)
	return removed, err
}

// split returns the states to remove and those to keep, without regard to MaxBytes.
func (k *Keep) split(p Policy) (removed, kept []State, err error) {
	states, err := k.States(Query{})
	for _, group := range groupBySession(states) {
		selected := p.selectStates(group)
		for i, s := range group {
			if selected[i] || !p.Of.matches(&s) {
				kept = append(kept, s)
			} else {
				removed = append(removed, s)
			}
		}
	}
	return removed, kept, err
}

// ThinDue reports whether the last Thin is at least that long ago.
func (k *Keep) ThinDue(after time.Duration) bool {
	if k.file.Snap == nil {
		return false
	}
	v, _, err := k.file.Snap.Get(boltfile.Meta, []byte(keyThinned))
	n, ok := boltfile.SplitU64(v, 1)
	return err != nil || !ok || k.opts.Now().Sub(time.Unix(int64(n[0]), 0)).Abs() >= after
}

// Size returns the size of the file in bytes, without its free pages.
func (k *Keep) Size() int64 {
	if k.file.Snap == nil {
		return 0
	}
	free, _ := k.file.Snap.Free()
	return k.file.Snap.Size() - free
}

// finishErasing removes what an interrupted Forget has left in the file: chunks that no state needs, and free pages.
func (k *Keep) finishErasing() error {
	if _, erasing, err := k.file.Mark(keyErasing); err != nil || !erasing {
		return err
	}
	kept, err := k.States(Query{})
	if err == nil {
		_, err = k.remove(k.opts.Context, nil, kept, 0)
	}
	if err == nil {
		err = k.file.Compact(k.opts.Context, keyErasing)
	}
	return err
}

// Forget removes states, and rewrites the file so that it no longer has their bytes. If it is interrupted, the next
// Open for writing finishes it.
func (k *Keep) Forget(ctx context.Context, states []State) (Freed, error) {
	all, err := k.States(Query{})
	if err != nil {
		return Freed{}, err
	}
	removed := map[uint64]bool{}
	for _, s := range states {
		removed[s.seq] = true
	}
	kept := slices.DeleteFunc(slices.Clone(all), func(s State) bool { return removed[s.seq] })
	err = k.file.Update("erase", func(w *boltfile.Tx) error { return w.Put(boltfile.Meta, []byte(keyErasing), []byte{1}) })
	var freed Freed
	if err == nil {
		freed, err = k.remove(ctx, states, kept, 0)
	}
	if err == nil {
		err = k.file.Compact(ctx, keyErasing)
	}
	if err != nil {
		return freed, fmt.Errorf("forgetting kept copies: %w", err)
	}
	return freed, nil
}

// groupBySession groups states by session. The states are newest first.
func groupBySession(states []State) (groups [][]State) {
	type key struct {
		kind, root string
		session    string
		ref        change.Ref
	}
	at := map[key]int{}
	for _, s := range states {
		id := key{s.Store.Kind, s.Store.Root, s.Session, s.Ref}
		i, ok := at[id]
		if !ok {
			i, at[id] = len(groups), len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], s)
	}
	return groups
}

// permanentStates reports which states of a session always stay.
func permanentStates(states []State) []bool {
	permanent := make([]bool, len(states))
	permanent[0] = true
	newest, most := -1, -1
	for i := range states {
		if !states[i].Complete() {
			continue
		}
		if newest < 0 {
			newest = i
		}
		if most < 0 || states[i].Messages > states[most].Messages {
			most = i
		}
	}
	if newest >= 0 {
		permanent[newest], permanent[most] = true, true
	}
	return permanent
}

// selectStates reports which states of a session stay. The states are newest first.
func (p Policy) selectStates(states []State) []bool {
	permanent := permanentStates(states)
	kept := slices.Clone(permanent)
	for i := 1; i < len(states); i++ {
		kept[i] = kept[i] || states[i-1].Lacks(&states[i])
	}
	for _, rule := range []struct {
		n    int
		slot func(time.Time) string
	}{
		{p.Hourly, func(t time.Time) string { return t.UTC().Format("2006-01-02 15") }},
		{p.Daily, func(t time.Time) string { return t.Format("2006-01-02") }},
		{p.Weekly, func(t time.Time) string { year, week := t.ISOWeek(); return fmt.Sprint(year, " ", week) }},
	} {
		last, n := "", 0
		for i := range states {
			if slot := rule.slot(states[i].Time); slot != last {
				if n++; n > rule.n {
					break
				}
				last, kept[i] = slot, true
			}
		}
	}
	for i := range states {
		kept[i] = kept[i] && (permanent[i] || p.Before.IsZero() || !states[i].Time.Before(p.Before))
	}
	return kept
}

// remove removes the states in removed, then the oldest removable ones in kept until the rest has at most maxBytes (0:
// no limit), and then all blobs that no state needs.
func (k *Keep) remove(ctx context.Context, removed, kept []State, maxBytes int64) (freed Freed, err error) {
	if err := errors.Join(k.Flush(), k.file.CheckWritable()); err != nil {
		return freed, err
	}
	if err := k.file.Snap.CheckStructure(buckets); err != nil { // removing keys moves pages that bbolt does not check
		return freed, err
	}
	counts := refCounter{k: k, uses: map[hash]int{}, size: map[hash]int64{}}
	for i := range kept {
		if err := errors.Join(counts.add(&kept[i]), ctx.Err()); err != nil {
			return freed, err
		}
	}
	if err := counts.measure(); err != nil {
		return freed, err
	}
	if maxBytes > 0 && counts.total > maxBytes {
		for _, s := range slices.Backward(removable(kept)) { // oldest first
			if counts.total <= maxBytes {
				break
			}
			if err := counts.drop(&s); err != nil {
				return freed, err
			}
			removed = append(removed, s)
		}
	}
	var keys []boltfile.Value
	for _, s := range removed {
		keys = append(keys, boltfile.Value{Bucket: bucketStates, Key: boltfile.U64(s.seq)},
			boltfile.Value{Bucket: bucketSessions, Key: boltfile.SessionKey(s.Session, s.seq)})
	}
	if err := k.delete(ctx, keys); err != nil {
		return freed, err
	}
	freed.States, freed.Left = len(removed), counts.total
	keys = nil
	err = k.file.Snap.Scan(bucketBlobs, nil, nil, func(it boltfile.Item) error {
		if h, err := hashOf(it.Key); err != nil || counts.uses[h] > 0 {
			return err
		}
		keys = append(keys, boltfile.Value{Bucket: bucketBlobs, Key: bytes.Clone(it.Key)})
		freed.Bytes += it.Size()
		return nil
	})
	if err == nil {
		err = k.delete(ctx, keys)
	}
	if err != nil {
		return freed, err
	}
	free, err := k.file.Snap.Free()
	if err != nil || free <= compactAbove || free <= k.file.Snap.Size()/5 {
		return freed, err
	}
	return freed, k.file.Compact(ctx)
}

// delete deletes keys; they have no values. A state has two adjacent keys, which are deleted in one transaction: maxDeleted is even.
func (k *Keep) delete(ctx context.Context, keys []boltfile.Value) error {
	for batch := range slices.Chunk(keys, maxDeleted) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := k.file.Update("forget", func(w *boltfile.Tx) (err error) {
			for _, x := range batch {
				err = errors.Join(err, w.Del(x.Bucket, x.Key))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const (
	maxDeleted   = 10_000  // keys deleted in one transaction
	compactAbove = 4 << 20 // free bytes that stay in the file
)

// removable returns the states that may be removed for lack of space, newest first.
func removable(states []State) (all []State) {
	slices.SortFunc(states, func(a, b State) int { return int(b.seq) - int(a.seq) })
	for _, group := range groupBySession(states) {
		permanent := permanentStates(group)
		for i, s := range group {
			if !permanent[i] {
				all = append(all, s)
			}
		}
	}
	slices.SortFunc(all, func(a, b State) int { return int(b.seq) - int(a.seq) })
	return all
}

// A refCounter counts how many states and nodes need a blob.
type refCounter struct {
	k     *Keep
	uses  map[hash]int
	size  map[hash]int64 // of all blobs of the file
	total int64          // size of the needed blobs
}

// add counts the blobs of a state. It counts the children of a node once.
func (r *refCounter) add(s *State) error {
	return r.k.tree(s.root, s.depth, func(h hash, _ int) (bool, error) {
		r.uses[h]++
		return r.uses[h] == 1, nil
	})
}

// drop is the inverse of add.
func (r *refCounter) drop(s *State) error {
	return r.k.tree(s.root, s.depth, func(h hash, _ int) (bool, error) {
		if r.uses[h]--; r.uses[h] > 0 {
			return false, nil
		}
		delete(r.uses, h)
		r.total -= r.size[h]
		return true, nil
	})
}

// measure adds up the sizes of the needed blobs. It reads all of them, so that damage is found.
func (r *refCounter) measure() error {
	return r.k.file.Snap.Scan(bucketBlobs, nil, nil, func(it boltfile.Item) error {
		h, err := hashOf(it.Key)
		if err == nil {
			_, err = it.Open(bucketBlobs)
		}
		r.size[h] += it.Size() + boltfile.PutCost
		if r.uses[h] > 0 {
			r.total += it.Size() + boltfile.PutCost
		}
		return err
	})
}

// hashOf returns the hash of the blob from a key of blobs.
func hashOf(key []byte) (h hash, err error) {
	if len(key) != len(h) && len(key) != len(h)+4 {
		return h, damageError("blobs has a key %x", key)
	}
	copy(h[:], key)
	return h, nil
}
