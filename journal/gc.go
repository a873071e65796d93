package journal

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"mend/change"
	"mend/internal/boltfile"
)

// Freed counts what GC or Forget removed.
type Freed struct {
	Entries int   // entries whose images were removed
	Images  int   // images and texts that no other entry needs
	Bytes   int64 // compressed size of these images and texts
	// SharedWith has the ids of other entries that need some of the same images, such as the undo of a repair. Shared
	// images were not removed.
	SharedWith []string
}

// Old returns the ids of the entries that are old enough for GC, newest first: they have images, were begun before
// olderThan, and are neither pending nor conflicted. It includes entries whose images GC always keeps.
func (j *Journal) Old(olderThan time.Time) (ids []string, err error) {
	defer j.lock(&err, "listing old repairs")()
	if err := j.file.CheckReadable(); err != nil {
		return nil, err
	}
	old, err := j.entriesOlderThan(olderThan)
	if err != nil {
		return nil, err
	}
	for _, seq := range slices.Backward(old) {
		ids = append(ids, IDOf(seq))
	}
	return ids, nil
}

// GC removes the images of the entries of Old whose ids are in only, or of all entries of Old if only is nil. It always
// keeps the images of entries that removed one of the user's own files or a whole database, see [change.KeepsFiles]. An
// entry without images is still listed, but cannot be undone. The space is reused. If more than half of the file, and
// more than 64 MiB, is free, the file is compacted.
//
// A wrong clock must not remove images early. So GC dates an entry by the latest time of all entries up to it, not
// counting times in the future. If all of these are in the future, the entry is not old.
func (j *Journal) GC(ctx context.Context, olderThan time.Time, only []string) (freed Freed, err error) {
	defer j.lock(&err, "removing images from the journal")()
	if err := j.prepareErasing(); err != nil {
		return freed, err
	}
	old, err := j.entriesOlderThan(olderThan)
	if err == nil {
		wanted := map[string]bool{}
		for _, id := range only {
			wanted[id] = true
		}
		old, err = j.withoutUserFiles(slices.DeleteFunc(old, func(seq uint64) bool { return only != nil && !wanted[IDOf(seq)] }))
	}
	if err != nil {
		return freed, err
	}
	if len(old) > 0 {
		if err := j.erase(ctx, kindGC, old, &freed); err != nil {
			return freed, err
		}
	}
	free, err := j.snap().Free()
	if err != nil || free <= j.opts.compactAbove || free <= j.snap().Size()/2 {
		return freed, err
	}
	return freed, j.file.Compact(ctx, markCompact)
}

// entriesOlderThan returns the entries that were begun before limit, as dated by GC.
func (j *Journal) entriesOlderThan(limit time.Time) ([]uint64, error) {
	var old []uint64
	var begun time.Time
	now := j.opts.Now()
	for seq := uint64(1); seq <= j.head.begun; seq++ {
		st, err := j.snap().entryState(seq)
		if err != nil {
			return nil, err
		}
		if t := st.begin.time(); t.After(begun) && !t.After(now) {
			begun = t
		}
		if !begun.IsZero() && begun.Before(limit) && st.isDecided() && !st.imagesErased {
			old = append(old, seq)
		}
	}
	return old, nil
}

// withoutUserFiles returns the entries whose images GC may remove, see [change.KeepsFiles].
func (j *Journal) withoutUserFiles(all []uint64) (left []uint64, err error) {
	for _, seq := range all {
		st, err := j.snap().entryState(seq)
		var ops []change.OpInfo
		if err == nil {
			ops, err = j.opInfos(st.begin.Begin)
		}
		if err != nil {
			return nil, err
		}
		if !change.KeepsFiles(st.begin.Begin.Cause, ops) {
			left = append(left, seq)
		}
	}
	return left, nil
}

// Forget removes the images of the entries and the texts of their errors, diagnoses and conflicts, and compacts the
// file, so that it no longer contains these bytes. The entries are still listed, and the chain is unchanged. If one of
// the entries is pending or conflicted, nothing is removed, and the error is a [*StateError].
//
// If Forget is interrupted, the entries still count as forgotten, and the next Open for writing compacts the file.
func (j *Journal) Forget(ctx context.Context, ids []string) (freed Freed, err error) {
	defer j.lock(&err, "forgetting repairs")()
	if len(ids) == 0 {
		return freed, nil
	}
	if err := j.prepareErasing(); err != nil {
		return freed, err
	}
	var all []uint64
	for _, id := range ids {
		seq, _ := seqOf(id)
		st, err := j.stateOf(change.Entry{Seq: seq, ID: id})
		if err != nil {
			return freed, err
		}
		if !st.isDecided() {
			return freed, &StateError{ID: id, State: st.state(), Want: change.Committed}
		}
		if !st.textsErased {
			all = append(all, seq)
		}
	}
	if len(all) > 0 {
		if err := j.erase(ctx, kindForget, all, &freed); err != nil {
			return freed, err
		}
	}
	return freed, j.file.Compact(ctx, markCompact)
}

// prepareErasing finishes earlier work and checks every page, because removing keys moves pages that bbolt does not
// check.
func (j *Journal) prepareErasing() error {
	if err := j.file.CheckWritable(); err != nil {
		return err
	}
	if err := j.cleanUp(); err != nil {
		return err
	}
	return j.snap().CheckStructure(buckets)
}

// erase writes the gc or forget event, after which the images count as erased, even after a crash. Then it removes
// the blobs that no other entry needs.
func (j *Journal) erase(ctx context.Context, kind eventKind, all []uint64, freed *Freed) error {
	ev := &event{Kind: kind, Entries: spans(all)}
	err := j.update(string(kind), func(w *writer) error {
		err := errors.Join(
			w.event(j, ev, nil),
			w.Put(bucketMeta, []byte(markErasing), boltfile.U64(w.head.seq)))
		if kind == kindForget {
			err = errors.Join(err, w.Put(bucketMeta, []byte(markCompact), []byte{1}))
		}
		return err
	})
	if err != nil {
		return err
	}
	freed.Entries = len(ev.erasedEntries())
	return j.finishErasing(ctx, freed)
}

// finishErasing removes the blobs of the entries that the event in markErasing lists. It may be interrupted anywhere
// and called again.
func (j *Journal) finishErasing(ctx context.Context, freed *Freed) error {
	seq, ok, err := j.markNumber(markErasing)
	if err != nil || !ok {
		return err
	}
	ev, err := j.snap().event(seq)
	if err != nil {
		return err
	}
	var refs []blobRef
	for _, entry := range ev.erasedEntries() {
		more, err := j.erasedRefs(entry, ev.Kind)
		if err != nil {
			return err
		}
		refs = append(refs, more...)
	}
	users := map[uint64]bool{}
	if err := j.release(ctx, refs, freed, users); err != nil {
		return err
	}
	for entry := range users {
		if !ev.erases(entry) {
			freed.SharedWith = append(freed.SharedWith, IDOf(entry))
		}
	}
	slices.Sort(freed.SharedWith)
	return j.unmark(markErasing)
}

// erasedRefs returns the references that a gc or forget event removes from an entry. Lists of ops stay.
func (j *Journal) erasedRefs(entry uint64, kind eventKind) ([]blobRef, error) {
	st, err := j.snap().entryState(entry)
	if err != nil {
		return nil, err
	}
	blobs, err := j.neededBlobs(st, true, kind == kindForget)
	if err != nil {
		return nil, err
	}
	var refs []blobRef
	for id := range blobs {
		if id.kind != blobOps {
			refs = append(refs, blobRef{id, entry})
		}
	}
	slices.SortFunc(refs, func(a, b blobRef) int { return bytes.Compare(a.key(), b.key()) })
	return refs, nil
}

// release removes references, and the blobs without any reference left, in transactions of bounded size. Blobs and
// references are consistent after each transaction. It adds the entries that still need one of the blobs to users.
func (j *Journal) release(ctx context.Context, refs []blobRef, freed *Freed, users map[uint64]bool) error {
	for len(refs) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		done, now := 0, Freed{}
		err := j.update("release", func(w *writer) error {
			for done < len(refs) && (done == 0 || w.Written < j.opts.batchSize) {
				if err := w.release(refs[done], &now, users); err != nil {
					return err
				}
				done++
			}
			return nil
		})
		if err != nil {
			return err
		}
		refs = refs[done:]
		freed.Images += now.Images
		freed.Bytes += now.Bytes
	}
	return nil
}

// release removes one reference, and the blob if that was its last reference.
func (w *writer) release(ref blobRef, freed *Freed, users map[uint64]bool) error {
	if err := w.Del(bucketRefs, ref.key(ref.entry)); err != nil {
		return err
	}
	others, err := w.Keys(bucketRefs, ref.key(), 10)
	if err != nil {
		return err
	}
	for _, key := range others {
		_, other, err := splitRef(key)
		if err != nil {
			return err
		}
		users[other] = true
	}
	if len(others) > 0 {
		return nil
	}
	before := w.Written
	keys, err := w.Keys(ref.kind.bucket(), ref.hash[:], math.MaxInt)
	if err != nil {
		return err
	}
	freed.Bytes += int64(w.Written - before)
	for _, key := range keys {
		if err := w.Del(ref.kind.bucket(), key); err != nil {
			return err
		}
	}
	freed.Images++
	return nil
}

// markNumber returns the number in a mark, and whether the mark is set.
func (j *Journal) markNumber(name string) (uint64, bool, error) {
	v, ok, err := j.file.Mark(name)
	if err != nil || !ok {
		return 0, false, err
	}
	n, ok := boltfile.SplitU64(v, 1)
	if !ok {
		return 0, false, damageError("mark %s is %x", name, v)
	}
	return n[0], true, nil
}

func (j *Journal) unmark(name string) error {
	return j.update("unmark "+name, func(w *writer) error { return w.Del(bucketMeta, []byte(name)) })
}

// cleanUp finishes interrupted work: it removes the blobs of an entry without a begin event and the
// blobs that a gc or forget has released, and compacts the file after a forget.
func (j *Journal) cleanUp() error {
	ctx := context.Background()
	if err := j.cleanUpStaging(); err != nil {
		return err
	}
	if _, ok, err := j.file.Mark(markErasing); err != nil {
		return err
	} else if ok {
		if err := j.snap().CheckStructure(buckets); err != nil {
			return err
		}
		if err := j.finishErasing(ctx, new(Freed)); err != nil {
			return err
		}
	}
	if _, ok, err := j.file.Mark(markCompact); err != nil || !ok {
		return err
	}
	return j.file.Compact(ctx, markCompact)
}

// cleanUpStaging removes the blobs of an entry without a begin event.
func (j *Journal) cleanUpStaging() error {
	entry, ok, err := j.markNumber(markStaging)
	if err != nil || !ok {
		return err
	}
	if err := j.snap().CheckStructure(buckets); err != nil {
		return err
	}
	var refs []blobRef
	err = j.snap().Scan(bucketRefs, nil, nil, func(it boltfile.Item) error {
		r, e, err := splitRef(it.Key)
		if err == nil && e == entry {
			refs = append(refs, blobRef{r, e})
		}
		return err
	})
	if err == nil {
		err = j.release(context.Background(), refs, new(Freed), map[uint64]bool{})
	}
	if err != nil {
		return err
	}
	return j.unmark(markStaging)
}
