package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mend/change"
	"mend/session"
)

// Freed is what GC or Forget removed.
type Freed struct {
	Entries int   // that lost their images now
	Images  int   // images, lists and texts that no other entry needs
	Bytes   int64 // what these took, compressed
	Shrunk  int64 // by how much the file became smaller; 0 if it was not compacted
	// SharedWith is the ids of other entries that need some of the same images, such
	// as the undo of a repair: those images are still there.
	SharedWith []string
}

// GC removes the images of the entries begun before olderThan, except pending
// and conflicted ones, and those that hold files of the user's own. They can be told of afterwards, not undone. The space is
// used again; where more than half of the file is free, and more than 64 MiB,
// the file is made smaller.
//
// An entry counts as begun when the newest entry up to it was begun, times in
// the future left out, and where none is left as the first one after it: a clock
// that once stood wrong removes nothing early.
func (j *Journal) GC(ctx context.Context, olderThan time.Time) (Freed, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	freed, err := j.gc(ctx, olderThan)
	if err != nil {
		return freed, fmt.Errorf("removing images from the journal: %w", err)
	}
	return freed, nil
}

func (j *Journal) gc(ctx context.Context, olderThan time.Time) (Freed, error) {
	var freed Freed
	if err := j.prepareErasing(); err != nil {
		return freed, err
	}
	old, err := j.entriesOlderThan(olderThan)
	if err == nil {
		old, err = j.withoutUserFiles(old)
	}
	if err != nil {
		return freed, err
	}
	if len(old) > 0 {
		if err := j.erase(ctx, kindGC, old, &freed); err != nil {
			return freed, err
		}
	}
	free, err := j.snap.FreeBytes()
	if err != nil || free <= j.opts.compactAbove || free <= j.snap.Size()/2 {
		return freed, err
	}
	return freed, j.compact(ctx, &freed)
}

// olderThan is the entries that GC takes.
func (j *Journal) entriesOlderThan(limit time.Time) ([]*entryState, error) {
	var old, waiting []*entryState
	var begun time.Time
	now := j.opts.Now()
	for seq := uint64(1); seq <= j.head.begun; seq++ {
		st, err := j.snap.entryState(seq)
		if err != nil {
			return nil, err
		}
		if t := st.begin.time(); t.After(begun) && !t.After(now) {
			begun = t
		}
		if st.isDecided() && !st.imagesErased {
			waiting = append(waiting, st)
		}
		if begun.IsZero() {
			continue
		}
		if begun.Before(limit) {
			old = append(old, waiting...)
		}
		waiting = nil
	}
	return old, nil
}

// withoutUserFiles returns the entries that hold no file of the user's own.
func (j *Journal) withoutUserFiles(all []*entryState) ([]*entryState, error) {
	var left []*entryState
	for _, st := range all {
		ops, err := j.opInfos(st.begin.Begin)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(ops, func(o change.OpInfo) bool { return o.Ref.Kind == session.KindFile }) {
			left = append(left, st)
		}
	}
	return left, nil
}

// Forget removes the images of the entries, the texts of errors, diagnoses and
// conflicts, and makes these bytes leave the file, which is written anew. That
// the repairs were made stays on record, and the chain stays as it was. Nothing
// happens if one of the entries is pending or conflicted: the error is then a
// [*StateError].
//
// When it is cut, the entries are forgotten all the same, and the next Open for
// writing makes the bytes leave.
func (j *Journal) Forget(ctx context.Context, entries []change.Entry) (Freed, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	freed, err := j.forget(ctx, entries)
	if err != nil {
		return freed, fmt.Errorf("forgetting repairs: %w", err)
	}
	return freed, nil
}

func (j *Journal) forget(ctx context.Context, entries []change.Entry) (Freed, error) {
	var freed Freed
	if len(entries) == 0 {
		return freed, nil
	}
	if err := j.prepareErasing(); err != nil {
		return freed, err
	}
	var all []*entryState
	for _, e := range entries {
		st, err := j.stateOf(e)
		if err != nil {
			return freed, err
		}
		if !st.isDecided() {
			return freed, &StateError{ID: e.ID, State: st.state(), Want: change.Committed}
		}
		if !st.textsErased {
			all = append(all, st)
		}
	}
	if len(all) > 0 {
		if err := j.erase(ctx, kindForget, all, &freed); err != nil {
			return freed, err
		}
	}
	return freed, j.compact(ctx, &freed)
}

// prepareErasing ends earlier work and checks every page: what follows moves
// pages entries that bbolt takes on trust.
func (j *Journal) prepareErasing() error {
	if err := j.checkWritable(); err != nil {
		return err
	}
	if err := j.cleanUp(); err != nil {
		return err
	}
	return j.snap.CheckStructure(buckets)
}

// erase writes the event that the entries lost their images, and from then on
// they count as gone, whatever happens; then it removes what only they needed.
func (j *Journal) erase(ctx context.Context, kind eventKind, all []*entryState, freed *Freed) error {
	ev := &event{Kind: kind, Entries: spans(all)}
	var entries []uint64
	for _, s := range ev.Entries {
		for seq := s[0]; seq <= s[1]; seq++ {
			entries = append(entries, seq)
		}
	}
	err := j.update(string(kind), func(w *writer) error {
		err := errors.Join(
			w.event(j, ev, entries...),
			w.put(bucketMeta, []byte(markErasing), u64(w.head.seq)))
		if kind == kindForget {
			err = errors.Join(err, w.put(bucketMeta, []byte(markCompact), []byte{1}))
		}
		return err
	})
	if err != nil {
		return err
	}
	freed.Entries = len(entries)
	return j.finishErasing(ctx, freed)
}

// finishErasing removes the blobs of the entries that the marked event names.
// It may be cut anywhere and starts over.
func (j *Journal) finishErasing(ctx context.Context, freed *Freed) error {
	seq, ok, err := j.markNumber(markErasing)
	if err != nil || !ok {
		return err
	}
	ev, err := j.snap.event(seq)
	if err != nil {
		return err
	}
	rel := releaser{ctx: ctx, j: j, freed: freed, users: map[uint64]bool{}}
	var refs []blobRef
	for _, s := range ev.Entries {
		for entry := s[0]; entry <= s[1]; entry++ {
			more, err := j.erasedRefs(entry, ev.Kind)
			if err != nil {
				return err
			}
			if refs = append(refs, more...); len(refs) < maxReleases {
				continue
			}
			if err := rel.release(refs); err != nil {
				return err
			}
			refs = nil
		}
	}
	if err := rel.release(refs); err != nil {
		return err
	}
	for entry := range rel.users {
		if !ev.erases(entry) {
			freed.SharedWith = append(freed.SharedWith, IDOf(entry))
		}
	}
	slices.Sort(freed.SharedWith)
	return j.unmark(markErasing)
}

// erasedRefs is the refs that an entry loses by an event of that kind: its
// lists of ops stay.
func (j *Journal) erasedRefs(entry uint64, kind eventKind) ([]blobRef, error) {
	st, err := j.snap.entryState(entry)
	if err != nil {
		return nil, err
	}
	blobs, err := j.neededBlobs(st, true, kind == kindForget)
	if err != nil {
		return nil, err
	}
	var refs []blobRef
	for r := range blobs {
		if r.kind != blobOps {
			refs = append(refs, blobRef{r, entry})
		}
	}
	slices.SortFunc(refs, func(a, b blobRef) int { return bytes.Compare(a.key(), b.key()) })
	return refs, nil
}

// A releaser takes refs away, and removes the blobs that nobody refs then.
type releaser struct {
	ctx   context.Context
	j     *Journal
	freed *Freed
	users map[uint64]bool // entries that still blobRef one of the blobs
}

// release takes the refs away in transactions of bounded size; blobs and
// refs agree after each.
func (r *releaser) release(refs []blobRef) error {
	for len(refs) > 0 {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		now, left := Freed{}, refs
		err := r.j.update("release", func(w *writer) error {
			for n := 0; len(left) > 0 && n < maxReleases && w.written < r.j.opts.batchSize; n++ {
				if err := r.releaseRef(w, left[0], &now); err != nil {
					return err
				}
				left = left[1:]
			}
			return nil
		})
		if err != nil {
			return err
		}
		refs = left
		r.freed.Images += now.Images
		r.freed.Bytes += now.Bytes
	}
	return nil
}

// maxReleases is how many claims a transaction takes away.
const maxReleases = 10_000

func (r *releaser) releaseRef(w *writer, c blobRef, freed *Freed) error {
	if err := w.del(bucketRefs, c.key(c.entry)); err != nil {
		return err
	}
	others, err := w.keys(bucketRefs, c.key(), 10)
	if err != nil {
		return err
	}
	for _, key := range others {
		_, other, err := splitRef(key)
		if err != nil {
			return err
		}
		if r.users != nil {
			r.users[other] = true
		}
	}
	if len(others) > 0 {
		return nil
	}
	before := w.written
	keys, err := w.keys(c.kind.bucket(), c.hash[:], maxReleases)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := w.del(c.kind.bucket(), key); err != nil {
			return err
		}
	}
	if len(keys) > 0 {
		freed.Images++
		freed.Bytes += int64(w.written - before)
	}
	return nil
}
